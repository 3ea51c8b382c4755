// The only implementation of CostModel: times from the simulator or, where that takes too long, from sim/fast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cortado/target.hpp"

#include "pipeline/choose/cost_cache.hpp"
#include "plan/cost.hpp"

namespace cortado::pipeline {

class SimulatedCost : public CostModel {
 public:
  /// The machine must outlive it. Simulated collectives are remembered; with a folder, save() keeps them there.
  explicit SimulatedCost(const Machine& machine, const std::optional<std::string>& folder = {})
      : machine_(machine), cache_(machine, folder) {}

  Result<Nanoseconds> gemm(const GemmShape& shape, std::uint32_t units) const override;
  Result<Nanoseconds> collective(const CollectiveRequest& request) const override;
  Result<Nanoseconds> together(const OverlapProblem& problem, const OverlapWay& way) const override;
  Result<Nanoseconds> simulated_together(const OverlapProblem& problem, const OverlapWay& way) const override;
  Result<Nanoseconds> least(const DependentRequest& request, const FiccoSchedule& schedule,
                            Nanoseconds enough) const override;
  Result<Nanoseconds> likely(const DependentRequest& request, const FiccoSchedule& schedule) const override;
  Result<Bounds> bounds(const DependentRequest& request, const FiccoSchedule& schedule, Nanoseconds enough,
                        Nanoseconds best) const override;
  Result<Nanoseconds> exact(const DependentRequest& request, const FiccoSchedule& schedule) const override;

  Status save() { return cache_.save(); }

 private:
  /// Of any program: a choice needs no proof.
  static Result<Nanoseconds> simulated_time(const CheckedProgram& program);
  Result<sim::CollectiveProfile> profile(const CollectiveRequest& request) const;
  /// Of the rank that takes longest.
  Result<Nanoseconds> of_last_rank(const std::vector<RankProgram>& ranks, sim::Sharing sharing) const;

  const Machine& machine_;
  mutable CostCache cache_;
};

}  // namespace cortado::pipeline
