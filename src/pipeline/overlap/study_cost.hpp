// The cost model of one study. What a search simulates to choose is mostly what the study then has a row of, so such a
// simulation also takes what rows have, and is kept.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "cortado/target.hpp"

#include "pipeline/choose/simulated_cost.hpp"
#include "pipeline/overlap/times.hpp"

namespace cortado::pipeline {

class StudyCost : public SimulatedCost {
 public:
  /// The machine must outlive it. `rows`: how programs of rows are timed; none: nothing is kept.
  StudyCost(const Machine& machine, std::optional<TimeOptions> rows)
      : SimulatedCost(machine), machine_(machine), rows_(std::move(rows)) {}

  Result<Nanoseconds> exact(const DependentRequest& request, const FiccoSchedule& schedule) const override;

  /// As time_program for rows, if exact() has simulated the program. It need not have been proved.
  std::optional<OverlapTimes> times_of(const Program& program) const;

 private:
  struct Known {
    CheckedProgram program;
    OverlapTimes times;
  };

  const Machine& machine_;
  const std::optional<TimeOptions> rows_;
  mutable std::mutex lock_;
  mutable std::vector<Known> known_;  // guarded by lock_
};

}  // namespace cortado::pipeline
