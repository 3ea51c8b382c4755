#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "machine/parse_sections.hpp"

namespace cortado::internal {
namespace {

// Bounds that no GPU reaches.
constexpr double kMostWatts = 1e5;
constexpr double kLeastGhz = 0.001;
constexpr double kMostGhz = 100;

double watts(MachineReader& in, std::string_view path) {
  return in.number(path, 0, kMostWatts);
}

/// Points of volts over clocks, at least two, the clocks ascending and the volts not falling.
void check_curve(MachineReader& in, const std::string& section, const ComponentPower& power) {
  const auto& [ghz, volts] = power.curve;
  if (ghz.size() < 2) {
    in.refuse(section + ".clocks_GHz", "machine.contradiction",
              fmt::format("has {} of the points of a curve", ghz.size()), "give at least 2");
    return;
  }
  if (volts.size() != ghz.size()) {
    in.refuse(section + ".volts", "machine.contradiction",
              fmt::format("has {} values for {} of {}.clocks_GHz", volts.size(), ghz.size(), section),
              "give the voltage of each clock");
    return;
  }
  for (std::size_t i = 1; i < ghz.size(); ++i) {
    if (ghz[i] <= ghz[i - 1]) {
      in.refuse(section + ".clocks_GHz", "machine.contradiction", fmt::format("has {} after {}", ghz[i], ghz[i - 1]),
                "give them in ascending order");
      return;
    }
    if (volts[i] < volts[i - 1]) {
      in.refuse(section + ".volts", "machine.contradiction", fmt::format("has {} after {}", volts[i], volts[i - 1]),
                "a higher clock needs at least the same voltage");
      return;
    }
  }
}

void check_nominal(MachineReader& in, const std::string& section, const ComponentPower& power, double step_ghz) {
  const std::string path = section + ".nominal_GHz";
  const auto& [ghz, volts] = power.curve;
  if (power.nominal_ghz < ghz.front() || power.nominal_ghz > ghz.back()) {
    in.refuse(path, "machine.contradiction", fmt::format("is {}, outside the curve", power.nominal_ghz),
              fmt::format("{}.clocks_GHz goes from {} to {}", section, ghz.front(), ghz.back()));
    return;
  }
  constexpr double kRounding = 1e-6;
  const double steps = power.nominal_ghz / step_ghz;
  if (std::abs(steps - std::round(steps)) > kRounding * steps) {
    in.refuse(path, "machine.contradiction",
              fmt::format("is {}, not a multiple of power.clock_step_MHz, {}", power.nominal_ghz, step_ghz * 1e3),
              fmt::format("{:.15g} would be", std::round(steps) * step_ghz));
  }
}

/// The section of a component; none if the file has none.
std::optional<ComponentPower> read_component(MachineReader& in, Component which, double step_ghz) {
  const std::string section = fmt::format("power.{}", name_of(which));
  if (!in.has(section)) return std::nullopt;
  constexpr double kMostVolts = 10;
  ComponentPower power;
  power.idle_w = watts(in, section + ".idle_W");
  power.leakage_w = watts(in, section + ".leakage_W");
  power.clock_w = watts(in, section + ".clock_W");
  power.nominal_ghz = in.number(section + ".nominal_GHz", kLeastGhz, kMostGhz);
  power.curve.ghz = in.numbers(section + ".clocks_GHz", kLeastGhz, kMostGhz);
  power.curve.volts = in.numbers(section + ".volts", 0.001, kMostVolts);
  if (in.ok()) check_curve(in, section, power);
  if (in.ok()) check_nominal(in, section, power, step_ghz);
  return power;
}

/// What the machine file says of products of each type.
std::array<std::pair<std::string_view, MatrixTiming>, 4> products_of(const Machine& machine) {
  const ComputeTiming none;
  const ComputeTiming& compute = machine.timing && machine.timing->compute ? *machine.timing->compute : none;
  return {{{"f32", compute.f32}, {"f16", compute.f16}, {"bf16", compute.bf16}, {"f8", compute.f8}}};
}

/// Events of a component that the machine does not describe take nothing, and have no keys.
void read_events(MachineReader& in, const Machine& machine, Power& power) {
  constexpr double kPico = 1e12;
  constexpr double kNano = 1e9;
  constexpr double kMost = 1e6;
  const auto event = [&in](std::string_view path, bool wanted, std::string_view why_not, double parts) {
    return in.has_exactly_if(path, wanted, why_not) ? in.number(path, 0, kMost) / parts : 0;
  };
  const auto event_of = [&](Component which, std::string_view path, double parts) {
    const std::string section = fmt::format("power.{}", name_of(which));
    return event(path, in.has(section), fmt::format("there is no [{}]", section), parts);
  };
  const std::array<double*, 4> flops{&power.f32_flop, &power.f16_flop, &power.bf16_flop, &power.f8_flop};
  const auto products = products_of(machine);
  for (std::size_t i = 0; i < flops.size(); ++i) {
    const auto& [type, timing] = products[i];
    const std::string path = fmt::format("power.{}_flop_pJ", type);
    *flops[i] = timing.flops_per_clock > 0 ? event_of(Component::xcd, path, kPico)
                                           : event(path, false, "the machine has no products of this type", kPico);
  }
  power.l2_byte = event_of(Component::xcd, "power.l2_byte_pJ", kPico);
  power.unit_w = event_of(Component::xcd, "power.unit_W", 1);
  if (in.has("power.xcd")) power.copy_clock_share = in.number("power.copy_clock_share", 0, 1);
  power.cache_byte = event_of(Component::iod, "power.cache_byte_pJ", kPico);
  power.link_byte = event_of(Component::iod, "power.link_byte_pJ", kPico);
  power.engine_byte = event_of(Component::iod, "power.engine_byte_pJ", kPico);
  power.packet = event_of(Component::iod, "power.packet_nJ", kNano);
  power.polling_w = event_of(Component::iod, "power.polling_W", 1);
  power.hbm_byte = event_of(Component::hbm, "power.hbm_byte_pJ", kPico);
}

/// The compute dies reach the clocks that products sustain.
void check_sustained(MachineReader& in, const Machine& machine, const Power& power) {
  if (!power.xcd) return;
  const VoltageCurve& curve = power.xcd->curve;
  for (const auto& [type, timing] : products_of(machine)) {
    if (timing.flops_per_clock == 0) continue;
    if (timing.clock_ghz >= curve.lowest() && timing.clock_ghz <= curve.highest()) continue;
    in.refuse("power.xcd.clocks_GHz", "machine.contradiction",
              fmt::format("goes from {} to {}, and compute.{}_clock_GHz is outside: {}", curve.lowest(),
                          curve.highest(), type, timing.clock_ghz),
              "the curve must hold every clock that products sustain");
    return;
  }
}

}  // namespace

void read_power(MachineReader& in, Machine& machine) {
  if (!in.has("power")) return;
  Power& power = machine.power.emplace();
  power.cap_w = in.number("power.cap_W", 1, kMostWatts);
  power.control_interval = {std::llround(in.number("power.control_interval_us", 1, 1e6) * 1e3)};
  power.clock_step_ghz = in.number("power.clock_step_MHz", 0.001, 1e4) / 1e3;
  power.raise_ghz = in.number("power.raise_MHz", power.clock_step_ghz * 1e3 * (1 - 1e-9), 1e6) / 1e3;
  power.leakage_exponent = in.number("power.leakage_exponent", 0, 10);
  power.rest_idle_w = watts(in, "power.rest_idle_W");
  power.loss = in.number("power.loss", 0, 1);
  read_events(in, machine, power);
  power.xcd = read_component(in, Component::xcd, power.clock_step_ghz);
  power.iod = read_component(in, Component::iod, power.clock_step_ghz);
  power.hbm = read_component(in, Component::hbm, power.clock_step_ghz);
  if (!in.ok()) return;
  if (!machine.timing) {
    in.refuse("power", "machine.missing", "is given, but the file has no timing",
              "give [host], [engine_timing], [memory], [cores] and the rates of [links], or leave it out");
  }
  if (power.cap_w <= power.idle_w()) {
    in.refuse("power.cap_W", "machine.contradiction",
              fmt::format("is {}, not more than what an idle GPU draws, {:.1f}", power.cap_w, power.idle_w()),
              "idle are power.rest_idle_W and, with power.loss, idle_W of the components");
  }
  check_sustained(in, machine, power);
}

}  // namespace cortado::internal
