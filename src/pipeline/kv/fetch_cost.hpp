// What it costs to fetch KV blocks from host memory into every GPU of a tensor-parallel group, as a line through
// simulated programs: the time of n blocks is seconds_fixed + n x seconds_per_block. For those who ask thousands of
// times, such as a simulator of serving.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {

struct KvFetchQuestion {
  Model model;
  std::uint32_t tp = 1;
  DType kv_dtype = DType::bf16;
  std::uint32_t block_tokens = 16;
  std::string layout = "per-layer";  ///< of fragments: "per-layer", "layer", "cross-layer"
  std::string strategy = "b2b";      ///< one of plan::kv_strategies()
  bool store = false;                ///< GPU memory to host memory instead
};

/// A block is `block_tokens` tokens of all layers. Every figure is of one GPU of the group, but for the time of the
/// host, which is of the busiest thread, and energy, which is of the whole group.
struct KvFetchCost {
  double seconds_fixed = 0;
  double seconds_per_block = 0;
  double host_seconds_fixed = 0;  ///< of a host thread that submits
  double host_seconds_per_block = 0;
  double link_bytes_per_block = 0;        ///< over the host link of a GPU, in the direction of the transfer
  double energy_j_per_block = 0;          ///< of all GPUs; 0 where the machine says nothing of power
  std::uint32_t compute_units = 0;        ///< that are occupied meanwhile
  std::uint64_t fragments_per_block = 0;  ///< copies
};

/// Refuses models, layouts and strategies that do not fit (kv.*), and machines without host links (machine.host_link).
Outcome<KvFetchCost> kv_fetch_cost(const KvFetchQuestion& question, const Machine& machine);

}  // namespace cortado::pipeline
