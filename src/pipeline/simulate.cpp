#include "cortado/pipeline/simulate.hpp"

#include <algorithm>

namespace cortado::pipeline {
namespace {

constexpr std::int64_t kPowerSamples = 500;
constexpr Nanoseconds kShortestSample{100};

Nanoseconds power_sample(const std::vector<Nanoseconds>& ends) {
  const auto last = std::max_element(ends.begin(), ends.end());
  return last == ends.end() ? kShortestSample : std::max(kShortestSample, Nanoseconds{last->value / kPowerSamples});
}

/// The proof of a program that is about to be simulated.
Outcome<CheckedProgram> proved(Program program, const Machine& machine, const VerifyOptions& options,
                               const OnStage& on_stage) {
  if (on_stage) on_stage(Stage::verify);
  auto verified = check_program(std::move(program), machine, options);
  if (!verified) return fail_at(Stage::verify, verified.error());
  if (on_stage) on_stage(Stage::run);
  return *std::move(verified);
}

}  // namespace

Outcome<SimulationReport> simulate_collective(const CollectiveRequest& request, const Machine& machine,
                                              const sim::SimulateOptions& options) {
  auto program = plan_collective(request, machine);
  if (!program) return fail_at(Stage::plan, program.error());
  return simulate_program(*std::move(program), machine, options);
}

Outcome<SimulationReport> simulate_program(Program program, const Machine& machine, const sim::SimulateOptions& options,
                                           const VerifyOptions& verify_options, const OnStage& on_stage) {
  const auto verified = proved(std::move(program), machine, verify_options, on_stage);
  if (!verified) return tl::unexpected(verified.error());
  return simulate_verified(*verified, options);
}

Outcome<SimulationReport> simulate_traced(Program program, const Machine& machine, sim::SimulateOptions options,
                                          const VerifyOptions& verify_options, const OnStage& on_stage) {
  const auto verified = proved(std::move(program), machine, verify_options, on_stage);
  if (!verified) return tl::unexpected(verified.error());
  if (machine.power) {
    sim::SimulateOptions times = options;
    times.trace = false;
    times.energy = false;
    auto before = simulate_verified(*verified, times);
    if (!before) return before;
    options.power_samples = power_sample(before->simulated.queue_ends);
  }
  options.trace = true;
  return simulate_verified(*verified, options);
}

Outcome<SimulationReport> simulate_verified(const CheckedProgram& program, const sim::SimulateOptions& options) {
  auto simulated = sim::simulate(program, options);
  if (!simulated) {
    // A stall is the program's own; everything else was refused before the run.
    return fail_at(simulated.error().about == About::strategy ? Stage::run : Stage::prepare, simulated.error());
  }
  return SimulationReport{figures_of(program.program(), simulated->timeline), program, *std::move(simulated)};
}

}  // namespace cortado::pipeline
