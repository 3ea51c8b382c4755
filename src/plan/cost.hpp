// How long things take on one machine: what planners choose by. pipeline::simulated_cost answers from the simulator and
// from a faster model of one GPU.
#pragma once

#include <optional>

#include "cortado/plan.hpp"
#include "cortado/result.hpp"

#include "plan/c3.hpp"
#include "plan/ficco.hpp"

namespace cortado {

/// A time, or why it cannot be done this way. Calls from several threads at a time are allowed. A model need not know
/// everything: what it does not know is refused (plan.cost).
class CostModel {
 public:
  CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  virtual ~CostModel() = default;

  /// A GEMM alone on so many compute units.
  virtual Result<Nanoseconds> gemm(const GemmShape& /*shape*/, std::uint32_t /*units*/) const { return unknown(); }
  /// A collective alone.
  virtual Result<Nanoseconds> collective(const CollectiveRequest& /*request*/) const { return unknown(); }
  /// Both at once, independent of each other, this way.
  virtual Result<Nanoseconds> together(const OverlapProblem& /*problem*/, const OverlapWay& /*way*/) const {
    return unknown();
  }
  /// The same, simulated; unless the model does, as together().
  virtual Result<Nanoseconds> simulated_together(const OverlapProblem& problem, const OverlapWay& way) const {
    return together(problem, way);
  }

  // Of a GEMM and the collective that it depends on, cut by a schedule:
  /// Not above the exact time; if it is above `enough`, any time between them will do. This and the next may let pass
  /// what cannot be planned.
  virtual Result<Nanoseconds> least(const DependentRequest& /*request*/, const FiccoSchedule& /*schedule*/,
                                    Nanoseconds /*enough*/) const {
    return unknown();
  }
  /// Near the exact time.
  virtual Result<Nanoseconds> likely(const DependentRequest& /*request*/, const FiccoSchedule& /*schedule*/) const {
    return unknown();
  }
  /// The least time and, if that is below `best`, the likely one, if it is known.
  struct Bounds {
    Nanoseconds least{};
    std::optional<Nanoseconds> likely{};
  };
  virtual Result<Bounds> bounds(const DependentRequest& request, const FiccoSchedule& schedule, Nanoseconds enough,
                                Nanoseconds best) const {
    Bounds bounds;
    CORTADO_ASSIGN_OR_RETURN(bounds.least, least(request, schedule, enough));
    if (bounds.least >= best) return bounds;
    if (const auto time = likely(request, schedule)) bounds.likely = *time;
    return bounds;
  }
  /// Simulated, or why it cannot be planned (plan_ficco).
  virtual Result<Nanoseconds> exact(const DependentRequest& /*request*/, const FiccoSchedule& /*schedule*/) const {
    return unknown();
  }

 private:
  static Result<Nanoseconds> unknown() {
    return fail("plan.cost", "the cost model cannot estimate this time", "use another one");
  }
};

}  // namespace cortado
