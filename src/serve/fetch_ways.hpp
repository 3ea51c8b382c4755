// Fetch strategies of a machine (pipeline/kv), as data for the simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "serve/fetch_cost.hpp"

namespace cortado::serve {

/// The cache whose blocks are moved.
struct FetchedCache {
  const Model& model;
  std::uint32_t tp = 1;
  DType kv_dtype = DType::bf16;
  std::uint32_t page = 16;  ///< tokens per block
  std::string layout;       ///< of its fragments
};

/// Strategies that fetch, plus hbm-only and recompute.
std::vector<std::string> way_names();

/// Rejects unknown names of strategies that fetch (serve.way).
Status check_fetch(const std::string& name);

/// Of a known name. Rejects whatever pipeline::kv_fetch_cost rejects.
Outcome<FetchCost> fetch_way(const std::string& name, const FetchedCache& cache, const Machine& machine);

}  // namespace cortado::serve
