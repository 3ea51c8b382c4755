// What cutting a GEMM costs (DIL), how much it and a collective slow each other down (CIL), and which schedule is
// fastest for which shapes. All predicted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

#include "plan/ficco.hpp"
#include "report/characterization.hpp"
#include "report/schedule_map.hpp"

namespace cortado::pipeline {

struct CharacterizeOptions {
  std::uint32_t threads = 1;  ///< concurrent simulations; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (overlap.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Decomposition by the published schedules in 2, 4, ... 64 chunks; contention of these, of serial and of shard-p2p,
/// with default chunks, on DMA engines and on compute units. What cannot be planned is listed as skipped; fails if the
/// request cannot be run sequentially.
Outcome<report::Characterization> characterize(const DependentRequest& request, const Machine& machine,
                                               const CharacterizeOptions& options = {});

struct MapRequest {
  std::uint64_t n = 0;  ///< columns that one rank multiplies
  DType dtype = DType::bf16;
  Collective collective = "all-gather";
  Dependence dependence = Dependence::collective_first;
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  std::vector<std::uint64_t> m{};
  std::vector<std::uint64_t> k{};
};

/// What study_overlap chooses among its default strategies, for every m and k, with the times of all
/// of them. Strategies that do not fit into memory or cannot be cut that fine have no time there; any other refusal
/// applies to the whole map.
Outcome<report::ScheduleMap> map_schedules(const MapRequest& request, const Machine& machine,
                                           const CharacterizeOptions& options = {});

}  // namespace cortado::pipeline
