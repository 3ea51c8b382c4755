// Power of a GEMM, of a collective and of both at once on a modelled machine, under policies of power management.
//
// Everything is repeated until the management has settled: for forty control intervals and twenty iterations or longer.
// What is reported is the mean of the second half of the iterations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cortado/gemm/gemm.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/plan/overlap.hpp"
#include "cortado/report/power.hpp"
#include "cortado/sim/power.hpp"
#include "cortado/target/failure.hpp"

namespace cortado::pipeline {

/// Stands for the policies of power management that the machine can do, in command lines.
inline constexpr const char* kAllPowerPolicies = "all";

/// At least one of the two.
struct PowerRequest {
  std::optional<GemmShape> gemm{};  ///< the same on every rank
  /// Its variant kCoresVariants: as a GPU-core library does it. The host is per rank always.
  std::optional<CollectiveRequest> collective{};
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  /// Of both: any of the list (plan/overlap.hpp), or kAutoStrategy. Empty: both are launched at once, the collective by
  /// its variant; independent problems only.
  std::string strategy{};
  StrategyKnobs knobs{};  ///< of the strategy
  /// How both depend on each other. The bytes of a collective that depends on the GEMM follow from it.
  Relation relation = Relation::independent;
  TokenTable tokens{};  ///< of a dependent all-to-all
};

struct PowerOptions {
  /// None: all that the machine can do; the others are listed as skipped. The policy none, with which all are compared,
  /// comes first whether it is named or not.
  std::optional<std::vector<const sim::PowerPolicy*>> policies{};
  bool managed = true;              ///< false: clocks stay as the machine file has them, and there is one row a case
  std::optional<double> cap_w{};    ///< of a board, instead of the machine's
  std::optional<double> limit_w{};  ///< of uniform-cap
  /// Clocks that component policies may move; none: each its own (sim::managed_components).
  std::optional<std::vector<Component>> components{};
  bool over_time = false;     ///< power over time, of the run of both or of the only one
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (power.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Refuses what check_power_management refuses, policies, caps and limits for clocks that are not managed
/// (power.unmanaged), a request of nothing (power.request), and what cannot be planned.
Outcome<report::PowerReport> study_power(const PowerRequest& request, const Machine& machine,
                                         const PowerOptions& options = {});

}  // namespace cortado::pipeline
