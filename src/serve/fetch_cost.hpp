// The cost of bringing blocks of the KV cache from host memory to every GPU of a tensor-parallel group, or back.
#pragma once

#include <cstdint>
#include <string>

namespace cortado::serve {

/// One direction of one strategy: a job of n blocks occupies the link's queue for fixed + n x per_block seconds.
struct TransferCost {
  double fixed_s = 0;
  double per_block_s = 0;
  double host_fixed_s = 0;  ///< of the submitting thread, which also launches the steps
  double host_per_block_s = 0;
  double link_bytes_per_block = 0;  ///< of one GPU's host link
  double memory_share = 0;          ///< of the GPU's memory bandwidth while it runs
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
