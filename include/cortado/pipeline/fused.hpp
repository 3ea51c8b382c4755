// A product and the collective that takes away what it makes, by every system that Cortado knows, on one machine and in
// one table: one after the other, T3, FiCCO, C3, and ideals that have no program.
//
// Times. One after the other (`sequential`) is the product alone and then the collective alone, on all compute units:
// in a ring where not every pair of GPUs is linked, else directly. An all-reduce is a reduce-scatter, which can overlap
// with the product, and an all-gather behind it, which in all ways is done one after the other.
//
//   sequential      product + collective
//   ideal-overlap   the longer of product and reduce-scatter (+ all-gather)
//   ideal-rs+nmc    the same, the reduce-scatter by adding memory and engines
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/device/driver.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/failure.hpp"
#include "cortado/pipeline/run.hpp"
#include "cortado/plan/t3.hpp"
#include "cortado/report/fused.hpp"

namespace cortado::pipeline {

struct FusedWay {
  std::string_view name;
  std::string_view summary;
};

/// sequential, ideal-overlap, ideal-rs+nmc, t3, t3-mca, ficco, c3.
std::vector<FusedWay> list_fused_ways();

/// Whether simulate_fused is to be asked for it rather than simulate_dependent: a way of the list, or `ideal`, which
/// stands for ideal-overlap.
bool is_fused_way(std::string_view name);

struct FusedRequest {
  GemmShape gemm{};                          ///< what one rank computes
  Collective collective = "reduce-scatter";  ///< or all-reduce, all-to-all, all-gather (t3.hpp)
  std::uint32_t ranks = 0;                   ///< 0 = all GPUs of the machine
  std::uint64_t pieces = 0;                  ///< of a chunk of T3; 0 = automatic
};

struct FusedOptions {
  /// Ways of the list or schedules of FiCCO as find_schedule takes them; empty: all of the list.
  std::vector<std::string> ways{};
  /// What the choice is made by; energy is predicted only, on machines with power (overlap.objective, power.machine).
  report::Objective objective = report::Objective::time;
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (overlap.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

struct FusedReport : report::FusedReport {
  FusedRequest request;
  Nanoseconds overlappable{};  ///< of the collective alone, what can overlap: all but the all-gather of an all-reduce
  Nanoseconds reduced_in_memory{};  ///< the same by adding memory; 0 where nobody asked
  DramTraffic behind{};             ///< of the all-gather of an all-reduce
};

/// Predicted on the machine. Ways that it cannot do are listed as skipped; fails if none is left, or if the product or
/// the collective alone cannot be planned.
Outcome<FusedReport> simulate_fused(const FusedRequest& request, const Machine& machine,
                                    const FusedOptions& options = {});

/// Measured on the device; t3-mca and bounds in which memory adds alone are left out: a policy of the memory is nothing
/// that a program has.
Outcome<FusedReport> run_fused(const FusedRequest& request, const Machine& machine, device::Driver& driver,
                               const RunSettings& settings, const FusedOptions& options = {});

/// The policy of the memories under which the way is simulated; none: as the machine is.
std::optional<ArbitrationPolicy> policy_of(std::string_view way, const Machine& machine);

/// The best way of the report that has a program, by its objective; its choice if none has.
std::string best_program(const FusedReport& report);

/// The program of a way that has one.
Result<Program> plan_fused(const FusedRequest& request, std::string_view way, const Machine& machine);

}  // namespace cortado::pipeline
