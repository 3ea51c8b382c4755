#include "verify/symbolic_memory.hpp"

#include <algorithm>
#include <utility>

#include "ir/functions.hpp"
#include "ir/tiles.hpp"
#include "ir/visit.hpp"
#include "verify/multiply.hpp"
#include "verify/regions.hpp"

namespace cortado::verifier {
namespace {

Region row_of(const Region& region, std::uint64_t row) {
  return make_region(region.buffer, region.row_offset(row), region.width);
}

/// Gather and scatter.
bool moves_single_rows(const Command& command) {
  const auto* kernel = std::get_if<Kernel>(&command);
  return kernel != nullptr && kernel->op != KernelOp::reduce;
}

Pieces sorted(Pieces pieces) {
  if (pieces.size() > 1) std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.at.start; });
  return pieces;
}

/// For every buffer, the pitch of the regions that commands and contract use.
std::vector<CommonPitch> used_pitches(const Program& program) {
  std::vector<CommonPitch> used(program.buffers.size());
  const auto use = [&](const Region& region) { used[region.buffer.value].see(region); };
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (moves_single_rows(command)) continue;  // single rows have no pitch to agree on
      for_each_access(command, [&](const Region& region, AccessKind) { use(region); });
    }
  }
  for_each_output(program.contract, use);
  for_each_input(program, use);
  return used;
}

}  // namespace

SymbolicMemory::SymbolicMemory(const Program& program)
    : SymbolicMemory(program, std::make_shared<Results>(static_cast<std::uint32_t>(program.buffers.size()))) {}

SymbolicMemory::SymbolicMemory(const Program& program, std::shared_ptr<Results> results)
    : program_(program), fresh_(program.buffers.size()), results_(std::move(results)) {
  buffers_.reserve(program.buffers.size());
  for (const CommonPitch& pitch : used_pitches(program)) buffers_.emplace_back(pitch.best(), *pool_);
  for (std::size_t i = 0; i < program.trackers.size(); ++i) fire(i);
}

void SymbolicMemory::fire(std::size_t tracker) {
  set_fresh(program_.trackers[tracker].region, true);
}

void SymbolicMemory::set_fresh(const Region& region, bool fresh) {
  auto& buffer = fresh_[region.buffer.value];
  if (!buffer) {
    if (!fresh) return;
    buffer.emplace(buffers_[region.buffer.value].pitch(), *pool_);
  }
  for (const auto& [address, place] : runs_of(region, buffer->pitch())) {
    buffer->write({address, fresh ? Value{{{region.buffer.value, 0, address.start, address.stride}}} : Value{}});
  }
}

void SymbolicMemory::fill(const Region& region, std::uint32_t iteration) {
  SymbolicBuffer& buffer = buffers_[region.buffer.value];
  for (const auto& [address, place] : runs_of(region, buffer.pitch())) {
    buffer.write({address, Value{{{region.buffer.value, iteration, address.start, address.stride}}}});
  }
}

Pieces SymbolicMemory::read(const Region& region) const {
  Pieces all;
  read(region, [&](Piece&& piece) { all.push_back(std::move(piece)); });
  return all;
}

void SymbolicMemory::write(const Region& region, Pieces pieces) {
  SymbolicBuffer& buffer = buffers_[region.buffer.value];
  for (Piece& piece : pieces) {
    for (const auto& [address, place] : addresses_of(piece.at, region)) {
      const bool all = place == piece.at;
      buffer.write({address, all ? std::move(piece.value) : value_of_part(piece, place)});
    }
  }
}

void SymbolicMemory::execute(const Command& command, bool update) {
  match(
      command,
      [&](const Copy& c) {
        c.op == CopyOp::store ? copy(c.src, c.dst) : accumulate(c.dst, read(c.src), c.dtype, update);
      },
      [&](const Broadcast& b) {
        copy(b.src, b.dst1);
        copy(b.src, b.dst2);
      },
      [&](const Swap& s) {
        Pieces from_a = read(s.a);
        Pieces from_b = read(s.b);
        forget_cut(from_a, s.a.width.value);
        forget_cut(from_b, s.b.width.value);
        write(s.a, std::move(from_b));
        write(s.b, std::move(from_a));
      },
      [&](const Gemm& g) { multiply(g, update); },
      [&](const Kernel& k) {
        if (k.op == KernelOp::reduce) {
          reduce(k.sources, k.dst, k.dtype);
          for (const Region& also : k.also) copy(k.dst, also);
          return;
        }
        const Region& source = k.sources.front();
        for (std::uint64_t i = 0; i < k.rows.size(); ++i) {
          const bool gather = k.op == KernelOp::gather_rows;
          copy(row_of(source, gather ? k.rows[i] : i), row_of(k.dst, gather ? i : k.rows[i]));
        }
      },
      [&](const Call& c) { call(c); }, [](const auto&) {});
}

void SymbolicMemory::multiply(const Gemm& gemm, bool update) {
  const auto store = [&](const Region& to, Pieces pieces, bool add) {
    if (add) {
      accumulate(to, std::move(pieces), gemm.dtype, update);
    } else {
      write(to, std::move(pieces));
    }
  };
  if (gemm.outputs.empty()) return store(gemm.c, product(gemm), gemm.accumulate);
  for (const OutputBlock& block : gemm.outputs) {
    store(block.to, product(block_gemm(gemm, block)), gemm.accumulate || block.op == CopyOp::add);
  }
}

std::optional<std::uint32_t> SymbolicMemory::content(const Region& region) {
  Results::Content pieces;
  for (Piece& piece : read_runs(region)) {
    if (!piece.value.is_defined()) return {};
    pieces.emplace_back(piece.at.width, std::move(piece.value));
  }
  return results_->content(pieces, region.rows);
}

void SymbolicMemory::call(const Call& call) {
  const FunctionInfo& function = info(call.function);
  std::vector<std::optional<std::uint32_t>> whole(call.operands.size());
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    if (function.operands[i].kind == OperandKind::whole) whole[i] = content(call.operands[i]);
  }
  const auto result_of = [&](std::optional<std::uint64_t> row) -> Value {
    Results::Application application{call.function, call.parameters, {}};
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const bool by_row = function.operands[i].kind == OperandKind::rows;
      const auto operand = by_row ? content(row_of(call.operands[i], *row)) : whole[i];
      if (!operand) return {};
      application.operands.push_back(*operand);
    }
    return Value{{{results_->function(std::move(application)), 0, 0, 0}}};
  };
  if (!function.by_rows()) {
    return write(call.result, {{{0, call.result.bytes().value}, result_of({})}});
  }
  std::vector<Value> rows;
  for (std::uint64_t row = 0; row < call.result.rows; ++row) rows.push_back(result_of(row));
  for (std::uint64_t row = 0; row < call.result.rows; ++row) {
    write(row_of(call.result, row), {{{0, call.result.width.value}, std::move(rows[row])}});
  }
}

Pieces SymbolicMemory::product(const Gemm& gemm) {
  Pieces pieces;
  for (Block& block : verifier::multiply(blocks_of(read(gemm.a), gemm.a.width.value),
                                         blocks_of(read(gemm.b), gemm.b.width.value), gemm.dtype, *results_)) {
    const std::uint64_t row = gemm.c.width.value;
    const Rectangle& r = block.at;
    const std::uint64_t stride = block.rows() > 1 ? row : 0;
    pieces.push_back({{r.row_begin * row + r.column_begin, r.column_end - r.column_begin, block.rows(), stride},
                      std::move(block.value)});
  }
  return pieces;
}

void SymbolicMemory::accumulate(const Region& dst, Pieces pieces, DType dtype, bool update) {
  const auto& fresh = fresh_[dst.buffer.value];
  if (!update || !fresh) return write(dst, sum(read(dst), std::move(pieces), dtype));
  const auto is_fresh = [](const Piece& piece) { return piece.value.is_defined(); };
  Pieces first;
  read_from(*fresh, dst, [&](Piece&& piece) { first.push_back(std::move(piece)); });
  const bool all = std::ranges::all_of(first, is_fresh);
  if (all) {
    Pieces stored = pieces;
    forget_cut(stored, joined(dst).width.value);
    write(dst, std::move(stored));
  } else {
    write(dst, sum(read(dst), pieces, dtype));
  }
  if (!all && std::ranges::any_of(first, is_fresh)) {
    for_common_runs(first, pieces, [&](const Piece& mark, const Piece& piece) {
      if (!is_fresh(mark)) return;
      const bool cut = is_cut({{0, piece.at.width}, piece.value}, piece.at.width);
      write(dst, {cut ? Piece{piece.at, Value{{{results_->unnamed(), 0, 0, 0}}}} : piece});
    });
  }
  set_fresh(dst, false);
}

void SymbolicMemory::reduce(const std::vector<Region>& sources, const Region& dst, DType dtype) {
  if (sources.size() == 1) return copy(sources.front(), dst);
  if (reduce_at_once(sources, dst, dtype)) return;
  Pieces total = read(sources.front());
  for (std::size_t i = 1; i < sources.size(); ++i) total = sum(std::move(total), read(sources[i]), dtype);
  write(dst, std::move(total));
}

/// The same for sources that are cut in the same way and hold nothing but terms that stay apart; false for others.
bool SymbolicMemory::reduce_at_once(const std::vector<Region>& sources, const Region& dst, DType dtype) {
  const std::uint64_t size = size_of(dtype).value;
  const auto fits = [&](const Piece& piece) {
    const Value& value = piece.value;
    return value.is_defined() && value.fits(dtype, piece.at.start % size, piece.at.stride % size) &&
           !results_->is_long_sum(value.terms.front());
  };
  Pieces total = sorted(read(sources.front()));
  if (!std::ranges::all_of(total, fits)) return false;
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const Pieces pieces = sorted(read(sources[i]));
    if (!std::ranges::equal(total, pieces, {}, &Piece::at, &Piece::at)) return false;
    if (!std::ranges::all_of(pieces, fits)) return false;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      Terms& terms = total[p].value.terms;
      terms.reserve(sources.size());
      for (const Term& term : pieces[p].value.terms) terms.push_back(term);
    }
  }
  for (auto& [at, value] : total) {
    if (value.terms.size() > Results::kMostTerms) return false;
    std::ranges::sort(value.terms);
    if (at.stride % size == 0 && results_->may_join(value.terms)) return false;
    value.dtype = dtype;
    value.mark = 0;
    value.phase = at.start % size;
    value.phase_step = at.stride % size;
  }
  write(dst, std::move(total));
  return true;
}

Pieces SymbolicMemory::sum(Pieces a, Pieces b, DType dtype) {
  Pieces result;
  a = sorted(std::move(a));
  b = sorted(std::move(b));
  if (std::ranges::equal(a, b, {}, &Piece::at, &Piece::at)) {
    for (std::size_t i = 0; i < a.size(); ++i) result.push_back(sum(a[i], b[i], dtype));
    return result;
  }
  // Cut in different ways: combine run by run, as far as both extend.
  for_common_runs(a, b, [&](const Piece& first, const Piece& second) { result.push_back(sum(first, second, dtype)); });
  return result;
}

Piece SymbolicMemory::sum(const Piece& a, const Piece& b, DType dtype) {
  if (!a.value.is_defined() || !b.value.is_defined()) return {a.at, Value{}};
  const std::uint64_t size = size_of(dtype).value;
  Value total;
  const bool long_sum = results_->is_long_sum(a.value.terms.front()) || results_->is_long_sum(b.value.terms.front());
  if (long_sum || a.value.terms.size() + b.value.terms.size() > Results::kMostTerms) {
    total = Value{{{results_->long_sum(), 0, 0, a.at.stride}}};
  } else if (!add(a.value, b.value, dtype, a.at.start % size, a.at.stride % size, total)) {
    // Sums of another element type, or cut at other positions, do not add up to a sum of inputs.
    total = Value{{{results_->unnamed(), 0, 0, a.at.stride}}};
  } else if (a.at.stride % size == 0) {
    results_->join_panels(total.terms, dtype, total.phase);
  }
  return {a.at, std::move(total)};
}

}  // namespace cortado::verifier
