#include "verify/values.hpp"

#include <algorithm>

#include "cortado/ir/visit.hpp"

#include "verify/regions.hpp"

namespace cortado::verifier {
namespace {

/// Calls visit(offset of the row, bytes) for every row; rows that touch each other are one.
template <class Visitor>
void for_each_row(const Region& region, Visitor&& visit) {
  const Region plain = joined(region);
  for (std::uint64_t row = 0; row < plain.rows; ++row) visit(plain.row_offset(row).value, plain.width.value);
}

/// Calls visit(start of the row in each region, bytes) for regions of one shape.
template <class Visitor>
void for_each_row(const std::vector<Region>& regions, Visitor&& visit) {
  std::vector<Region> plain = regions;
  for (Region& region : plain) region = joined(region);
  const bool at_once = std::ranges::all_of(plain, [](const Region& region) { return region.rows == 1; });
  const auto& used = at_once ? plain : regions;
  std::vector<std::uint64_t> starts(used.size());
  for (std::uint64_t row = 0; row < used.front().rows; ++row) {
    for (std::size_t i = 0; i < used.size(); ++i) starts[i] = used[i].row_offset(row).value;
    visit(starts, used.front().width.value);
  }
}

}  // namespace

Value Value::advanced_by(std::uint64_t bytes) const {
  Value moved = *this;
  for (Term& term : moved.terms) term.offset += bytes;
  if (is_sum()) moved.phase = (phase + bytes) % size_of(dtype).value;
  return moved;
}

bool Value::continues(const Value& next, std::uint64_t bytes) const {
  if (terms.size() != next.terms.size()) return false;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Term moved{terms[i].source, terms[i].iteration, terms[i].offset + bytes};
    if (moved != next.terms[i]) return false;
  }
  return !is_sum() || (dtype == next.dtype && (phase + bytes) % size_of(dtype).value == next.phase);
}

SymbolicMemory::SymbolicMemory(const Program& program)
    : memory_(program.buffers.size()), next_result_(static_cast<std::uint32_t>(program.buffers.size())) {}

void SymbolicMemory::fill(const Region& region, std::uint32_t iteration) {
  for_each_row(region, [&](std::uint64_t begin, std::uint64_t bytes) {
    memory_[region.buffer.value].assign(begin, begin + bytes, Value{{{region.buffer.value, iteration, begin}}});
  });
}

void SymbolicMemory::write_result(const Region& region, std::uint32_t iteration) {
  const std::uint32_t result = next_result_++;
  for_each_row(region, [&](std::uint64_t begin, std::uint64_t bytes) {
    memory_[region.buffer.value].assign(begin, begin + bytes, Value{{{result, iteration, begin}}});
  });
}

bool SymbolicMemory::defined(const Region& region) const {
  bool all = true;
  for_each_row(region, [&](std::uint64_t begin, std::uint64_t bytes) {
    memory_[region.buffer.value].visit(
        begin, begin + bytes, [&](std::uint64_t, std::uint64_t, const Value* value) { all = all && value != nullptr; });
  });
  return all;
}

std::vector<SymbolicMemory::Piece> SymbolicMemory::read(BufferId buffer, std::uint64_t begin, std::uint64_t end) const {
  std::vector<Piece> pieces;
  memory_[buffer.value].visit(begin, end, [&](std::uint64_t from, std::uint64_t to, const Value* value) {
    pieces.push_back({to - from, value == nullptr ? std::nullopt : std::optional<Value>(*value)});
  });
  return pieces;
}

void SymbolicMemory::write(BufferId buffer, std::uint64_t begin, std::vector<Piece> pieces) {
  for (Piece& piece : pieces) {
    if (piece.value) {
      memory_[buffer.value].assign(begin, begin + piece.bytes, std::move(*piece.value));
    } else {
      memory_[buffer.value].erase(begin, begin + piece.bytes);
    }
    begin += piece.bytes;
  }
}

void SymbolicMemory::execute(const Command& command) {
  match(
      command,
      [&](const Copy& c) {
        c.op == CopyOp::store ? copy(c.src, c.dst) : reduce({c.dst, c.src}, c.dst, c.dtype);
      },
      [&](const Broadcast& b) {
        copy(b.src, b.dst1);
        copy(b.src, b.dst2);
      },
      [&](const Swap& s) { swap(s.a, s.b); },
      [&](const Kernel& k) {
        if (k.op == KernelOp::reduce) return reduce(k.sources, k.dst, k.dtype);
        const auto row_of = [](const Region& region, std::uint64_t row) {
          return make_region(region.buffer, region.row_offset(row), region.width);
        };
        const Region& source = k.sources.front();
        for (std::uint64_t i = 0; i < k.rows.size(); ++i) {
          const bool gather = k.op == KernelOp::gather_rows;
          copy(row_of(source, gather ? k.rows[i] : i), row_of(k.dst, gather ? i : k.rows[i]));
        }
      },
      [](const auto&) {});
}

void SymbolicMemory::copy(const Region& src, const Region& dst) {
  for_each_row({src, dst}, [&](const std::vector<std::uint64_t>& starts, std::uint64_t bytes) {
    write(dst.buffer, starts[1], read(src.buffer, starts[0], starts[0] + bytes));
  });
}

void SymbolicMemory::swap(const Region& a, const Region& b) {
  auto from_a = read(a.buffer, a.offset.value, a.offset.value + a.width.value);
  auto from_b = read(b.buffer, b.offset.value, b.offset.value + b.width.value);
  write(a.buffer, a.offset.value, std::move(from_b));
  write(b.buffer, b.offset.value, std::move(from_a));
}

void SymbolicMemory::reduce(const std::vector<Region>& sources, const Region& dst, DType dtype) {
  std::vector<Region> regions = sources;
  regions.push_back(dst);
  for_each_row(regions, [&](const std::vector<std::uint64_t>& starts, std::uint64_t bytes) {
    std::vector<Piece> total = read(sources[0].buffer, starts[0], starts[0] + bytes);
    for (std::size_t i = 1; i < sources.size(); ++i) {
      total = sum(total, read(sources[i].buffer, starts[i], starts[i] + bytes), dtype);
    }
    write(dst.buffer, starts.back(), std::move(total));
  });
}

std::vector<SymbolicMemory::Piece> SymbolicMemory::sum(const std::vector<Piece>& a, const std::vector<Piece>& b,
                                                       DType dtype) {
  std::vector<Piece> result;
  std::size_t ia = 0;
  std::size_t ib = 0;
  std::uint64_t used_a = 0;  // bytes of a[ia] already summed
  std::uint64_t used_b = 0;
  std::uint64_t position = 0;  // within the row, which begins at an element
  while (ia < a.size() && ib < b.size()) {
    const std::uint64_t bytes = std::min(a[ia].bytes - used_a, b[ib].bytes - used_b);
    const auto moved = [](const Piece& piece, std::uint64_t by) {
      return piece.value ? std::optional<Value>(piece.value->advanced_by(by)) : std::nullopt;
    };
    result.push_back({bytes, sum(moved(a[ia], used_a), moved(b[ib], used_b), dtype, position % size_of(dtype).value)});
    position += bytes;
    used_a += bytes;
    used_b += bytes;
    if (used_a == a[ia].bytes) ++ia, used_a = 0;
    if (used_b == b[ib].bytes) ++ib, used_b = 0;
  }
  return result;
}

std::optional<Value> SymbolicMemory::sum(const std::optional<Value>& a, const std::optional<Value>& b, DType dtype,
                                         std::uint64_t phase) {
  if (!a || !b) return std::nullopt;
  const auto fits = [&](const Value& value) {
    return !value.is_sum() || (value.dtype == dtype && value.phase == phase);
  };
  // Bytes of sums of another element type, or cut elsewhere, do not add up to a sum of inputs.
  if (!fits(*a) || !fits(*b)) return Value{{{next_result_++, 0, 0}}};
  Value total{{}, dtype, phase};
  std::ranges::merge(a->terms, b->terms, std::back_inserter(total.terms));
  return total;
}

}  // namespace cortado::verifier
