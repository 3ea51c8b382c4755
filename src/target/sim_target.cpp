#include <algorithm>

#include "sim/gpu/simulate.hpp"
#include "target/make.hpp"

namespace cortado {
namespace {

constexpr std::int64_t kPowerSamples = 500;
constexpr Nanoseconds kShortestSample{100};

Nanoseconds power_sample(const std::vector<Nanoseconds>& ends) {
  const auto last = std::max_element(ends.begin(), ends.end());
  return last == ends.end() ? kShortestSample : std::max(kShortestSample, Nanoseconds{last->value / kPowerSamples});
}

/// A stall is the program's own fault; everything else is refused before the simulation starts.
Unexpected<Failure> failed(const Diagnostic& error) {
  return fail_at(error.code == "sim.stall" ? Stage::run : Stage::prepare, error);
}

class SimTarget : public Target {
 public:
  explicit SimTarget(std::string where) : where_(std::move(where)) {}

  bool predicts() const override { return true; }
  std::string where() const override { return where_; }

  Outcome<Run> run(const VerifiedProgram& program, const RunOptions& options) override {
    return simulate_checked(program, options);
  }

 private:
  std::string where_;
};

}  // namespace

Outcome<Run> simulate_checked(const CheckedProgram& program, const RunOptions& options) {
  sim::SimulateOptions asked = options.sim;
  asked.iterations = options.iterations;
  if (options.on_stage) options.on_stage(Stage::run);
  if (options.watts && program.machine().power) {  // a first simulation tells how long samples have to be
    asked.trace = false;
    asked.energy = false;
    const auto before = sim::simulate(program, asked);
    if (!before) return failed(before.error());
    asked.energy = options.sim.energy;
    asked.power_samples = power_sample(before->queue_ends);
  }
  asked.trace = options.trace;
  auto simulated = sim::simulate(program, asked);
  if (!simulated) return failed(simulated.error());
  Run run = run_of(program.program(), std::move(simulated->timeline));
  if (!program.program().trackers.empty()) run.tracker_entries_peak = simulated->tracker_entries_peak;
  run.predicted = *std::move(simulated);
  return run;
}

std::unique_ptr<Target> simulator() {
  return std::make_unique<SimTarget>("simulator");
}

Result<std::unique_ptr<Target>> sim_target(const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(sim::check_timing(machine));
  return std::make_unique<SimTarget>(machine.name);
}

}  // namespace cortado
