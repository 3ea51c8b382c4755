#include "verify/symbolic_memory.hpp"

#include <algorithm>

#include "cortado/ir/visit.hpp"

#include "verify/multiply.hpp"

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

/// For every buffer the regions that commands and contract use.
std::vector<std::vector<Region>> used_regions(const Program& program) {
  std::vector<std::vector<Region>> used(program.buffers.size());
  const auto use = [&](const Region& region) { used[region.buffer.value].push_back(region); };
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (moves_single_rows(command)) continue;  // single rows have no pitch to agree on
      for (const Access& access : accesses(command)) use(access.region);
    }
  }
  for_each_output(program.contract, use);
  for_each_input(program.contract, use);
  return used;
}

}  // namespace

SymbolicMemory::SymbolicMemory(const Program& program) : results_(static_cast<std::uint32_t>(program.buffers.size())) {
  for (const auto& regions : used_regions(program)) buffers_.emplace_back(common_pitch(regions));
}

void SymbolicMemory::fill(const Region& region, std::uint32_t iteration) {
  SymbolicBuffer& buffer = buffers_[region.buffer.value];
  for (const auto& [address, place] : runs_of(region, buffer.pitch())) {
    buffer.write({address, Value{{{region.buffer.value, iteration, address.start, address.stride}}}});
  }
}

std::vector<Piece> SymbolicMemory::read(const Region& region) const {
  const SymbolicBuffer& buffer = buffers_[region.buffer.value];
  std::vector<Piece> all;
  for (const auto& [address, place] : runs_of(region, buffer.pitch())) {
    for (Piece& piece : buffer.read(address)) {
      // From addresses to places: what is in run k of the address is in run k of the place.
      const std::uint64_t distance = piece.at.start - address.start;
      const std::uint64_t run = address.count > 1 ? distance / address.stride : 0;
      piece.at.start = place.run_start(run) + (distance - run * address.stride);
      if (address.count > 1 && piece.at.count > 1) piece.at.stride = place.stride;
      all.push_back(std::move(piece));
    }
  }
  return all;
}

void SymbolicMemory::write(const Region& region, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    for (const auto& [address, place] : addresses_of(piece.at, region)) {
      buffers_[region.buffer.value].write({address, value_of_part(piece, place)});
    }
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
      [&](const Swap& s) {
        const std::vector<Piece> from_a = read(s.a);
        write(s.a, read(s.b));
        write(s.b, from_a);
      },
      [&](const Gemm& g) { multiply(g); },
      [&](const Kernel& k) {
        if (k.op == KernelOp::reduce) return reduce(k.sources, k.dst, k.dtype);
        const Region& source = k.sources.front();
        for (std::uint64_t i = 0; i < k.rows.size(); ++i) {
          const bool gather = k.op == KernelOp::gather_rows;
          copy(row_of(source, gather ? k.rows[i] : i), row_of(k.dst, gather ? i : k.rows[i]));
        }
      },
      [](const auto&) {});
}

void SymbolicMemory::multiply(const Gemm& gemm) {
  std::vector<Piece> pieces;
  for (Block& block : verifier::multiply(blocks_of(read(gemm.a), gemm.a.width.value),
                                         blocks_of(read(gemm.b), gemm.b.width.value), gemm.dtype, results_)) {
    const std::uint64_t row = gemm.c.width.value;
    const Rectangle& r = block.at;
    const std::uint64_t stride = block.rows() > 1 ? row : 0;
    pieces.push_back({{r.row_begin * row + r.column_begin, r.column_end - r.column_begin, block.rows(), stride},
                      std::move(block.value)});
  }
  write(gemm.c, gemm.accumulate ? sum(read(gemm.c), std::move(pieces), gemm.dtype) : pieces);
}

void SymbolicMemory::reduce(const std::vector<Region>& sources, const Region& dst, DType dtype) {
  std::vector<Piece> total = read(sources.front());
  for (std::size_t i = 1; i < sources.size(); ++i) total = sum(std::move(total), read(sources[i]), dtype);
  write(dst, total);
}

std::vector<Piece> SymbolicMemory::sum(std::vector<Piece> a, std::vector<Piece> b, DType dtype) {
  std::vector<Piece> result;
  const auto start = [](const Piece& piece) { return piece.at.start; };
  std::ranges::sort(a, {}, start);
  std::ranges::sort(b, {}, start);
  if (std::ranges::equal(a, b, {}, &Piece::at, &Piece::at)) {
    for (std::size_t i = 0; i < a.size(); ++i) result.push_back(sum(a[i], b[i], dtype));
    return result;
  }
  // Cut in different ways: take run by run, as far as both go.
  a = single_runs(a);
  b = single_runs(b);
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint64_t begin = std::max(a[i].at.start, b[j].at.start);
    const std::uint64_t end_a = a[i].at.start + a[i].at.width;
    const std::uint64_t end_b = b[j].at.start + b[j].at.width;
    const Runs part{begin, std::min(end_a, end_b) - begin};
    result.push_back(sum({part, value_of_part(a[i], part)}, {part, value_of_part(b[j], part)}, dtype));
    if (end_a <= end_b) ++i;
    if (end_b <= end_a) ++j;
  }
  return result;
}

Piece SymbolicMemory::sum(const Piece& a, const Piece& b, DType dtype) {
  if (!a.value.is_defined() || !b.value.is_defined()) return {a.at, Value{}};
  const std::uint64_t size = size_of(dtype).value;
  Value total;
  if (!add(a.value, b.value, dtype, a.at.start % size, a.at.stride % size, total)) {
    // Bytes of sums of another element type, or cut elsewhere, do not add up to a sum of inputs.
    total = Value{{{results_.unnamed(), 0, 0, a.at.stride}}};
  } else if (a.at.stride % size == 0) {
    results_.join_panels(total.terms, dtype, total.phase);
  }
  return {a.at, std::move(total)};
}

}  // namespace cortado::verifier
