// The clock at which a GEMM draws what its board may draw.
//
// With V the voltage at the clock f, V0 that at the nominal clock f0, and t the time of the GEMM and of its start at
// f:
//
//   watts = rest + (1 + loss) (xcd + iod + hbm)
//   xcd   = idle + leakage (V / V0)^exponent + (clock trees + held units unit_W) (V / V0)^2 f / f0
//           + (flops flop_pJ + bytes in and out of L2 l2_byte_pJ) (V / V0)^2 / t
//   iod   = idle + leakage + clock trees + bytes cache_byte_pJ / t           hbm the same with bytes of the memory
//
// as the power meter of the simulator counts them while the GEMM runs. GEMMs are repeated without a pause here, and the
// dies stay awake while the next one starts; for the meter, they sleep until it holds units. iod and hbm run at their
// nominal clocks; at lower clocks they scale with their own V / V0 as xcd does. Management lowers them only if the
// lowest clock of the compute dies is not enough (sim/power/policies.cpp). Management looks at averages: burst_ms of a
// load may draw more. With ClockMode::bursts the load is a benchmark that repeats the GEMM for D = 54 calls, whose
// average clock is (burst boost + (D - burst) steady) / D if D > burst_ms. Layers of a model follow each other for
// minutes, and a part of a GEMM is no load of its own, so everything but a benchmark of GEMMs has the steady clock.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"

namespace cortado {
namespace {

double joules_of_flop(const Power& power, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return power.f32_flop;
    case DType::f16:
      return power.f16_flop;
    case DType::bf16:
      return power.bf16_flop;
    case DType::i8:
      return power.i8_flop;
    default:
      return power.f8_flop;
  }
}

/// Clocks of the dies that do not compute.
enum class Others { nominal, lowest };

double clock_of(const ComponentPower& component, Others others) {
  return others == Others::nominal ? component.nominal_ghz : component.curve.lowest();
}

/// V / V0.
double relative_volts(const ComponentPower& component, double ghz) {
  return component.curve.volts_at(ghz) / component.curve.volts_at(component.nominal_ghz);
}

/// Without events; `units_w` is what its held units draw at the nominal clock.
double watts_awake(const ComponentPower& component, const Power& power, double ghz, double units_w = 0) {
  const double volts = relative_volts(component, ghz);
  return component.idle_w + component.leakage_w * std::pow(volts, power.leakage_exponent) +
         (component.clock_w + units_w) * (volts * volts * ghz / component.nominal_ghz);
}

/// A die that does not compute, at a clock that stays.
class OtherDie {
 public:
  OtherDie(const std::optional<ComponentPower>& component, const Power& power, Others others) {
    if (!component) return;
    const double ghz = clock_of(*component, others);
    volts_ = relative_volts(*component, ghz);
    awake_ = watts_awake(*component, power, ghz);
  }

  /// `event_watts` is what its events draw at the nominal clock.
  double watts(double event_watts) const { return awake_ + event_watts * volts_ * volts_; }

 private:
  double volts_ = 1;  // V / V0
  double awake_ = 0;
};

struct OtherDies {
  OtherDies(const Power& power, Others others) : iod(power.iod, power, others), hbm(power.hbm, power, others) {}

  OtherDie iod;
  OtherDie hbm;
};

/// With the terms of the GEMM at that clock.
double watts_of(const GemmModel& model, const GemmModel::Terms& terms, const Machine& machine, std::uint32_t units,
                double clock_ghz, const OtherDies& others) {
  const Power& power = *machine.power;
  const ComponentPower& xcd = *power.xcd;
  const GemmShape& shape = model.shape();
  const double period = model.seconds(terms) + static_cast<double>(gemm_start(machine).value) * 1e-9;
  const double waves = static_cast<double>(model.workgroups()) / units;
  const double held =
      std::min<double>(units, static_cast<double>(model.workgroups())) * std::min(1.0, waves / terms.waves);
  const double volts = relative_volts(xcd, clock_ghz);
  const double events = volts * volts / period;
  const GemmModel::Traffic& traffic = terms.traffic;
  const double of_xcd =
      watts_awake(xcd, power, clock_ghz, held * power.unit_w) +
      (flops(shape) * joules_of_flop(power, shape.dtype) + traffic.beyond_l2 * power.l2_byte) * events;
  const double of_iod = others.iod.watts(traffic.beyond_l2 * power.cache_byte / period);
  const double of_hbm = others.hbm.watts((traffic.reads + traffic.writes) * power.hbm_byte / period);
  return power.rest_idle_w + (1 + power.loss) * (of_xcd + of_iod + of_hbm);
}

}  // namespace

double gemm_watts(const GemmModel& model, const Machine& machine, std::uint32_t units, double clock_ghz) {
  return watts_of(model, model.terms(units, clock_ghz), machine, units, clock_ghz, {*machine.power, Others::nominal});
}

double least_gemm_watts(const GemmModel& model, const Machine& machine, std::uint32_t units) {
  const Power& power = *machine.power;
  const double lowest = power.xcd->curve.lowest();
  GemmModel::Terms terms = model.terms(units, lowest);
  if (power.hbm) terms.memory *= power.hbm->nominal_ghz / clock_of(*power.hbm, Others::lowest);
  return watts_of(model, terms, machine, units, lowest, {power, Others::lowest});
}

std::string clock_text(const Machine& machine) {
  const bool described = machine.power && machine.power->xcd;
  if (!described || machine.clock == ClockMode::fixed) {
    return fmt::format("fixed clocks: GEMMs run at the clock that {} lists for their element type{}", machine.name,
                       described ? "" : " (it does not describe power)");
  }
  std::string text = fmt::format("clocks by power: GEMMs run at the highest clock that keeps the board within {:.0f} W",
                                 machine.power->cap_w);
  if (machine.clock == ClockMode::bursts && machine.power->burst_ms > 0) {
    text += fmt::format(
        " over {:.0f} back-to-back calls, except for the first {:.0f} ms, which may draw more "
        "(--clock by-power: without that, as in overlap and model)",
        kCallsInARow, machine.power->burst_ms);
  }
  return text;
}

namespace {

/// Of a machine that describes power.
double clock_by_power(const GemmModel& model, const Machine& machine, std::uint32_t units) {
  const Power& power = *machine.power;
  const double boost = power.xcd->nominal_ghz;
  GemmModel::Terms terms = model.terms(units, boost);
  const OtherDies others(power, Others::nominal);
  const auto fits = [&](double ghz) {
    model.set_clock(terms, ghz);
    return watts_of(model, terms, machine, units, ghz, others) <= power.cap_w;
  };
  if (fits(boost)) return boost;
  double lowest = power.xcd->curve.lowest();
  double highest = boost;
  while (highest - lowest > power.clock_step_ghz / 2) {
    const double middle = (lowest + highest) / 2;
    (fits(middle) ? lowest : highest) = middle;
  }
  if (machine.clock != ClockMode::bursts) return lowest;
  const double load_ms = kCallsInARow * model.seconds(units, lowest) * 1e3;
  const double burst = load_ms > 0 ? std::min(1.0, power.burst_ms / load_ms) : 1;
  return burst * boost + (1 - burst) * lowest;
}

/// All of a machine that clocks by power depend on.
struct ClockGround {
  explicit ClockGround(const Machine& machine)
      : compute(*machine.timing->compute),
        memory_rate(machine.timing->memory.rate),
        cache_rate(machine.timing->memory.cache_rate),
        cache_bytes(machine.timing->memory.cache_bytes),
        start(gemm_start(machine)),
        power(*machine.power),
        clock(machine.clock) {}

  bool is_of(const Machine& machine) const {
    const MemoryTiming& memory = machine.timing->memory;
    return clock == machine.clock && start == gemm_start(machine) && memory_rate == memory.rate &&
           cache_rate == memory.cache_rate && cache_bytes == memory.cache_bytes && power == *machine.power &&
           compute == *machine.timing->compute;
  }

  ComputeTiming compute;
  GBps memory_rate;
  GBps cache_rate;
  Bytes cache_bytes;
  Nanoseconds start;
  Power power;
  ClockMode clock;
};

/// What was computed before: the choice of a kernel, estimates and simulations ask for the same GEMMs.
class KnownClocks {
 public:
  double of(const GemmModel& model, const Machine& machine, std::uint32_t units) {
    if (!ground_ || !ground_->is_of(machine)) {
      ground_.emplace(machine);
      known_.clear();
    }
    constexpr std::size_t kMost = 8192;
    if (known_.size() == kMost) known_.clear();
    std::vector<Known>& alike = known_[hash_of(model.shape(), units)];
    for (const Known& known : alike) {
      if (known.units == units && known.model.is_like(model)) return known.clock_ghz;
    }
    alike.push_back({model, units, clock_by_power(model, machine, units)});
    return alike.back().clock_ghz;
  }

 private:
  struct Known {
    GemmModel model;  // of a machine that may be gone
    std::uint32_t units = 0;
    double clock_ghz = 0;
  };

  static std::uint64_t hash_of(const GemmShape& shape, std::uint32_t units) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio: spreads near numbers
    std::uint64_t hash = 0;
    for (const std::uint64_t part : {shape.m, shape.n, shape.k, std::uint64_t{units}}) {
      hash = (hash ^ part) * kOdd;
      hash ^= hash >> 32;
    }
    return hash;
  }

  std::optional<ClockGround> ground_;
  std::unordered_map<std::uint64_t, std::vector<Known>> known_;
};

}  // namespace

double gemm_clock_ghz(const GemmModel& model, const Machine& machine, std::uint32_t units) {
  if (machine.clock == ClockMode::fixed || !machine.power || !machine.power->xcd) {
    return sustained_clock_ghz(model.shape().dtype, machine);
  }
  static thread_local KnownClocks known_clocks;
  return known_clocks.of(model, machine, units);
}

double GemmClocks::of(const GemmModel& model, std::uint32_t units) {
  for (const Known& known : known_) {
    if (known.units == units && known.model == model) return known.clock_ghz;
  }
  known_.push_back({model, units, gemm_clock_ghz(model, machine_, units)});
  return known_.back().clock_ghz;
}

}  // namespace cortado
