// The schedule of a product and the collective that it depends on, for frameworks that lower such pairs. Nothing is
// read or written, nothing is proved and nothing runs: the program of the chosen schedule is proved when it is used.
//
//   const Machine machine = load_machine("mi300x-8").value();  // once
//   const auto schedule = pipeline::choose({.m = 16384, .n = 3584, .k = 8192}, "all-gather", machine);
//   const auto plan = plan_ficco({.gemm = ..., .collective = "all-gather"}, *schedule, machine);
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cortado/plan/choose_schedule.hpp"

namespace cortado::pipeline {

/// Every rank gathers A by the collective and multiplies it: "all-gather" or "all-to-all". Or it multiplies, and the
/// collective takes the product away: "reduce-scatter". `gemm` is what DependentRequest says. Chosen by auto_schedule
/// on the machine's model; what was chosen once comes from memory. Several threads may call at the same time.
Result<FiccoSchedule> choose(const GemmShape& gemm, Collective collective, const Machine& machine);

/// Least and likely times from outlines (ficco_outline.hpp), simulated ones without proof. The machine must outlive it.
std::unique_ptr<ScheduleCost> simulated_schedule_cost(const Machine& machine);

/// Chooses, and remembers. Choices are found by the content of the machine's file and by the request, so another
/// machine of the same name gets choices of its own; a machine has to be as its file says. Several threads may use it.
class ScheduleChooser {
 public:
  /// So many choices are kept; one more, and all are forgotten.
  explicit ScheduleChooser(std::size_t most = 4096) : most_(most) {}

  Result<ScheduleChoice> choose(const DependentRequest& request, const Machine& machine);

  std::size_t kept() const;

 private:
  const std::size_t most_;
  mutable std::mutex lock_;
  std::unordered_map<std::string, ScheduleChoice> choices_;  // guarded by lock_
};

}  // namespace cortado::pipeline
