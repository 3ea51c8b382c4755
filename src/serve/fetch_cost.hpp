// The cost of bringing blocks of the KV cache from host memory to every GPU of a tensor-parallel group, or back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace cortado::serve {

/// One direction of one strategy: a job of n blocks occupies the link's queue for fixed + n x per_block seconds. That
/// does not hold for few blocks, which do not fill a batch call: their times are interpolated.
struct TransferCost {
  double fixed_s = 0;
  double per_block_s = 0;
  double host_fixed_s = 0;  ///< of the submitting thread, which also launches the steps
  double host_per_block_s = 0;
  double ahead_fixed_s = 0;  ///< of that thread, before the job can begin: packets that wait for a trigger
  double ahead_per_block_s = 0;
  double link_bytes_per_block = 0;  ///< of one GPU's host link
  double memory_share = 0;          ///< of the GPU's memory bandwidth while it runs

  struct Few {
    double blocks = 0;
    double seconds = 0;
    double host_seconds = 0;
    double ahead_seconds = 0;
  };
  std::vector<Few> few{};  ///< ascending; the line begins at the last one. Empty: all jobs are on the line

  double seconds(double blocks) const { return cost_of(blocks, &Few::seconds, fixed_s, per_block_s); }
  double host_seconds(double blocks) const {
    return cost_of(blocks, &Few::host_seconds, host_fixed_s, host_per_block_s);
  }
  double ahead_seconds(double blocks) const {
    return cost_of(blocks, &Few::ahead_seconds, ahead_fixed_s, ahead_per_block_s);
  }

 private:
  double cost_of(double blocks, double Few::*cost, double fixed, double per_block) const {
    if (few.empty() || blocks >= few.back().blocks) return fixed + blocks * per_block;
    const auto above = std::ranges::upper_bound(few, blocks, {}, &Few::blocks);
    if (above == few.begin()) return (*above).*cost;
    const Few& below = *(above - 1);
    const double part = (blocks - below.blocks) / (above->blocks - below.blocks);
    return below.*cost + part * ((*above).*cost - below.*cost);
  }
};

struct FetchCost {
  std::string name;          ///< of the strategy: "b2b"
  TransferCost load{};       ///< host to GPU
  TransferCost store{};      ///< GPU to host
  double both_rate = 0;      ///< bytes per second of both directions together
  double compute_share = 0;  ///< of the GPU's compute units while it runs
  std::uint32_t layers = 1;  ///< released one after another

  const TransferCost& of(std::uint8_t direction) const { return direction == 0 ? load : store; }
};

}  // namespace cortado::serve
