#include <cmath>
#include <map>
#include <mutex>

#include "cortado/pipeline/overlap.hpp"
#include "cortado/pipeline/simulate.hpp"

#include "pipeline/choose/cost_cache.hpp"

namespace cortado::pipeline {
namespace {

class SimulatedOverlapCost : public OverlapCost {
 public:
  explicit SimulatedOverlapCost(const Machine& machine) : machine_(machine) {}

  Result<Nanoseconds> gemm(const GemmShape& shape, std::uint32_t units) const override {
    CORTADO_RETURN_IF_ERROR(check_gemm(shape, machine_));
    // Libraries see no masks: they choose their kernel for the whole GPU.
    const Tiling tiling = choose_tiling(shape, machine_, machine_.compute_units);
    const GemmEstimate alone = estimate_gemm(shape, tiling, machine_, units);
    const CoreTiming& cores = machine_.timing->cores;
    return cores.launch + cores.start + Nanoseconds{std::llround(alone.seconds * 1e9)};
  }

  Result<Nanoseconds> collective(const CollectiveRequest& request) const override {
    {
      const std::scoped_lock guard(lock_);
      if (const auto known = cache(request.collective).find(request)) return *known;
    }
    const auto report = simulate_collective(request, machine_);
    if (!report) return fail(report.error().errors.front());
    const std::scoped_lock guard(lock_);
    cache(request.collective).add(request, report->time);
    return report->time;
  }

  Result<Nanoseconds> together(const OverlapRequest& request, const OverlapWay& way) const override {
    CORTADO_ASSIGN_OR_RETURN(Program program, plan_overlap(request, way, machine_));
    const auto report = simulate_program(std::move(program), machine_);
    if (!report) return fail(report.error().errors.front());
    return report->time;
  }

 private:
  CostCache& cache(const std::string& collective) const {
    return caches_.try_emplace(collective, machine_, collective, std::nullopt).first->second;
  }

  const Machine& machine_;
  mutable std::mutex lock_;
  mutable std::map<std::string, CostCache> caches_;  // by collective; guarded by lock_
};

}  // namespace

std::unique_ptr<OverlapCost> simulated_overlap_cost(const Machine& machine) {
  return std::make_unique<SimulatedOverlapCost>(machine);
}

}  // namespace cortado::pipeline
