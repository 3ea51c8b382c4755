#include "sim/gpu/run_power.hpp"

#include <algorithm>

#include "cortado/gemm/gemm.hpp"

namespace cortado::sim {
namespace {

constexpr std::array<DType, 4> kTypes{DType::f32, DType::f16, DType::bf16, DType::f8};

std::optional<SimTime> sample_of(const SimulateOptions& options) {
  if (!options.power_samples) return std::nullopt;
  return to_sim_time(*options.power_samples);
}

}  // namespace

RunPower::RunPower(const CheckedProgram& program, const SimulateOptions& options)
    : machine_(program.machine()), ranks_(program.program().ranks) {
  if (!options.manage && !(options.energy && machine_.power)) return;
  meter_.emplace(*machine_.power, ranks_, sample_of(options));
  energy_.emplace(*machine_.power, *meter_);
  iterations_.emplace(program.program(), options.iterations);
  if (!options.manage) return;
  manager_.emplace(*options.manage, *machine_.power, ranks_, *meter_, options.power_samples.has_value());
}

double RunPower::xcd_clock(RankId gpu, DType dtype) const {
  return managed() ? clocks(gpu).xcd : sustained_clock_ghz(dtype, machine_);
}

double RunPower::unit_speed(RankId gpu) const {
  return managed() ? clocks(gpu).xcd / machine_.power->xcd->nominal_ghz : 1;
}

double RunPower::copy_speed(RankId gpu) const {
  const double share = managed() ? machine_.power->copy_clock_share : 0;
  return 1 / (1 - share + share / unit_speed(gpu));
}

SimTime RunPower::by_units(RankId gpu, Nanoseconds time) const {
  if (!managed()) return to_sim_time(time);
  return sim_time_from_seconds(static_cast<double>(time.value) * 1e-9 / unit_speed(gpu));
}

void RunPower::count_products(RankId gpu, DType dtype, std::int32_t more, SimTime now) {
  if (!meter_ || managed() || !machine_.power->xcd) return;
  if (product_types_.empty()) product_types_.resize(ranks_);
  auto& types = product_types_[gpu.value];
  const auto type = std::ranges::find(kTypes, dtype);
  types[static_cast<std::size_t>(type - kTypes.begin())] += static_cast<std::uint32_t>(more);
  Clocks clocks = nominal_clocks(*machine_.power);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] > 0) clocks.xcd = std::min(clocks.xcd, sustained_clock_ghz(kTypes[i], machine_));
  }
  meter_->set_clocks(gpu.value, clocks, now);
}

void RunPower::note(IterationEnergy::Moment moment, std::uint32_t iteration, SimTime now) {
  if (!meter_ || !iterations_->at(moment, iteration)) return;
  iterations_->keep(moment, iteration, meter_->joules(now));
}

void RunPower::report(SimTime end, Simulated& result) {
  if (!meter_) return;
  Timeline& timeline = result.timeline;
  timeline.energy = EnergyUse{.energy = meter_->joules(end), .seconds = to_seconds(end), .gpus = ranks_};
  timeline.iteration_energies = std::move(*iterations_).finish();
  timeline.counters = meter_->counters(end);
  if (!managed()) return;
  result.clocks = manager_->summary(end);
  const std::vector<Counter> clocks = manager_->counters();
  timeline.counters.insert(timeline.counters.end(), clocks.begin(), clocks.end());
}

}  // namespace cortado::sim
