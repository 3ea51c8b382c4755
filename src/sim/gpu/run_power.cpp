#include "sim/gpu/run_power.hpp"

#include <algorithm>

#include "gemm/gemm.hpp"

namespace cortado::sim {
namespace {

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

void RunPower::begin_product(RankId gpu, double clock_ghz, SimTime now) {
  if (!follows_products()) return;
  if (product_clocks_.empty()) product_clocks_.resize(ranks_);
  product_clocks_[gpu.value].push_back(clock_ghz);
  meter_products(gpu, now);
}

void RunPower::end_product(RankId gpu, double clock_ghz, SimTime now) {
  if (!follows_products()) return;
  auto& clocks = product_clocks_[gpu.value];
  clocks.erase(std::ranges::find(clocks, clock_ghz));
  meter_products(gpu, now);
}

bool RunPower::follows_products() const {
  return meter_ && !managed() && machine_.power->xcd;
}

void RunPower::meter_products(RankId gpu, SimTime now) {
  Clocks clocks = nominal_clocks(*machine_.power);
  for (const double ghz : product_clocks_[gpu.value]) clocks.xcd = std::min(clocks.xcd, ghz);
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
