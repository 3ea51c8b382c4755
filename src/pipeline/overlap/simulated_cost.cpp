#include <cmath>
#include <map>
#include <mutex>

#include "cortado/pipeline/overlap.hpp"
#include "cortado/pipeline/simulate.hpp"

#include "pipeline/choose/cost_cache.hpp"
#include "pipeline/overlap/fast_model.hpp"

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
    CORTADO_ASSIGN_OR_RETURN(const CollectiveProfile known, profile(request));
    return known.time;
  }

  Result<Nanoseconds> together(const OverlapRequest& request, const OverlapWay& way) const override {
    CollectiveRequest alone = way.collective;
    alone.host = HostThreads::per_rank;
    CORTADO_ASSIGN_OR_RETURN(const CollectiveProfile known, profile(alone));
    if (way.order != LaunchOrder::serial) return estimate_overlap(request.gemm, way, known, machine_);
    CORTADO_ASSIGN_OR_RETURN(const Nanoseconds product, gemm(request.gemm, machine_.compute_units));
    return product + known.time;
  }

 private:
  Result<CollectiveProfile> profile(const CollectiveRequest& request) const {
    const std::string key = fmt::format("{} {}", request.collective, request_key(request, machine_.gpus));
    {
      const std::scoped_lock guard(lock_);
      if (const auto known = profiles_.find(key); known != profiles_.end()) return known->second;
    }
    CORTADO_ASSIGN_OR_RETURN(Program program, plan_collective(request, machine_));
    const auto report = simulate_program(std::move(program), machine_, {.energy = false});
    if (!report) return fail(report.error().errors.front());
    const CollectiveProfile made = profile_of(report->program.program(), report->time);
    const std::scoped_lock guard(lock_);
    profiles_.emplace(key, made);
    return made;
  }

  const Machine& machine_;
  mutable std::mutex lock_;
  mutable std::map<std::string, CollectiveProfile> profiles_;  // by collective and request_key; guarded by lock_
};

}  // namespace

std::unique_ptr<OverlapCost> simulated_overlap_cost(const Machine& machine) {
  return std::make_unique<SimulatedOverlapCost>(machine);
}

}  // namespace cortado::pipeline
