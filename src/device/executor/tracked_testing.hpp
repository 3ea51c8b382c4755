// Programs with trackers for the tests of the executor: GEMMs whose output is reduced by the destination memory.
#pragma once

#include <string>
#include <vector>

#include "device/executor/testing.hpp"

namespace cortado::device::testing {

/// A GEMM on every rank, summed over the ranks and divided among them by a ring: chunk c of rows ends on rank c.
struct RingProduct {
  std::uint32_t ranks = 4;
  DType dtype = DType::f32;
  std::uint64_t split_k = 1;
  std::uint64_t chunk_rows = 8;  ///< of the output; a tile is 4 x 8
  std::uint64_t n = 12;
  std::uint64_t k = 10;
  std::uint64_t missing = 0;  ///< updates that trackers of chunks in transit expect beyond those that happen
};

/// Rank r sends to r + 1. It computes the chunks r-1, r-2, ..., r+1, r in this order (modulo the ranks). The first is
/// added directly to the memory of r + 1. Each of the next ones is added to its own memory, where that of r - 1 also
/// arrives; its tracker releases the copy that adds it to the memory of r + 1. The last one stays, and its tracker
/// releases the host. Hosts pass a barrier before each iteration: by then the neighbour's memory is free.
inline Program ring_product(const RingProduct& wanted) {
  const std::uint32_t ranks = wanted.ranks;
  const std::uint64_t m = wanted.chunk_rows * ranks;
  const Bytes element = size_of(wanted.dtype);
  const Bytes chunk = element * (wanted.chunk_rows * wanted.n);
  const auto rank_before = [&](std::uint32_t r, std::uint32_t steps) { return (r + ranks - steps) % ranks; };
  ProgramBuilder p("ring product", "mi300x-8+t3", ranks);

  std::vector<Region> a, b, chunks, out;
  std::vector<SignalId> entered, complete;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::string number = std::to_string(r);
    const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
      const BufferId buffer = p.buffer(name + number, RankId{r}, element * (rows * columns), role);
      return matrix_of(buffer, rows, columns, wanted.dtype);
    };
    a.push_back(matrix("a", m, wanted.k, BufferRole::input));
    b.push_back(matrix("b", wanted.k, wanted.n, BufferRole::input));
    chunks.push_back(matrix("chunks", m, wanted.n, BufferRole::scratch));
    out.push_back(matrix("out", wanted.chunk_rows, wanted.n, BufferRole::output));
    entered.push_back(p.signal("entered" + number, RankId{r}));
    complete.push_back(p.signal("complete" + number, RankId{r}));
  }
  const auto place = [&](std::uint32_t c, std::uint32_t r) {  // location of chunk c on rank r
    Region region = c == r ? out[r] : chunks[r];
    region.rows = wanted.chunk_rows;
    if (c != r) region.offset = chunk * c;
    return region;
  };
  const auto flat = [&](std::uint32_t c, std::uint32_t r) {
    return make_region(place(c, r).buffer, place(c, r).offset, chunk);
  };

  Contract contract{"reduce-scatter of products", {}, {}};
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::string number = std::to_string(r);
    const std::uint32_t next = (r + 1) % ranks;
    const SignalId sent = p.signal("sent" + number, RankId{r});
    const QueueId host = p.host_queue("host" + number, RankId{r});
    const QueueId compute = p.compute_queue("compute" + number, RankId{r});
    const QueueId dma = p.dma_queue("dma" + number, RankId{r}, EngineId{2});

    Gemm gemm{a[r], b[r], {}, m, wanted.n, wanted.k, wanted.dtype, false, 4, 8};
    gemm.split_k = wanted.split_k;
    for (std::uint32_t step = 1; step <= ranks; ++step) {
      const std::uint32_t c = rank_before(r, step);
      gemm.outputs.push_back(
          {wanted.chunk_rows * c, 0, wanted.chunk_rows, wanted.n, place(c, step == 1 ? next : r), CopyOp::add});
      // From the previous rank: the GEMM's own stores of its first chunk, or one copy.
      if (step == 1) continue;
      const std::uint64_t arriving = step == 2 ? wanted.split_k : 1;
      const bool last = step == ranks;
      const SignalId arrived = last ? complete[r] : p.signal("ready" + number + "." + std::to_string(c), RankId{r});
      p.tracker({"chunk" + std::to_string(c) + ".r" + number, flat(c, r),
                 wanted.split_k + arriving + (last ? 0 : wanted.missing), arrived});
      if (last) continue;
      p.add(dma, Wait{arrived}).add(dma, Copy{flat(c, r), flat(c, next), CopyOp::add, wanted.dtype});
    }
    p.add(dma, Signal{sent});
    p.add(compute, gemm).add(compute, Signal{sent});

    for (std::uint32_t other = 0; other < ranks; ++other) p.add(host, Signal{entered[other]});
    p.add(host, Wait{entered[r], ranks}).add(host, Timestamp{"begin"});
    p.add(host, Submit{dma}).add(host, Submit{compute});
    p.add(host, Wait{complete[r]}).add(host, Timestamp{"end"}).add(host, Wait{sent, 2});

    ProductClause clause{out[r], {}, wanted.dtype};
    for (std::uint32_t s = 0; s < ranks; ++s) {
      Region rows = a[s];
      rows.rows = wanted.chunk_rows;
      rows.offset = a[s].row_offset(wanted.chunk_rows * r);
      clause.products.push_back({{rows}, b[s]});
    }
    contract.products.push_back(std::move(clause));
  }
  p.contract(std::move(contract));
  return std::move(p).finish();
}

}  // namespace cortado::device::testing
