// A GEMM fused with a ring reduce-scatter, as a program in the sense of cortado/program.hpp, for tests of the
// simulator.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "gemm/gemm.hpp"

namespace cortado::sim {

struct FusedRing {
  GemmShape gemm{.m = 2048, .n = 2048, .k = 512, .dtype = DType::f16};
  Tiling tiling{256, 128, 1};
  std::uint64_t pieces = 2;  ///< per chunk; both divide evenly
};

/// On all GPUs of the machine, as a ring. Chunk c, a set of rows of C, ends on rank c; rank r sends to r + 1. Rank r
/// computes chunks r - 1, r - 2, ..., r: it stores the first on r + 1 and the others in its own memory, from where
/// pieces travel on once those of the neighbour have arrived.
inline Program fused_ring(const FusedRing& wanted, const Machine& machine) {
  const std::uint32_t n = machine.gpus;
  const auto rank_at = [&](std::uint32_t rank, std::uint32_t behind) { return (rank + n - behind) % n; };
  const std::uint64_t chunk_rows = wanted.gemm.m / n;
  const Bytes row = size_of(wanted.gemm.dtype) * wanted.gemm.n;
  const Bytes chunk = row * chunk_rows;
  const Bytes piece = chunk / wanted.pieces;
  ProgramBuilder b("fused ring", machine.name, n);
  std::vector<BufferId> out;
  for (std::uint32_t r = 0; r < n; ++r) {
    out.push_back(b.buffer("c" + std::to_string(r), RankId{r}, chunk * n, BufferRole::output));
  }
  const auto place = [&](std::uint32_t rank, std::uint32_t chunk_index, std::uint64_t piece_index) {
    return make_region(out[rank], chunk * chunk_index + piece * piece_index, piece);
  };
  const QueueId host = b.host_queue("host");
  std::vector<SignalId> finals;
  for (std::uint32_t r = 0; r < n; ++r) {
    const Bytes a_row = size_of(wanted.gemm.dtype) * wanted.gemm.k;
    const BufferId a = b.buffer("a" + std::to_string(r), RankId{r}, a_row * wanted.gemm.m, BufferRole::input);
    const BufferId operand = b.buffer("b" + std::to_string(r), RankId{r}, row * wanted.gemm.k, BufferRole::input);
    Gemm gemm = gemm_command(wanted.gemm, wanted.tiling, {a, {}, a_row, wanted.gemm.m, a_row},
                             {operand, {}, row, wanted.gemm.k, row}, {});
    const QueueId dma = b.dma_queue("dma" + std::to_string(r), RankId{r}, EngineId{1});
    const QueueId compute = b.compute_queue("gemm" + std::to_string(r), RankId{r});
    const std::uint32_t next = (r + 1) % n;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t made = rank_at(r, i + 1);
      const std::uint32_t to = i == 0 ? next : r;
      const Region region{out[to], chunk * made, row, chunk_rows, row};
      gemm.outputs.push_back({chunk_rows * made, 0, chunk_rows, wanted.gemm.n, region, CopyOp::add});
      if (i == 0) continue;
      const SignalId complete = b.signal("chunk" + std::to_string(made) + ".rank" + std::to_string(r), RankId{r});
      // The second chunk receives stores of the neighbour's GEMM, later ones receive copies.
      const std::uint64_t updates = wanted.tiling.split_k + (made == rank_at(r, 2) ? wanted.tiling.split_k : 1);
      for (std::uint64_t p = 0; p < wanted.pieces; ++p) {
        b.tracker({"chunk" + std::to_string(made) + ".piece" + std::to_string(p) + ".rank" + std::to_string(r),
                   place(r, made, p), updates, complete, 1});
        if (made == r) continue;
        b.add(dma, Wait{complete, p + 1});
        b.add(dma, Copy{place(r, made, p), place(next, made, p), CopyOp::add, wanted.gemm.dtype});
      }
      if (made == r) finals.push_back(complete);
    }
    b.add(compute, std::move(gemm));
    b.add(host, Submit{dma});
    b.add(host, Submit{compute});
  }
  for (const SignalId complete : finals) b.add(host, Wait{complete, wanted.pieces});
  return std::move(b).finish();
}

}  // namespace cortado::sim
