// Whom a full memory serves (timing.memory.arbitration): workgroups of GEMMs, or communication, which is everything
// else, stores of GEMMs included: what GEMMs wait for are their reads.
//
// While a GEMM is under way on a GPU, a flow of communication that touches its memory has the weight of its engine
// times the share of that GPU, of several GPUs the least; and it takes more of the fabric the greater that share is
// (mixing_cost).
//
//   round_robin    share 1: in turn
//   compute_first  starvation_share: in effect what GEMMs leave
//   mca            threshold / queue_depth, at least starvation_share; the threshold is that of the class of the
//                  GEMM's memory intensity i, the share of time that its first stage would keep the memory busy:
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
  /// `policy` instead of the one of the machine.
  Arbitration(const std::optional<MemoryArbitration>& arbitration, std::optional<ArbitrationPolicy> policy,
              std::uint32_t gpus);

  /// The machine arbitrates: flows of GEMMs in stages have the weight 1.
  bool given() const { return arbitration_.has_value(); }
  /// Shares can differ from 1.
  bool favours_products() const { return given() && arbitration_->policy != ArbitrationPolicy::round_robin; }

  double share_for(double intensity) const;

  /// Of communication in the fabric of a GPU where a GEMM is under way (mixing_cost).
  double mixing(std::uint32_t gpu) const { return given() ? 1 + (arbitration_->mixing_cost - 1) * shares_[gpu] : 1; }

  /// A GEMM of the queue is under way on the GPU. True if the share of the GPU is not what it was.
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
