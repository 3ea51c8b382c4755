// A product and the collective that it depends on, by several schedules: predicted or measured, and which to use.
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
#include "cortado/plan/choose_schedule.hpp"
#include "cortado/plan/ficco.hpp"
#include "cortado/report/dependent.hpp"

namespace cortado::pipeline {

struct DependentReport : report::DependentReport {
  DependentRequest request;
  std::vector<FiccoSchedule> schedules;  ///< of the rows

  const FiccoSchedule& chosen() const;  ///< the schedule of the choice
};

/// A schedule that is left open: auto_schedule decides, chunks included. A row of serial stands beside it.
inline constexpr const char* kAutoSchedule = "auto";

/// auto leaves all open: refused where compute units shall move the bytes, with a number of chunks but 0, or with
/// exchanges other than plain copies and automatic ones (ficco.schedule).
Status check_auto(CollectiveMeans means, std::uint32_t chunks, ExchangeVariant exchange);

/// The name with its number of chunks, as find_schedule takes it: "hetero-fused-1d/16".
std::string full_name(const FiccoSchedule& schedule);

std::string_view name_of(ChosenBy by);  ///< "heuristic", "search"

struct DependentOptions {
  /// As find_schedule takes them, or kAutoSchedule; empty: serial, shard-p2p and the published ones.
  std::vector<std::string> schedules{};
  std::uint32_t chunks = 0;                      ///< of schedules whose name does not say; 0 = as many as ranks
  CollectiveMeans means = CollectiveMeans::dma;  ///< of all schedules, serial included
  ExchangeVariant exchange = ExchangeVariant::automatic;  ///< of all schedules but serial
  bool contention = false;  ///< with cil_gemm and cil_comm, where predicted: three simulations, not one
  /// What the choice is made by; energy is predicted only, on machines with power (overlap.objective, power.machine).
  report::Objective objective = report::Objective::time;
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (overlap.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Predicted on the machine. One after the other is `serial`: the collective by plain copies, and the product. The
/// collective alone is its part of that: until the last piece has come, or, behind a product, from the end of the last
/// product until the last piece has come and has been added up. Schedules that cannot be planned are listed as skipped;
/// fails if none can. If `serial` does not fit the memory of a GPU, the others are compared with what it would take on
/// GPUs with enough memory, and the note says so.
Outcome<DependentReport> simulate_dependent(const DependentRequest& request, const Machine& machine,
                                            const DependentOptions& options = {});

/// Measured on the device: the same programs; medians of the iterations, every output byte of the last one checked.
/// Refuses what does not fit one after the other, on a GPU (ficco.memory) or on this computer (overlap.memory). The
/// parts are timed in runs of their own, with timestamps around every command.
Outcome<DependentReport> run_dependent(const DependentRequest& request, const Machine& machine, device::Driver& driver,
                                       const RunSettings& settings, const DependentOptions& options = {});

}  // namespace cortado::pipeline
