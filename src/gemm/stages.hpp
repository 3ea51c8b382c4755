// What each stage of a GEMM reads from memory, on machines whose GEMMs run in stages (timing.compute->stages).
//
// Workgroups start in the order of production (ir/tiles.hpp; the split_k workgroups of a tile one behind another). A
// GEMM without a map and without tile signals may have its tiles in any order; of rows first and columns first its
// kernel has the one that reads less. As many as there are compute units are one stage. The workgroups of a stage run
// together and share what they read: a stage touches every row of A and every column of B that a tile of it needs once,
// of split GEMMs the part of k that each workgroup needs. What no stage has touched before comes from memory. What
// was touched before is found in the last-level cache with the probability that a set-associative cache with W ways,
// least recently used replacement and hashed sets still holds it (Smith's model of such caches; with hashed sets the
// number of other lines that fell into a set is Poisson):
//
//   h(D) = P(Poisson(W D / cache bytes) < W)
//
// where D is what the stages behind its last touch, up to and including this one, touched: rows of A, columns of B, and
// the bytes of C that they write, unless these go past the cache, as those of an output map do. A stage s reads
//
//   sum over what it touches: bytes (1 - h(D)),  h = 0 for what was never touched
//
// Assumed: the order of touches within a stage does not matter; nobody else uses the cache (engines go past it).
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

namespace cortado {

/// h(D) above. The cache has at least one byte and one way.
double cache_hit_probability(double touched_bytes, Bytes cache, std::uint32_t ways);

class StageReads {
 public:
  /// In stages of `units` workgroups. The machine has timing.compute->stages.
  StageReads(const Gemm& gemm, const Machine& machine, std::uint32_t units);

  std::uint64_t stages() const { return before_.size() - 1; }
  std::uint64_t workgroups() const { return workgroups_; }
  /// Expected bytes.
  double of_stage(std::uint64_t stage) const { return before_[stage + 1] - before_[stage]; }
  /// Of `count` workgroups from `first` on, wherever stages begin: those of a stage read the same.
  double of_workgroups(std::uint64_t first, std::uint64_t count) const;
  double total() const { return before_.back(); }

 private:
  double up_to(std::uint64_t workgroup) const;

  std::uint64_t units_;
  std::uint64_t workgroups_;
  std::vector<double> before_;  // each stage; one more for all
};

}  // namespace cortado
