#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/platform.hpp"
#include "base/text.hpp"
#include "device/driver/driver.hpp"
#include "device/executor/executor.hpp"
#include "device/kfd/kfd.hpp"
#include "device/soft/soft.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado {
namespace {

/// What follows from the program and its timeline.
Run run_of(const Program& program, Timeline timeline) {
  Run run{.timeline = std::move(timeline), .counts = count(program)};
  run.time = median_time(run.timeline);
  run.energy = energy_of_iteration(run.timeline);
  if (program.contract.products.empty() && program.contract.formula.outputs.empty()) {
    run.bandwidths = bandwidths(program.contract.name, program.ranks, whole_buffer(program), run.time);
  }
  return run;
}

// --- The simulator ---------------------------------------------------------------------------------------------------

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

// --- Opening targets -------------------------------------------------------------------------------------------------

using Opened = Result<std::unique_ptr<Target>>;

bool has_soft_options(const TargetRequest& request) {
  return request.soft.workers || request.soft.adversarial_seed || !request.soft.faults.empty();
}

Unexpected<Diagnostic> soft_only() {
  return fail("device.option", "workers, adversarial order and injected faults only exist on the embedded node",
              "drop them, or use --on soft");
}

Opened open_sim(const TargetRequest& request, const Machine& machine) {
  if (has_soft_options(request)) return soft_only();
  CORTADO_RETURN_IF_ERROR(sim::check_timing(machine));
  return std::make_unique<SimTarget>(machine.name);
}

#if CORTADO_HOSTED
class DeviceTarget : public Target {
 public:
  explicit DeviceTarget(std::unique_ptr<device::Driver> driver) : driver_(std::move(driver)) {}

  bool predicts() const override { return false; }
  std::string where() const override { return driver_->topology().node; }
  device::Driver* driver() override { return driver_.get(); }

  Outcome<Run> run(const VerifiedProgram& program, const RunOptions& options) override {
    if (options.on_stage) options.on_stage(Stage::prepare);
    auto prepared = device::PreparedProgram::prepare(program, *driver_, {.trace = options.trace});
    if (!prepared) return fail_at(Stage::prepare, prepared.error());
    if (options.on_stage) options.on_stage(Stage::run);
    device::RunOptions asked = options.device;
    if (options.warmup > 0) {
      device::RunOptions warmup = asked;
      warmup.iterations = options.warmup;
      warmup.check = device::CheckOutputs::none;
      if (const auto warmed = prepared->run(warmup); !warmed) return fail_at(Stage::run, warmed.error());
    }
    asked.iterations = options.iterations;
    auto result = prepared->run(asked);
    if (!result) return fail_at(Stage::run, result.error());
    Run run = run_of(program.program(), std::move(result->timeline));
    run.check = ByteCheck{result->wrong_bytes, result->checked_bytes, std::move(result->first_wrong)};
    if (!program.program().trackers.empty()) {
      run.tracker_entries_peak = static_cast<std::uint32_t>(result->tracker_entries_peak);
    }
    return run;
  }

 private:
  std::unique_ptr<device::Driver> driver_;
};

Opened with_enough_gpus(const TargetRequest& request, Result<std::unique_ptr<device::Driver>> driver) {
  if (!driver) return fail(driver.error());
  if (const std::size_t gpus = (*driver)->topology().gpus.size(); gpus < request.gpus) {
    return fail("device.gpus", fmt::format("{} GPUs are needed, but {} has {}", request.gpus, request.name, gpus),
                fmt::format("plan for at most {} ranks, or use --on soft", gpus));
  }
  return std::make_unique<DeviceTarget>(*std::move(driver));
}

Opened open_soft(const TargetRequest& request, const Machine& machine) {
  const std::uint32_t gpus = request.gpus > 0 ? request.gpus : machine.gpus;
  return with_enough_gpus(request, device::open_soft_node(machine, gpus, request.soft));
}

Opened open_kfd(const TargetRequest& request, const Machine&) {
  if (has_soft_options(request)) return soft_only();
  return with_enough_gpus(request, device::open_kfd_node());
}
#endif

struct Entry {
  TargetInfo info;
  Opened (*open)(const TargetRequest&, const Machine&);
};

constexpr std::array kTargets {
  Entry{{kSimulator, "the simulator: predicted times of the modelled machine"}, open_sim},
#if CORTADO_HOSTED
      Entry{{"soft", "the embedded node: software DMA engines that execute the real packets on real memory"},
            open_soft},
      Entry{{"kfd", "the AMD GPUs of this computer, through /dev/kfd"}, open_kfd},
#endif
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

std::vector<TargetInfo> list_targets() {
  std::vector<TargetInfo> infos;
  for (const Entry& entry : kTargets) infos.push_back(entry.info);
  return infos;
}

Opened open_target(const TargetRequest& request, const Machine& machine) {
  std::vector<std::string> names;
  for (const Entry& entry : kTargets) {
    if (entry.info.name == request.name) return entry.open(request, machine);
    names.emplace_back(entry.info.name);
  }
  return fail("target.unknown", fmt::format("unknown target '{}'", request.name),
              fmt::format("targets: {}", join(names)));
}

Outcome<VerifiedProgram> prove(Result<Program> program, const Machine& machine, const OnStage& on_stage) {
  if (!program) return fail_at(Stage::plan, program.error());
  if (on_stage) on_stage(Stage::verify);
  auto verified = verify(*std::move(program), machine);
  if (!verified) return fail_at(Stage::verify, verified.error());
  return *std::move(verified);
}

Outcome<Run> run_on(Target& target, Result<Program> program, const Machine& machine, const RunOptions& options) {
  const auto verified = prove(std::move(program), machine, options.on_stage);
  if (!verified) return fail(verified.error());
  return target.run(*verified, options);
}

Outcome<Run> predict(Result<Program> program, const Machine& machine, const RunOptions& options) {
  return run_on(*simulator(), std::move(program), machine, options);
}

}  // namespace cortado
