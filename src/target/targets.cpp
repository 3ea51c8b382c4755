#include <array>

#include <fmt/format.h>

#include "base/platform.hpp"
#include "base/text.hpp"
#include "device/kfd/kfd.hpp"
#include "device/soft/soft.hpp"
#include "target/make.hpp"

namespace cortado {
namespace {

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
  return sim_target(machine);
}

#if CORTADO_HOSTED
Opened with_enough_gpus(const TargetRequest& request, Result<std::unique_ptr<device::Driver>> driver) {
  if (!driver) return fail(driver.error());
  if (const std::size_t gpus = (*driver)->topology().gpus.size(); gpus < request.gpus) {
    return fail("device.gpus", fmt::format("{} GPUs are needed, but {} has {}", request.gpus, request.name, gpus),
                fmt::format("plan for at most {} ranks, or use --on soft", gpus));
  }
  return device_target(*std::move(driver));
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

Run run_of(const Program& program, Timeline timeline) {
  Run run{.timeline = std::move(timeline), .counts = count(program)};
  run.time = median_time(run.timeline);
  run.energy = energy_of_iteration(run.timeline);
  if (program.contract.products.empty() && program.contract.formula.outputs.empty()) {
    run.bandwidths = bandwidths(program.contract.name, program.ranks, whole_buffer(program), run.time);
  }
  return run;
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
