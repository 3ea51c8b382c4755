#include "cortado/pipeline/choose.hpp"
#include "cortado/target/target.hpp"

namespace cortado::pipeline {
namespace {

class SimulatedCost : public CostModel {
 public:
  explicit SimulatedCost(const Machine& machine) : machine_(machine) {}

  Result<Nanoseconds> time(const CollectiveRequest& request) const override {
    const auto report = predict(plan_collective(request, machine_), machine_, {.sim = {.energy = false}});
    if (!report) return fail(report.error().errors.front());
    return report->time;
  }

 private:
  const Machine& machine_;
};

}  // namespace

std::unique_ptr<CostModel> simulated_cost(const Machine& machine) {
  return std::make_unique<SimulatedCost>(machine);
}

}  // namespace cortado::pipeline
