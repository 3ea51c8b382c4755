// A step under power-management policies: each of its blocks as one program (block_program.hpp), repeated until its
// clocks have settled, and the step composed of these times and joules.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/model/block_program.hpp"
#include "pipeline/parallel.hpp"
#include "pipeline/power/settled.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::uint32_t kLeastLayers = 4;

/// Joules of a GPU that idles for this many seconds.
Energy idle_energy(const Power& power, double seconds) {
  Energy idle;
  double clocked = 0;
  const auto add = [&](EnergyPart part, const std::optional<ComponentPower>& component) {
    if (!component) return;
    idle[part] = component->idle_w * seconds;
    clocked += component->idle_w * seconds;
  };
  add(EnergyPart::xcd_idle, power.xcd);
  add(EnergyPart::iod_idle, power.iod);
  add(EnergyPart::hbm_idle, power.hbm);
  idle[EnergyPart::rest_idle] = power.rest_idle_w * seconds;
  idle[EnergyPart::rest_loss] = power.loss * clocked;
  return idle;
}

/// Of one GPU.
struct Drawn {
  double seconds = 0;
  Energy energy{};
  std::array<double, 3> cycles{};  // by component: gigahertz times seconds

  void add(const Drawn& more, double times) {
    seconds += more.seconds * times;
    energy += more.energy * times;
    for (std::size_t i = 0; i < cycles.size(); ++i) cycles[i] += more.cycles[i] * times;
  }
};

/// A block of one of the steps as a program, and how often it occurs.
struct ManagedBlock {
  BlockProgram program;
  double times = 0;
  double in_bubble = 0;  ///< how often a stage waits while others execute it
  double waits = 0;      ///< idle seconds of one that are not part of the program
};

Outcome<Drawn> managed(const ManagedBlock& block, const Machine& machine, const sim::PowerManagement& management) {
  const auto once = simulate_block(block.program, machine, {.sim = {.energy = false}});
  if (!once) return fail(once.error());
  RunOptions options{.iterations = settled_iterations(to_seconds(once->time), *machine.power, kLeastLayers)};
  options.sim.manage = management;
  const auto run = simulate_block(block.program, machine, options);
  if (!run) return fail(run.error());
  const EnergyUse use = settled_use(run->timeline);
  Drawn drawn{use.seconds, use.energy * (1.0 / use.gpus)};
  for (std::size_t i = 0; i < drawn.cycles.size(); ++i) {
    drawn.cycles[i] = run->predicted->clocks->mean_ghz[i] * use.seconds;
  }
  const double idle = block.program.gaps + block.waits;
  drawn.seconds += idle;
  drawn.energy += idle_energy(*machine.power, idle);
  for (std::size_t i = 0; i < drawn.cycles.size(); ++i) {
    drawn.cycles[i] += run->predicted->clocks->mean_ghz[i] * idle;
  }
  return drawn;
}

}  // namespace

Outcome<std::vector<PolicyRow>> ModelStudy::run_policies(const ModelReport& report, const std::string& system,
                                                         const ModelPower& power, const ModelOptions& options) {
  std::vector<sim::PowerManagement> managements;
  for (const sim::PowerPolicy* policy : power.policies) {
    sim::PowerManagement one{.policy = policy};
    if (policy->has_limit) one.limit_w = power.limit_w;
    if (const Status possible = sim::check_power_management(one, machine_); !possible) {
      return fail_at(Stage::plan, possible.error());
    }
    managements.push_back(one);
  }
  std::vector<ManagedBlock> blocks;
  for (const auto& [part, steps] : steps_of(report.request)) {
    const Step step = step_of(part.model, part.layout, part.phase);
    for (const Block& block : step.blocks) {
      auto costed = cost_block(block, part.layout, !part.phase.trains(), *costs_);
      if (!costed) return fail(costed.error());
      auto program = plan_block(*costed, system, part.layout, *costs_);
      if (!program) return fail(program.error());
      const BlockTime time = block_time(*costed, system);
      const double passes = (block.once ? 1 : step.micro_batches) * steps;
      const double in_bubble = block.once ? 0 : block.times * step.bubble * steps;
      blocks.push_back({*std::move(program), block.times * passes, in_bubble, time.ends / block.times});
    }
  }
  std::vector<Outcome<Drawn>> drawn(blocks.size() * managements.size(), Drawn{});
  const bool all = for_each_in_parallel(
      drawn.size(), options.threads,
      [&](std::size_t i) {
        drawn[i] = managed(blocks[i % blocks.size()], costs_->roomy(), managements[i / blocks.size()]);
      },
      [&](std::size_t done) { return !options.progress || options.progress(done, drawn.size()); });
  if (!all) return fail_at(Stage::run, {"model.interrupted", "interrupted before it was finished", ""});
  std::vector<PolicyRow> rows;
  for (std::size_t p = 0; p < managements.size(); ++p) {
    Drawn whole;
    double bubble = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto& one = drawn[p * blocks.size() + b];
      if (!one) return fail(one.error());
      whole.add(*one, blocks[b].times);
      bubble += one->seconds * blocks[b].in_bubble;
    }
    PolicyRow row{.policy = std::string(managements[p].policy->name)};
    for (std::size_t i = 0; i < whole.cycles.size(); ++i) row.clocks_ghz[i] = whole.cycles[i] / whole.seconds;
    row.seconds = whole.seconds + bubble;
    whole.energy += idle_energy(*machine_.power, bubble);
    row.joules = whole.energy.total() * report.gpus;
    row.tokens_per_second = report.tokens / row.seconds;
    row.joules_per_token = row.joules / report.tokens;
    for (std::size_t i = 0; i < kComponents.size(); ++i) {
      row.watts[i] = whole.energy.of(kComponents[i]) / row.seconds;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cortado::pipeline
