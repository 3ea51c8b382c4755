#include "machine/checks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cortado::internal {
namespace {

void check_name(MachineReader& in, const Machine& machine) {
  const bool plain = std::all_of(machine.name.begin(), machine.name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '+';
  });
  if (!plain) {
    in.refuse("machine.name", "machine.range", fmt::format("\"{}\" is not a usable name", machine.name),
              "use a-z, 0-9, -, + and _");
  }
}

void check_engine(MachineReader& in, const EngineTiming& engine) {
  if (engine.threads > 0 && engine.copies_in_flight != 1) {
    in.refuse("engine_timing.copies_in_flight", "machine.contradiction",
              fmt::format("is {}, but engine_timing.threads is given: a thread makes one copy at a time",
                          engine.copies_in_flight),
              "use 1, or leave engine_timing.threads out");
  }
}

/// Engines that exist, each once. Some engine must serve each direction; none need be slow.
void check_host_link(MachineReader& in, const Machine& machine, const HostLinkTiming& link) {
  const auto check_list = [&](std::string_view path, const std::vector<std::uint32_t>& list, bool may_be_empty) {
    if (list.empty() && !may_be_empty) {
      in.refuse(path, "machine.contradiction", "names no engine", "list the engines that may be used, the best first");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (machine.engine({list[i]}) == nullptr) {
        in.refuse(path, "machine.contradiction",
                  fmt::format("names engine {}, which the machine does not have", list[i]),
                  "use engines of the section engines");
      } else if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
                 list.begin() + static_cast<std::ptrdiff_t>(i)) {
        in.refuse(path, "machine.contradiction", fmt::format("names engine {} twice", list[i]),
                  "list every engine once");
      }
    }
  };
  check_list("host_link.engines_to_gpu", link.engines_to_gpu, false);
  check_list("host_link.engines_from_gpu", link.engines_from_gpu, false);
  check_list("host_link.slow_engines", link.slow_engines, true);
}

/// Thresholds and the intensities between them must match, both ascending.
void check_arbitration(MachineReader& in, const MemoryArbitration& arbitration) {
  if (arbitration.thresholds.size() != arbitration.intensities.size() + 1) {
    in.refuse("arbitration.thresholds", "machine.contradiction",
              fmt::format("has {} values for {} of arbitration.intensities", arbitration.thresholds.size(),
                          arbitration.intensities.size()),
              "provide one more than there are intensities");
  }
  if (!std::ranges::is_sorted(arbitration.intensities)) {
    in.refuse("arbitration.intensities", "machine.contradiction", "is not in ascending order", "sort it");
  }
}

void check_memory(MachineReader& in, const Machine& machine, const MemoryTiming& memory) {
  for (std::size_t i = 1; i < memory.node.size(); ++i) {
    const Bytes cache = memory.node[i].cache_bytes;
    const Bytes before = memory.node[i - 1].cache_bytes;
    if (cache > before) continue;
    in.refuse("memory.node_cache_bytes", "machine.contradiction",
              fmt::format("has {} after {}", cache.value, before.value), "list them in ascending order");
  }
  if (in.has("memory.update_cost") && !machine.features.near_memory_compute) {
    in.refuse("memory.update_cost", "machine.contradiction", "is given, but features.near_memory_compute is false",
              "leave it out");
  }
  if (memory.arbitration) check_arbitration(in, *memory.arbitration);
}

/// Nothing achieves more than the nominal rate of the hardware beneath it.
void check_rates(MachineReader& in, const Timing& timing) {
  const auto at_most = [&in](std::string_view path, GBps rate, std::string_view bound_path, GBps bound) {
    if (rate <= bound) return;
    in.refuse(path, "machine.contradiction",
              fmt::format("is {}, more than {}, {}", rate.value, bound_path, bound.value),
              fmt::format("use at most {}", bound.value));
  };
  at_most("links.rate_GBps", timing.link.rate, "links.peak_GBps", timing.link.peak);
  at_most("memory.rate_GBps", timing.memory.rate, "memory.peak_GBps", timing.memory.peak);
  at_most("engine_timing.local_rate_GBps", timing.engine.local_rate, "memory.peak_GBps", timing.memory.peak);
  at_most("cores.local_rate_GBps", timing.cores.local_rate, "memory.peak_GBps", timing.memory.peak);
  if (timing.memory.cache_bytes.value > 0 && timing.memory.cache_rate < timing.memory.rate) {
    in.refuse(
        "memory.cache_rate_GBps", "machine.contradiction",
        fmt::format("is {}, less than memory.rate_GBps, {}", timing.memory.cache_rate.value, timing.memory.rate.value),
        "a cache must be at least as fast as the memory; use cache_bytes = 0 for none");
  }
  if (!timing.runtime) return;
  const RuntimeTiming& runtime = *timing.runtime;
  at_most("runtime.small_batch_rate_GBps", runtime.small_batch_rate, "runtime.rate_GBps", runtime.rate);
  const bool bytes = runtime.small_batch_bytes.value > 0;
  if (bytes != (runtime.small_batch_rate.value > 0)) {
    const std::string_view given = bytes ? "runtime.small_batch_bytes" : "runtime.small_batch_rate_GBps";
    const std::string_view other = bytes ? "runtime.small_batch_rate_GBps" : "runtime.small_batch_bytes";
    in.refuse(given, "machine.contradiction", fmt::format("is given without {}", other),
              "give both, or leave both out");
  }
}

/// There must be a tile that kernels exist for.
void check_tiles(MachineReader& in, const ComputeTiming& compute) {
  const auto refuse_empty = [&in](std::string_view path) {
    in.refuse(path, "machine.contradiction", "is an empty list: GEMMs would have no tile",
              "list the sides that kernels have, or leave the key out");
  };
  if (compute.tile_sides.empty()) return refuse_empty("compute.tile_sides");
  if (compute.anchor_sides.empty()) return refuse_empty("compute.anchor_sides");
  const std::uint64_t side = std::ranges::min(compute.tile_sides);
  std::uint64_t anchor = 0;
  for (const std::uint32_t one : compute.anchor_sides) {
    const bool exists = std::ranges::count(compute.tile_sides, one) > 0;
    if (exists && (anchor == 0 || one < anchor)) anchor = one;
  }
  if (anchor == 0) {
    in.refuse("compute.anchor_sides", "machine.contradiction",
              "has none of the values of compute.tile_sides: GEMMs would have no tile",
              "one side of every tile is an anchor; add it to compute.tile_sides");
  } else if (side * anchor > compute.most_tile) {
    in.refuse("compute.most_tile", "machine.contradiction",
              fmt::format("is {}, but the smallest tile of compute.tile_sides and compute.anchor_sides is {} x {}",
                          compute.most_tile, anchor, side),
              fmt::format("use at least {}", side * anchor));
  }
}

/// Points of voltage over clock, at least two, with ascending clocks and non-decreasing voltages.
void check_curve(MachineReader& in, const std::string& section, const ComponentPower& power) {
  const auto& [ghz, volts] = power.curve;
  if (ghz.size() < 2) {
    in.refuse(section + ".clocks_GHz", "machine.contradiction", fmt::format("has {} points of a curve", ghz.size()),
              "provide at least 2");
    return;
  }
  if (volts.size() != ghz.size()) {
    in.refuse(section + ".volts", "machine.contradiction",
              fmt::format("has {} values for {} of {}.clocks_GHz", volts.size(), ghz.size(), section),
              "provide the voltage of each clock");
    return;
  }
  for (std::size_t i = 1; i < ghz.size(); ++i) {
    if (ghz[i] <= ghz[i - 1]) {
      in.refuse(section + ".clocks_GHz", "machine.contradiction", fmt::format("has {} after {}", ghz[i], ghz[i - 1]),
                "list them in ascending order");
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
              fmt::format("use {:.15g}", std::round(steps) * step_ghz));
  }
}

/// The compute dies must reach the clocks that GEMMs sustain.
void check_sustained(MachineReader& in, const Machine& machine, const Power& power) {
  if (!power.xcd) return;
  const ComputeTiming compute = machine.timing->compute.value_or(ComputeTiming{});
  const std::array<std::pair<std::string_view, MatrixTiming>, 4> products{
      {{"f32", compute.f32}, {"f16", compute.f16}, {"bf16", compute.bf16}, {"f8", compute.f8}}};
  const VoltageCurve& curve = power.xcd->curve;
  for (const auto& [type, timing] : products) {
    if (timing.flops_per_clock == 0) continue;
    if (timing.clock_ghz >= curve.lowest() && timing.clock_ghz <= curve.highest()) continue;
    in.refuse("power.xcd.clocks_GHz", "machine.contradiction",
              fmt::format("goes from {} to {}, which does not include compute.{}_clock_GHz, {}", curve.lowest(),
                          curve.highest(), type, timing.clock_ghz),
              "the curve must include every clock that GEMMs sustain");
    return;
  }
}

void check_power(MachineReader& in, const Machine& machine, const Power& power) {
  for (const Component which : kComponents) {
    const ComponentPower* component = power.component(which);
    if (component == nullptr) continue;
    const std::string section = fmt::format("power.{}", name_of(which));
    check_curve(in, section, *component);
    if (in.ok()) check_nominal(in, section, *component, power.clock_step_ghz);
  }
  if (!in.ok()) return;
  if (!machine.timing) {
    in.refuse("power", "machine.missing", "is given, but the file has no timing",
              "add [host], [engine_timing], [memory], [cores] and the rates of [links], or leave it out");
    return;
  }
  if (power.cap_w <= power.idle_w()) {
    in.refuse("power.cap_W", "machine.contradiction",
              fmt::format("is {}, but an idle GPU already draws {:.1f}", power.cap_w, power.idle_w()),
              "idle power is power.rest_idle_W plus, with power.loss, idle_W of the components");
  }
  check_sustained(in, machine, power);
}

}  // namespace

void check_sizes(MachineReader& in, const Machine& machine) {
  const auto power_of_two = [&in](std::string_view path, Bytes value) {
    if (std::has_single_bit(value.value)) return;
    in.refuse(path, "machine.contradiction", fmt::format("is {}, which is not a power of two", value.value),
              fmt::format("use {} or {}", std::bit_floor(value.value), std::bit_ceil(value.value)));
  };
  const DmaLimits& dma = machine.dma;
  power_of_two("machine.allocation_alignment", machine.allocation_alignment);
  power_of_two("dma.broadcast_alignment", dma.broadcast_alignment);
  power_of_two("dma.swap_alignment", dma.swap_alignment);
  power_of_two("dma.window_alignment", dma.window_alignment);
  power_of_two("dma.ring_bytes", dma.ring_bytes);
  if (!in.ok()) return;
  if (dma.max_swap_bytes.value % dma.swap_alignment.value != 0) {
    in.refuse("dma.max_swap_bytes", "machine.contradiction",
              fmt::format("is {}, not a multiple of dma.swap_alignment, {}", dma.max_swap_bytes.value,
                          dma.swap_alignment.value),
              fmt::format("use {}", dma.max_swap_bytes.value / dma.swap_alignment.value * dma.swap_alignment.value));
  }
  const auto within_allocation = [&](std::string_view path, Bytes alignment) {
    if (alignment <= machine.allocation_alignment) return;
    in.refuse(path, "machine.contradiction",
              fmt::format("is {}, more than machine.allocation_alignment, {}: no buffer could meet it", alignment.value,
                          machine.allocation_alignment.value));
  };
  within_allocation("dma.broadcast_alignment", dma.broadcast_alignment);
  within_allocation("dma.swap_alignment", dma.swap_alignment);
  within_allocation("dma.window_alignment", dma.window_alignment);
  if (machine.memory_bytes < machine.allocation_alignment) {
    in.refuse("machine.memory_bytes", "machine.contradiction",
              fmt::format("is {}, less than one allocation, {}", machine.memory_bytes.value,
                          machine.allocation_alignment.value));
  }
}

void check_machine(MachineReader& in, const Machine& machine) {
  check_name(in, machine);
  if (const auto& timing = machine.timing) {
    check_engine(in, timing->engine);
    check_memory(in, machine, timing->memory);
    check_rates(in, *timing);
    if (timing->compute) check_tiles(in, *timing->compute);
    if (timing->host_link) check_host_link(in, machine, *timing->host_link);
  }
  if (machine.power) check_power(in, machine, *machine.power);
}

}  // namespace cortado::internal
