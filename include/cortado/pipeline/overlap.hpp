// A product and an independent collective, by one policy or by all: predicted or measured, and which to use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/device/driver.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/failure.hpp"
#include "cortado/pipeline/run.hpp"
#include "cortado/plan/c3.hpp"
#include "cortado/report/overlap.hpp"

namespace cortado::pipeline {

/// "G-long" where the product takes more than 1.15 times as long as the collective, "C-long" the other way round, else
/// "GC-equal".
std::string_view overlap_class(Nanoseconds gemm, Nanoseconds collective);

struct OverlapReport : report::OverlapReport {
  OverlapRequest request;
  std::vector<OverlapWay> ways;  ///< of the rows

  const OverlapWay& chosen() const;  ///< the way of the choice
};

struct OverlapOptions {
  std::vector<std::string> policies{};  ///< empty: all
  /// In place of what policies decide: compute units of the product, and of collectives that run on them. `serial` is
  /// the measure of the others and stays as it is.
  std::optional<std::uint32_t> gemm_units{};
  std::optional<std::uint32_t> comm_units{};
  /// What the choice is made by; energy is predicted only, on machines with power (overlap.objective, power.machine).
  report::Objective objective = report::Objective::time;
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (overlap.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Predicted on the machine. Policies that cannot do it are listed as skipped; fails if none can, or if the request
/// cannot be done at all.
Outcome<OverlapReport> simulate_overlap(const OverlapRequest& request, const Machine& machine,
                                        const OverlapOptions& options = {});

/// Measured on the device: the same programs, decided by the same simulated times. All are run in turn, three rounds of
/// a third of the iterations each (rounded up), and checked as the settings say; a program's time is that of its median
/// round, which is the median of its iterations. The parts are timed in runs of their own, with timestamps around every
/// command. Refuses what does not fit the memory of this computer (overlap.memory).
Outcome<OverlapReport> run_overlap(const OverlapRequest& request, const Machine& machine, device::Driver& driver,
                                   const RunSettings& settings, const OverlapOptions& options = {});

}  // namespace cortado::pipeline
