// The power policies.
#include "sim/power/policies.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::sim {

double clock_for(const Power& power, Component component, double ghz, double highest) {
  const ComponentPower* described = power.component(component);
  if (described == nullptr) return 0;
  // A clock that is a whole number of steps up to rounding counts as that number.
  const double steps = std::ceil(ghz / power.clock_step_ghz - 1e-6);
  return std::clamp(steps * power.clock_step_ghz, described->curve.lowest(),
                    std::min(highest, described->curve.highest()));
}

double highest_xcd(const GpuActivity& activity, const PolicyInputs& inputs, Clocks clocks, double highest) {
  const double lowest = inputs.power.xcd->curve.lowest();
  const double step = inputs.power.clock_step_ghz;
  const auto clock = [&](std::int64_t steps) {
    return clock_for(inputs.power, Component::xcd, lowest + static_cast<double>(steps) * step, highest);
  };
  PredictedDraw draw(activity);
  // A higher clock never draws less, so bisect for the last one that fits.
  std::int64_t fits = -1;
  auto most = static_cast<std::int64_t>(std::ceil((highest - lowest) / step - 1e-6));
  while (fits < most) {
    const std::int64_t middle = fits + (most - fits + 1) / 2;
    clocks.xcd = clock(middle);
    if (draw.watts_at(clocks) <= inputs.cap_w) {
      fits = middle;
    } else {
      most = middle - 1;
    }
  }
  return fits < 0 ? 0 : clock(fits);
}

Clocks decide(const PowerPolicy& policy, const GpuActivity& activity, const PolicyInputs& inputs) {
  return activity.idle() ? nominal_clocks(inputs.power) : policy.decide(activity, inputs);
}

/// none: the board under its cap, as its firmware controls it without knowing what runs. The clock of the compute dies
/// is the highest at which the GPU keeps within the cap; all others stay nominal. If even the lowest clock of the
/// compute dies draws too much, the others are lowered too, together.
Clocks decide_as_board(const GpuActivity& activity, const PolicyInputs& inputs) {
  const Power& power = inputs.power;
  Clocks clocks = nominal_clocks(power);
  clocks.xcd = highest_xcd(activity, inputs, clocks, power.xcd->nominal_ghz);
  constexpr int kSteps = 64;  // from nominal to the lowest clocks of the others
  for (int step = 1; clocks.xcd == 0 && step <= kSteps; ++step) {
    for (const Component component : {Component::iod, Component::hbm}) {
      const ComponentPower* described = power.component(component);
      if (described == nullptr) continue;
      const double down = (described->nominal_ghz - described->curve.lowest()) * step / kSteps;
      clocks.set(component, clock_for(power, component, described->nominal_ghz - down, described->nominal_ghz));
    }
    clocks.xcd = highest_xcd(activity, inputs, clocks, power.xcd->curve.lowest());
  }
  if (clocks.xcd == 0) clocks.xcd = power.xcd->curve.lowest();
  return clocks;
}

const PowerPolicy kNoPowerPolicy{
    .name = "none", .summary = "only the board's cap: the highest xcd clock that it allows", .decide = decide_as_board};

namespace {

/// uniform-cap: one limit for the whole GPU, lower than the cap of the board and enforced in the same way, whatever
/// runs.
constexpr PowerPolicy kUniformCap{.name = "uniform-cap",
                                  .summary = "like none, but with a lower limit for the whole GPU (--limit)",
                                  .has_limit = true,
                                  .decide = decide_as_board};

constexpr std::array kMovedToday{Component::xcd};  // by software

/// component-cap: the pace is what the board alone would give (none); components that do not set the pace get the clock
/// that the work needs at that pace, and the power that they no longer draw is saved.
Clocks decide_component_cap(const GpuActivity& activity, const PolicyInputs& inputs) {
  const Clocks board = decide_as_board(activity, inputs);
  const double speed = activity.speed_at(board);
  Clocks clocks = board;
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (activity.needed[i] <= 0 || !inputs.moves[i] || activity.keeps_clock(kClocked[i])) continue;
    const double need = activity.needed[i] * speed * (1 + inputs.headroom);
    clocks.set(kClocked[i], clock_for(inputs.power, kClocked[i], need, board.of(kClocked[i])));
  }
  return clocks;
}

constexpr PowerPolicy kComponentCap{
    .name = "component-cap",
    .summary = "clocks down components that are not the bottleneck: xcd, or those of --components",
    .components = kMovedToday,
    .decide = decide_component_cap};

/// component-shift: moves power from components that would wait to those that the work waits for. Among all clocks of
/// the I/O dies, each with the highest clock of the compute dies that keeps within the cap, it takes the pair at which
/// the work is fastest, and then gives every component no more than that pace needs.
class Shift {
 public:
  Shift(const GpuActivity& activity, const PolicyInputs& inputs) : activity_(activity), inputs_(inputs) {}

  Clocks best() const {
    Clocks best = decide_as_board(activity_, inputs_);
    double fastest = activity_.speed_at(best);
    const Clocks board = best;
    for (int i = 0; i <= kChoices; ++i) {
      Clocks clocks = board;
      set(clocks, Component::iod, between(Component::iod, static_cast<double>(i) / kChoices));
      if (!activity_.contended(Component::hbm)) {
        set(clocks, Component::hbm, needed(Component::hbm, fastest * kMoreThanBoard));
      }
      clocks.xcd = highest_xcd(activity_, inputs_, clocks, described(Component::xcd)->curve.highest());
      const double speed = activity_.speed_at(clocks);
      // A gain of less than one step of a clock is not worth the power.
      if (clocks.xcd == 0 || speed <= fastest * (1 + 1e-4)) continue;
      fastest = speed;
      best = clocks;
    }
    return trimmed(best, fastest);
  }

 private:
  static constexpr int kChoices = 32;
  static constexpr double kMoreThanBoard = 1.1;  // the memory is clocked for this many times what the board reaches

  static std::size_t index(Component component) { return static_cast<std::size_t>(component); }
  const ComponentPower* described(Component component) const { return inputs_.power.component(component); }

  void set(Clocks& clocks, Component component, double ghz) const {
    if (!inputs_.moves[index(component)] || described(component) == nullptr ||
        activity_.needed[index(component)] <= 0) {
      return;
    }
    clocks.set(component, clock_for(inputs_.power, component, ghz, described(component)->curve.highest()));
  }

  double between(Component component, double share) const {
    if (described(component) == nullptr) return 0;
    const VoltageCurve& curve = described(component)->curve;
    return curve.lowest() + share * (curve.highest() - curve.lowest());
  }

  double needed(Component component, double pace) const {
    return activity_.needed[index(component)] * pace * (1 + inputs_.headroom);
  }

  /// Lowers each clock to what that pace needs. Contended components keep theirs: there, a higher clock means more work
  /// done.
  Clocks trimmed(Clocks clocks, double pace) const {
    for (const Component component : kClocked) {
      if (activity_.keeps_clock(component) || activity_.bounds[index(component)]) continue;
      const double enough = needed(component, pace);
      if (enough < clocks.of(component)) set(clocks, component, enough);
    }
    return clocks;
  }

  const GpuActivity& activity_;
  const PolicyInputs& inputs_;
};

constexpr PowerPolicy kComponentShift{
    .name = "component-shift",
    .summary = "shifts power from components that are not the bottleneck to the one that is",
    .components = kClocked,
    .decide = [](const GpuActivity& activity, const PolicyInputs& inputs) { return Shift(activity, inputs).best(); }};

}  // namespace

std::span<const PowerPolicy* const> power_policies() {
  static constexpr std::array kAll{&kNoPowerPolicy, &kUniformCap, &kComponentCap, &kComponentShift};
  return kAll;
}

const PowerPolicy* find_power_policy(std::string_view name) {
  for (const PowerPolicy* policy : power_policies()) {
    if (policy->name == name) return policy;
  }
  return nullptr;
}

Result<std::vector<const PowerPolicy*>> parse_power_policies(const std::vector<std::string>& names) {
  std::vector<const PowerPolicy*> policies;
  for (const std::string& name : names) {
    const PowerPolicy* policy = find_power_policy(name);
    if (policy == nullptr) {
      std::vector<std::string> known;
      for (const PowerPolicy* one : power_policies()) known.emplace_back(one->name);
      return fail("power.policy", fmt::format("unknown power policy '{}'", name), suggestion(name, known));
    }
    if (std::ranges::count(policies, policy) == 0) policies.push_back(policy);
  }
  return policies;
}

}  // namespace cortado::sim
