#include "sim/power/meter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/check.hpp"

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
    if (power.xcd) nominal(gpu, EnergyPart::xcd_idle) = power.xcd->idle_w;
    if (power.iod) nominal(gpu, EnergyPart::iod_idle) = power.iod->idle_w;
    if (power.hbm) nominal(gpu, EnergyPart::hbm_idle) = power.hbm->idle_w;
    nominal(gpu, EnergyPart::rest_idle) = power.rest_idle_w;
  }
}

void PowerMeter::integrate(Gpu& gpu, SimTime now) {
  const double seconds = to_seconds(now - gpu.since);
  for (std::size_t i = 0; i < kParts; ++i) gpu.joules[i] += gpu.nominal[i] * gpu.scales[i] * seconds;
  gpu.since = now;
}

void PowerMeter::pass_time(Gpu& gpu, SimTime now) {
  if (gpu.since == now) return;
  while (gpu.sample_end <= now) {
    integrate(gpu, gpu.sample_end);
    end_sample(gpu, to_seconds(*sample_));
    gpu.sample_end = gpu.sample_end + *sample_;
  }
  integrate(gpu, now);
}

void PowerMeter::end_sample(Gpu& gpu, double seconds) {
  std::array<double, kParts> spent{};
  for (std::size_t i = 0; i < kParts; ++i) spent[i] = gpu.joules[i] - gpu.sample_start[i];
  const Energy energy = with_loss(spent);
  auto& sample = gpu.samples.emplace_back();
  for (std::size_t i = 0; i < kComponents.size(); ++i) {
    sample[i] = static_cast<float>(energy.of(kComponents[i]) / seconds);
  }
  gpu.sample_start = gpu.joules;
}

/// Regulators lose a share of what they deliver.
Energy PowerMeter::with_loss(const std::array<double, kParts>& parts) const {
  Energy energy{parts};
  energy[EnergyPart::rest_loss] =
      power_.loss * (energy.of(Component::xcd) + energy.of(Component::iod) + energy.of(Component::hbm));
  return energy;
}

void PowerMeter::begin_flow(FlowId id, std::span<const Draw> draws, SimTime now) {
  if (id.value >= flows_.size()) flows_.resize(id.value + std::size_t{1});
  Flow& flow = flows_[id.value];
  flow.draws.assign(draws.begin(), draws.end());
  flow.rate = 0;
  for (const Draw& draw : draws) pass_time(gpus_[draw.gpu], now);
  count_flow(flow, +1);
}

void PowerMeter::set_rate(FlowId id, double rate, SimTime now) {
  Flow& flow = flows_[id.value];
  const double more = rate - flow.rate;
  flow.rate = rate;
  for (const Draw& draw : flow.draws) {
    Gpu& gpu = gpus_[draw.gpu];
    pass_time(gpu, now);
    nominal(gpu, draw.part) += more * draw.joules;
  }
}

void PowerMeter::end_flow(FlowId id, double rest, SimTime now) {
  Flow& flow = flows_[id.value];
  for (const Draw& draw : flow.draws) {
    Gpu& gpu = gpus_[draw.gpu];
    pass_time(gpu, now);
    const auto part = static_cast<std::size_t>(draw.part);
    gpu.nominal[part] -= flow.rate * draw.joules;
    gpu.joules[part] += rest * draw.joules * gpu.scales[part];
  }
  count_flow(flow, -1);
}

void PowerMeter::count_flow(const Flow& flow, std::int64_t more) {
  for (std::size_t i = 0; i < flow.draws.size(); ++i) {
    const std::uint32_t gpu = flow.draws[i].gpu;
    const auto before = flow.draws.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(flow.draws.begin(), before, [gpu](const Draw& draw) { return draw.gpu == gpu; })) continue;
    Gpu& of = gpus_[gpu];
    of.flows += more;
    // Rates were added and taken away: what is left of them is rounding.
    if (of.flows == 0) {
      for (std::size_t part = 0; part < kParts; ++part) {
        if (follows_work(static_cast<EnergyPart>(part))) of.nominal[part] = 0;
      }
    }
    set_awake(of);
  }
}

void PowerMeter::spend(std::uint32_t gpu, EnergyPart part, double joules, SimTime now) {
  Gpu& of = gpus_[gpu];
  pass_time(of, now);
  of.joules[static_cast<std::size_t>(part)] += joules * of.scales[static_cast<std::size_t>(part)];
}

void PowerMeter::hold_units(std::uint32_t gpu, std::int64_t more, SimTime now) {
  if (more == 0) return;
  Gpu& of = gpus_[gpu];
  pass_time(of, now);
  of.units += more;
  nominal(of, EnergyPart::xcd_units) = static_cast<double>(of.units) * power_.unit_w;
  set_awake(of);
}

void PowerMeter::poll(std::uint32_t gpu, std::int64_t more, SimTime now) {
  Gpu& of = gpus_[gpu];
  pass_time(of, now);
  of.polling += more;
  nominal(of, EnergyPart::iod_polling) = static_cast<double>(of.polling) * power_.polling_w;
}

bool PowerMeter::awake(std::uint32_t gpu, Component component) const {
  const Gpu& of = gpus_[gpu];
  return of.units > 0 || (component != Component::xcd && of.flows > 0);
}

void PowerMeter::set_awake(Gpu& gpu) {
  const bool compute = gpu.units > 0;
  const bool any = compute || gpu.flows > 0;
  const auto wake = [&](const std::optional<ComponentPower>& component, bool awake, EnergyPart leakage,
                        EnergyPart clock) {
    if (!component) return;
    nominal(gpu, leakage) = awake ? component->leakage_w : 0;
    nominal(gpu, clock) = awake ? component->clock_w : 0;
  };
  wake(power_.xcd, compute, EnergyPart::xcd_leakage, EnergyPart::xcd_clock);
  wake(power_.iod, any, EnergyPart::iod_leakage, EnergyPart::iod_clock);
  wake(power_.hbm, any, EnergyPart::hbm_leakage, EnergyPart::hbm_clock);
}

void PowerMeter::set_clocks(std::uint32_t gpu, const Clocks& clocks, SimTime now) {
  Gpu& of = gpus_[gpu];
  if (of.clocks == clocks) return;
  pass_time(of, now);
  of.clocks = clocks;
  of.scales = part_scales(power_, clocks);
}

Energy PowerMeter::watts(std::uint32_t gpu) const {
  const Gpu& of = gpus_[gpu];
  std::array<double, kParts> parts{};
  for (std::size_t i = 0; i < kParts; ++i) parts[i] = of.nominal[i] * of.scales[i];
  return with_loss(parts);
}

Energy PowerMeter::joules(std::uint32_t gpu, SimTime now) {
  pass_time(gpus_[gpu], now);
  return with_loss(gpus_[gpu].joules);
}

Energy PowerMeter::joules(SimTime now) {
  std::array<double, kParts> all{};
  for (Gpu& gpu : gpus_) {
    pass_time(gpu, now);
    for (std::size_t i = 0; i < kParts; ++i) all[i] += gpu.joules[i];
  }
  return with_loss(all);
}

std::vector<Counter> PowerMeter::counters(SimTime now) {
  std::vector<Counter> counters;
  if (!sample_) return counters;
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    Gpu& gpu = gpus_[g];
    pass_time(gpu, now);
    const SimTime begun{gpu.sample_end.picoseconds - sample_->picoseconds};
    if (now > begun) end_sample(gpu, to_seconds(now - begun));
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
