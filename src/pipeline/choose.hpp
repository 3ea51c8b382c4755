// Choices on one machine: the variant of a collective, by simulation, and the schedule of a GEMM and the collective
// that it depends on. For frameworks that lower such pairs:
//
//   const Machine machine = load_machine("mi300x-8").value();
//   pipeline::Chooser chooser(machine, {});  // once: it remembers
//   const DependentRequest request{.gemm = {.m = 16384, .n = 3584, .k = 8192}, .collective = "all-gather"};
//   const auto choice = chooser.schedule(request);
//   const auto plan = plan_ficco(request, choice->schedule, machine);  // proved when it is used
//
// Times of collectives can be kept on disk, in a folder with a JSON file for each machine. It is found by content: the
// values of the machine and the sources of planner and simulator are part of the file's name, so another machine or
// another version never uses old times. A file that is missing, damaged or foreign is written anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cortado/machine.hpp"

#include "plan/choose.hpp"
#include "plan/choose_schedule.hpp"
#include "plan/overlap.hpp"

namespace cortado::pipeline {

class SimulatedCost;

/// Collectives and schedules planned and simulated, GEMMs by their model, and both at once by a model of one GPU
/// (sim/fast). Collectives that were simulated are remembered. The machine must outlive it.
std::unique_ptr<CostModel> simulated_cost(const Machine& machine);

/// With simulations of programs that are checked against the limits of the machine; what is chosen is proved when it is
/// used. Model and machine must outlive it.
StrategyCosts strategy_costs(const CostModel& model, const Machine& machine);

/// $XDG_CACHE_HOME/cortado or ~/.cache/cortado; none if neither variable is an absolute path.
std::optional<std::string> default_cache_folder();

struct ChooserOptions {
  std::uint32_t threads = 1;                  ///< candidates simulated concurrently; no result depends on it
  std::optional<std::string> cache_folder{};  ///< none: nothing is kept on disk
  std::size_t most_schedules = 4096;          ///< to remember; one more, and all are forgotten
};

/// Chooses for one machine. It remembers what it has simulated; `save` keeps that on disk.
class Chooser {
 public:
  /// The machine must outlive the chooser.
  Chooser(const Machine& machine, ChooserOptions options);
  ~Chooser();

  /// The candidates at the very size of the request.
  Result<ChoiceRow> row(const ChoiceRequest& request);

  /// By auto_schedule; earlier choices are remembered. Nothing is proved and nothing runs. Several threads may
  /// call it at the same time.
  Result<ScheduleChoice> schedule(const DependentRequest& request);

  /// Called after each candidate, by one thread at a time, with the number done and the total.
  using Progress = std::function<void(std::size_t done, std::size_t all)>;

  /// The rows of the sizes, given in ascending order, at which some variant fits.
  Result<ChoiceTable> table(const ChoiceRequest& request, const std::vector<Bytes>& sizes,
                            const Progress& progress = {});

  /// Writes new times to the cache; an error only means that they could not be kept.
  Status save();

 private:
  std::vector<Result<Nanoseconds>> times(const std::vector<CollectiveRequest>& requests, const Progress& progress);

  const Machine& machine_;
  ChooserOptions options_;
  std::unique_ptr<SimulatedCost> cost_;
  std::mutex lock_;
  std::unordered_map<std::string, ScheduleChoice> schedules_;  // by values of the request; guarded by lock_
};

}  // namespace cortado::pipeline
