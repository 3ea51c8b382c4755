#include "sim/power/meter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cortado::sim {

PowerMeter::PowerMeter(const Power& power, std::uint32_t gpus, std::optional<SimTime> sample)
    : power_(power), sample_(sample), gpus_(gpus) {
  CORTADO_CHECK(!sample || sample->picoseconds > 0, "samples take time");
  const Clocks clocks = nominal_clocks(power);
  const PartScales scales = part_scales(power, clocks);
  for (Gpu& gpu : gpus_) {
    gpu.clocks = clocks;
    gpu.scales = scales;
    gpu.sample_end = sample.value_or(SimTime::never());
    if (power.xcd) change(gpu, EnergyPart::xcd_idle, power.xcd->idle_w, 0);
    if (power.iod) change(gpu, EnergyPart::iod_idle, power.iod->idle_w, 0);
    if (power.hbm) change(gpu, EnergyPart::hbm_idle, power.hbm->idle_w, 0);
    change(gpu, EnergyPart::rest_idle, power.rest_idle_w, 0);
  }
}

void PowerMeter::change(Gpu& gpu, EnergyPart part, double watts, double seconds) {
  Sums& sums = gpu.sums[static_cast<std::size_t>(part)];
  sums.watts += watts;
  sums.moment += watts * seconds;
}

PowerMeter::Parts PowerMeter::spent(const Gpu& gpu, double seconds) {
  Parts joules = gpu.joules;
  for (std::size_t i = 0; i < kParts; ++i) {
    joules[i] += (gpu.sums[i].watts * seconds - gpu.sums[i].moment) * gpu.scales[i];
  }
  return joules;
}

void PowerMeter::take_up(Gpu& gpu, double seconds) {
  gpu.joules = spent(gpu, seconds);
  for (Sums& sums : gpu.sums) sums.moment = sums.watts * seconds;
}

void PowerMeter::end_samples(Gpu& gpu, SimTime now) {
  while (gpu.sample_end <= now) {
    end_sample(gpu, gpu.sample_end, to_seconds(*sample_));
    gpu.sample_end = gpu.sample_end + *sample_;
  }
}

void PowerMeter::end_sample(Gpu& gpu, SimTime at, double seconds) {
  const Parts joules = spent(gpu, to_seconds(at));
  std::array<double, kComponents.size()> since{};  // there are many samples: one pass over the parts
  for (std::size_t i = 0; i < kParts; ++i) {
    since[static_cast<std::size_t>(kEnergyParts[i].component)] += joules[i] - gpu.sample_start[i];
  }
  const auto of = [&](Component component) -> double& { return since[static_cast<std::size_t>(component)]; };
  of(Component::rest) += power_.loss * (of(Component::xcd) + of(Component::iod) + of(Component::hbm));
  auto& sample = gpu.samples.emplace_back();
  for (std::size_t i = 0; i < since.size(); ++i) sample[i] = static_cast<float>(since[i] / seconds);
  gpu.sample_start = joules;
}

/// Regulators lose a share of what they deliver.
Energy PowerMeter::with_loss(const Parts& parts) const {
  Energy energy{parts};
  energy[EnergyPart::rest_loss] =
      power_.loss * (energy.of(Component::xcd) + energy.of(Component::iod) + energy.of(Component::hbm));
  return energy;
}

void PowerMeter::begin_flow(FlowId id, std::span<const Draw> draws, SimTime now) {
  if (id.value >= flows_.size()) flows_.resize(id.value + std::size_t{1});
  Flow& flow = flows_[id.value];
  flow.pulls.clear();
  flow.pulls.reserve(draws.size());
  flow.rate = 0;
  for (const Draw& draw : draws) {
    Gpu& gpu = gpus_[draw.gpu];
    flow.pulls.push_back({&gpu.sums[static_cast<std::size_t>(draw.part)], draw.joules, draw.gpu});
    if (gpu.draws++ > 0) continue;
    end_samples(gpu, now);
    if (gpu.units == 0) wake(gpu, +1, false, true, to_seconds(now));
  }
}

void PowerMeter::set_rate(FlowId id, double rate, SimTime now) {
  Flow& flow = flows_[id.value];
  if (sample_) end_samples(flow, now);
  const double more = rate - flow.rate;
  const double seconds = to_seconds(now);
  flow.rate = rate;
  for (const Pull& pull : flow.pulls) {
    const double watts = more * pull.joules;
    pull.sums->watts += watts;
    pull.sums->moment += watts * seconds;
  }
}

void PowerMeter::end_flow(FlowId id, double rest, SimTime now) {
  const Flow& flow = flows_[id.value];
  if (sample_) end_samples(flow, now);
  const double seconds = to_seconds(now);
  for (const Pull& pull : flow.pulls) {
    const double watts = flow.rate * pull.joules;
    pull.sums->watts -= watts;
    pull.sums->moment -= watts * seconds + rest * pull.joules;
    Gpu& gpu = gpus_[pull.gpu];
    if (--gpu.draws == 0) rest_of_work(gpu, seconds);
  }
}

/// Rates were added and subtracted: what remains of them is rounding error.
void PowerMeter::rest_of_work(Gpu& gpu, double seconds) {
  take_up(gpu, seconds);
  for (std::size_t part = 0; part < kParts; ++part) {
    if (kFollowsWork[part]) gpu.sums[part] = {};
  }
  if (gpu.units == 0) wake(gpu, -1, false, true, seconds);
}

void PowerMeter::end_samples(const Flow& flow, SimTime now) {
  for (const Pull& pull : flow.pulls) end_samples(gpus_[pull.gpu], now);
}

void PowerMeter::spend(std::uint32_t gpu, EnergyPart part, double joules, SimTime now) {
  end_samples(gpus_[gpu], now);
  gpus_[gpu].sums[static_cast<std::size_t>(part)].moment -= joules;
}

void PowerMeter::hold_units(std::uint32_t index, std::int64_t more, SimTime now) {
  if (more == 0) return;
  Gpu& gpu = gpus_[index];
  const double seconds = to_seconds(now);
  end_samples(gpu, now);
  const bool before = gpu.units > 0;
  gpu.units += more;
  change(gpu, EnergyPart::xcd_units, static_cast<double>(more) * power_.unit_w, seconds);
  if (before != (gpu.units > 0)) wake(gpu, before ? -1 : 1, true, gpu.draws == 0, seconds);
}

void PowerMeter::poll(std::uint32_t gpu, std::int64_t more, SimTime now) {
  end_samples(gpus_[gpu], now);
  change(gpus_[gpu], EnergyPart::iod_polling, static_cast<double>(more) * power_.polling_w, to_seconds(now));
}

bool PowerMeter::awake(std::uint32_t gpu, Component component) const {
  const Gpu& of = gpus_[gpu];
  return of.units > 0 || (component != Component::xcd && of.draws > 0);
}

/// `compute`: the compute dies wake or fall asleep; `rest`: the other components do.
void PowerMeter::wake(Gpu& gpu, double sign, bool compute, bool rest, double seconds) {
  const auto of = [&](const std::optional<ComponentPower>& component, EnergyPart leakage, EnergyPart clock) {
    if (!component) return;
    change(gpu, leakage, sign * component->leakage_w, seconds);
    change(gpu, clock, sign * component->clock_w, seconds);
  };
  if (compute) of(power_.xcd, EnergyPart::xcd_leakage, EnergyPart::xcd_clock);
  if (!rest) return;
  of(power_.iod, EnergyPart::iod_leakage, EnergyPart::iod_clock);
  of(power_.hbm, EnergyPart::hbm_leakage, EnergyPart::hbm_clock);
}

void PowerMeter::set_clocks(std::uint32_t index, const Clocks& clocks, SimTime now) {
  Gpu& gpu = gpus_[index];
  if (gpu.clocks == clocks) return;
  end_samples(gpu, now);
  take_up(gpu, to_seconds(now));
  gpu.clocks = clocks;
  gpu.scales = part_scales(power_, clocks);
}

Energy PowerMeter::watts(std::uint32_t gpu) const {
  const Gpu& of = gpus_[gpu];
  Parts parts{};
  for (std::size_t i = 0; i < kParts; ++i) parts[i] = of.sums[i].watts * of.scales[i];
  return with_loss(parts);
}

Energy PowerMeter::joules(std::uint32_t gpu, SimTime now) const {
  return with_loss(spent(gpus_[gpu], to_seconds(now)));
}

Energy PowerMeter::joules(SimTime now) const {
  Parts all{};
  for (const Gpu& gpu : gpus_) {
    const Parts parts = spent(gpu, to_seconds(now));
    for (std::size_t i = 0; i < kParts; ++i) all[i] += parts[i];
  }
  return with_loss(all);
}

std::vector<Counter> PowerMeter::counters(SimTime now) {
  std::vector<Counter> counters;
  if (!sample_) return counters;
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    Gpu& gpu = gpus_[g];
    end_samples(gpu, now);
    const SimTime begun{gpu.sample_end.picoseconds - sample_->picoseconds};
    if (now > begun) end_sample(gpu, now, to_seconds(now - begun));
    for (std::size_t c = 0; c < kComponents.size(); ++c) {
      Counter& counter = counters.emplace_back();
      counter.name = fmt::format("gpu {} {}", g, kComponentNames[c]);
      counter.unit = "W";
      counter.rank = RankId{static_cast<std::uint32_t>(g)};
      SimTime at{};
      for (const auto& sample : gpu.samples) {
        counter.samples.push_back({to_nanoseconds(at), sample[c]});
        at = at + *sample_;
      }
    }
  }
  return counters;
}

}  // namespace cortado::sim
