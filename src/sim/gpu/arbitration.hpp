// Whom a full memory serves first (timing.memory.arbitration): workgroups of GEMMs or communication. Communication is
// everything else, including the stores of GEMMs, since GEMMs wait only for their reads.
//
// While a GEMM is in progress on a GPU, a communication flow that touches its memory has the weight of its engine times
// the share of that GPU (of several GPUs, the smallest share); and the greater that share, the more of the fabric the
// flow takes (mixing_cost).
//
//   round_robin    share 1: in turn
//   compute_first  starvation_share: in effect, communication gets what GEMMs leave
//   mca            threshold / queue_depth, at least starvation_share; the threshold is that of the class of the GEMM's
//                  memory intensity i, the fraction of time for which its first stage would keep the memory busy:
//
//                    i = (reads + stores at their cost) / memory rate / (read phase + multiply)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/machine.hpp"

namespace cortado::sim {

class Arbitration {
 public:
  /// `policy`, if given, overrides that of the machine.
  Arbitration(const std::optional<MemoryArbitration>& arbitration, std::optional<ArbitrationPolicy> policy,
              std::uint32_t gpus);

  /// The machine arbitrates; then flows of GEMMs in stages have weight 1.
  bool given() const { return arbitration_.has_value(); }
  /// Whether shares can differ from 1.
  bool favours_products() const { return given() && arbitration_->policy != ArbitrationPolicy::round_robin; }

  double share_for(double intensity) const;

  /// Cost factor of communication in the fabric of a GPU on which a GEMM is in progress (mixing_cost).
  double mixing(std::uint32_t gpu) const { return given() ? 1 + (arbitration_->mixing_cost - 1) * shares_[gpu] : 1; }

  /// A GEMM of the queue begins on the GPU. True if the share of the GPU has changed.
  bool begin_product(std::uint32_t queue, std::uint32_t gpu, double intensity);
  bool end_product(std::uint32_t queue, std::uint32_t gpu);

  double share(std::uint32_t gpu) const { return shares_[gpu]; }

 private:
  struct Product {
    std::uint32_t queue;
    std::uint32_t gpu;
    double share;
  };

  bool settle(std::uint32_t gpu);

  std::optional<MemoryArbitration> arbitration_;
  std::vector<double> shares_;  // by GPU
  std::vector<Product> products_;
};

}  // namespace cortado::sim
