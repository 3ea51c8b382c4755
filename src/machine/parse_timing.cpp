#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

#include "machine/parse_sections.hpp"

namespace cortado::internal {
namespace {

void read_host(MachineReader& in, const Machine&, Timing& timing) {
  timing.host.packet = in.time("host.packet_ns");
  timing.host.submit = in.time("host.submit_ns");
  timing.host.trigger = in.time("host.trigger_ns");
  timing.host.poll = in.time("host.poll_ns");
  timing.host.signal = in.time("host.signal_ns");
}

GBps rate_if(MachineReader& in, std::string_view path, bool wanted, std::string_view why_not) {
  return in.has_exactly_if(path, wanted, why_not) ? in.rate(path) : GBps{};
}

void read_engine(MachineReader& in, const Machine& machine, Timing& timing) {
  timing.engine.fetch = in.time("engine_timing.fetch_ns");
  timing.engine.wake = in.time("engine_timing.wake_ns");
  timing.engine.copy_start = in.time("engine_timing.copy_start_ns");
  timing.engine.copy_issue = in.time("engine_timing.copy_issue_ns");
  timing.engine.copies_in_flight = in.small("engine_timing.copies_in_flight", 1, 1024);
  timing.engine.sync = in.time("engine_timing.sync_ns");
  timing.engine.rate = in.rate("engine_timing.rate_GBps");
  timing.engine.broadcast_rate =
      rate_if(in, "engine_timing.broadcast_rate_GBps", machine.features.broadcast, "features.broadcast is false");
  timing.engine.local_rate = in.rate("engine_timing.local_rate_GBps");
  if (in.has("engine_timing.detour_rate_GBps")) {
    timing.engine.detour_rate = in.rate("engine_timing.detour_rate_GBps");
  }
  if (!in.has("engine_timing.threads")) return;
  timing.engine.threads = in.small("engine_timing.threads", 1, 1024);
  if (in.ok() && timing.engine.copies_in_flight != 1) {
    in.refuse("engine_timing.copies_in_flight", "machine.contradiction",
              fmt::format("is {}, but engine_timing.threads is given: a thread makes one copy at a time",
                          timing.engine.copies_in_flight),
              "give 1, or leave engine_timing.threads out");
  }
}

void read_links(MachineReader& in, const Machine&, Timing& timing) {
  timing.link.rate = in.rate("links.rate_GBps");
  timing.link.peak = in.rate("links.peak_GBps");
  timing.link.latency = in.time("links.latency_ns");
}

/// Lists that belong together: the caches grow from level to level, and every level has its rate.
void read_node_levels(MachineReader& in, Timing& timing) {
  constexpr std::int64_t kLargestCache = std::int64_t{1} << 40;
  const bool has_caches = in.has("memory.node_cache_bytes");
  const bool has_rates = in.has("memory.node_rate_GBps");
  if (!has_caches && !has_rates) return;
  const auto caches = in.list("memory.node_cache_bytes", 0, kLargestCache);
  const auto rates = in.rates("memory.node_rate_GBps");
  if (!in.ok()) return;
  if (caches.size() != rates.size() || rates.empty()) {
    in.refuse("memory.node_rate_GBps", "machine.contradiction",
              fmt::format("has {} rates for {} values of memory.node_cache_bytes", rates.size(), caches.size()),
              "give one rate for each, and at least one");
    return;
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (i > 0 && caches[i] <= caches[i - 1]) {
      in.refuse("memory.node_cache_bytes", "machine.contradiction",
                fmt::format("has {} after {}", caches[i], caches[i - 1]), "give them in ascending order");
      return;
    }
    timing.memory.node.push_back({{static_cast<std::uint64_t>(caches[i])}, rates[i]});
  }
}

/// Thresholds and the intensities between them belong together, both ascending.
void read_arbitration(MachineReader& in, MemoryArbitration& arbitration) {
  const std::string policy = in.label("arbitration.policy");
  const auto* named = std::ranges::find(kArbitrationPolicies, policy, [](const auto& entry) { return entry.first; });
  if (named == kArbitrationPolicies.end()) {
    in.refuse("arbitration.policy", "machine.range", fmt::format("is \"{}\"", policy),
              "give round-robin, compute-first or mca");
  } else {
    arbitration.policy = named->second;
  }
  arbitration.queue_depth = in.small("arbitration.queue_depth", 1, 1U << 20);
  const auto thresholds = in.list("arbitration.thresholds", 1, arbitration.queue_depth);
  arbitration.intensities = in.numbers("arbitration.intensities", 0, 1);
  arbitration.starvation_share = in.number("arbitration.starvation_share", 0, 1);
  arbitration.mixing_cost = in.number("arbitration.mixing_cost", 1, 1000);
  if (!in.ok()) return;
  for (const std::int64_t threshold : thresholds) {
    arbitration.thresholds.push_back(static_cast<std::uint32_t>(threshold));
  }
  if (thresholds.size() != arbitration.intensities.size() + 1) {
    in.refuse("arbitration.thresholds", "machine.contradiction",
              fmt::format("has {} values for {} of arbitration.intensities", thresholds.size(),
                          arbitration.intensities.size()),
              "give one more than there are intensities");
  }
  if (!std::ranges::is_sorted(arbitration.intensities)) {
    in.refuse("arbitration.intensities", "machine.contradiction", "is not in ascending order", "sort it");
  }
}

void read_memory(MachineReader& in, const Machine& machine, Timing& timing) {
  timing.memory.peak = in.rate("memory.peak_GBps");
  timing.memory.rate = in.rate("memory.rate_GBps");
  timing.memory.cache_bytes = in.bytes("memory.cache_bytes", 0, machine.memory_bytes.value);
  timing.memory.cache_rate =
      rate_if(in, "memory.cache_rate_GBps", timing.memory.cache_bytes.value > 0, "memory.cache_bytes is 0");
  read_node_levels(in, timing);
  if (in.has("memory.update_cost")) {
    timing.memory.update_cost = in.number("memory.update_cost", 1, 1000);
    if (!machine.features.near_memory_compute) {
      in.refuse("memory.update_cost", "machine.contradiction", "is given, but features.near_memory_compute is false",
                "leave it out");
    }
  }
  if (in.has("arbitration")) read_arbitration(in, timing.memory.arbitration.emplace());
}

void read_cores(MachineReader& in, const Machine& machine, Timing& timing) {
  timing.cores.launch = in.time("cores.launch_ns");
  timing.cores.call = in.time("cores.call_ns");
  timing.cores.start = in.time("cores.start_ns");
  timing.cores.flag = in.time("cores.flag_ns");
  timing.cores.copy_rate = in.rate("cores.copy_rate_GBps");
  timing.cores.local_rate = in.rate("cores.local_rate_GBps");
  timing.cores.wire_efficiency = in.number("cores.wire_efficiency", 0.001, 1);
  if (in.has("cores.sharpness")) timing.cores.sharpness = in.number("cores.sharpness", 1, 100);
  if (in.has("cores.collective_units")) {
    timing.cores.collective_units = in.small("cores.collective_units", 1, machine.compute_units);
  }
}

/// All three keys of an element type, or none.
MatrixTiming read_matrix(MachineReader& in, std::string_view dtype) {
  const auto key = [dtype](std::string_view what) { return fmt::format("compute.{}_{}", dtype, what); };
  const bool has_flops = in.has(key("flops_per_clock"));
  const bool has_clock = in.has(key("clock_GHz"));
  const bool has_efficiency = in.has(key("efficiency"));
  if (!has_flops && !has_clock && !has_efficiency) return {};
  return {in.small(key("flops_per_clock"), 1, 1U << 20), in.number(key("clock_GHz"), 0.001, 100),
          in.number(key("efficiency"), 0.001, 1)};
}

void read_compute(MachineReader& in, const Machine& machine, Timing& timing) {
  ComputeTiming& compute = timing.compute.emplace();
  compute.dies = in.small("compute.dies", 1, machine.compute_units);
  compute.l2_bytes = in.bytes("compute.l2_bytes", 1, machine.memory_bytes.value);
  compute.l2_rate = in.rate("compute.l2_rate_GBps");
  compute.unit_rate = in.rate("compute.unit_rate_GBps");
  compute.operand_cost = in.number("compute.operand_cost", 0, 1000);
  compute.tile_overhead = in.time("compute.tile_overhead_ns");
  compute.stream_window = in.bytes("compute.stream_window_bytes", 1, compute.l2_bytes.value);
  compute.thrash_ramp = in.number("compute.thrash_ramp", 0.001, 1000);
  compute.fabric_products = in.number("compute.fabric_products", 0, 1);
  compute.fabric_links = in.number("compute.fabric_links", 0, 1);
  compute.fabric_cores = in.number("compute.fabric_cores", 1, 1000);
  compute.copy_cost = in.number("compute.copy_cost", 1, 1000);
  if (in.has("stages")) {
    StageTiming& stages = compute.stages.emplace();
    stages.read_share = in.number("stages.read_share", 0, 1);
    stages.cache_ways = in.small("stages.cache_ways", 1, 1024);
  }
  compute.f32 = read_matrix(in, "f32");
  compute.f16 = read_matrix(in, "f16");
  compute.bf16 = read_matrix(in, "bf16");
  compute.f8 = read_matrix(in, "f8");
}

/// Nothing achieves more than the hardware beneath it has on paper.
void check_rates(MachineReader& in, const Timing& timing) {
  const auto at_most = [&in](std::string_view path, GBps rate, std::string_view bound_path, GBps bound) {
    if (rate <= bound) return;
    in.refuse(path, "machine.contradiction",
              fmt::format("is {}, more than {}, {}", rate.value, bound_path, bound.value),
              fmt::format("give at most {}", bound.value));
  };
  at_most("links.rate_GBps", timing.link.rate, "links.peak_GBps", timing.link.peak);
  at_most("memory.rate_GBps", timing.memory.rate, "memory.peak_GBps", timing.memory.peak);
  at_most("engine_timing.local_rate_GBps", timing.engine.local_rate, "memory.peak_GBps", timing.memory.peak);
  at_most("cores.local_rate_GBps", timing.cores.local_rate, "memory.peak_GBps", timing.memory.peak);
  if (timing.memory.cache_bytes.value > 0 && timing.memory.cache_rate < timing.memory.rate) {
    in.refuse(
        "memory.cache_rate_GBps", "machine.contradiction",
        fmt::format("is {}, less than memory.rate_GBps, {}", timing.memory.cache_rate.value, timing.memory.rate.value),
        "a cache is at least as fast as the memory; cache_bytes = 0 stands for none");
  }
}

}  // namespace

void read_timing(MachineReader& in, Machine& machine, LinkShape shape) {
  Timing timing;
  timing.link.shape = shape;
  struct Part {
    std::string_view name;
    std::string_view key;
    bool given;
    void (*read)(MachineReader&, const Machine&, Timing&);
  };
  const bool has_rate = in.has("links.rate_GBps");
  const bool has_peak = in.has("links.peak_GBps");
  const bool has_latency = in.has("links.latency_ns");
  const std::array<Part, 5> parts{
      {{"[host]", "host", in.has("host"), read_host},
       {"[engine_timing]", "engine_timing", in.has("engine_timing"), read_engine},
       {"the rates of [links]", "links.rate_GBps", has_rate || has_peak || has_latency, read_links},
       {"[memory]", "memory", in.has("memory"), read_memory},
       {"[cores]", "cores", in.has("cores"), read_cores}}};
  std::string_view first;
  std::vector<std::string> given;
  std::vector<std::string> missing;
  for (const Part& part : parts) {
    (part.given ? given : missing).emplace_back(part.name);
    if (!part.given) continue;
    if (first.empty()) first = part.key;
    part.read(in, machine, timing);
  }
  if (given.empty()) {
    if (!in.has("compute")) return;
    given.emplace_back("[compute]");
    first = "compute";
  }
  if (!missing.empty()) {
    in.refuse(first, "machine.missing",
              fmt::format("the file has timing in {}, but not {}", join(given), join(missing)),
              "give all of them, or none for a machine that is not simulated");
  }
  if (in.has("compute")) read_compute(in, machine, timing);
  if (in.ok()) check_rates(in, timing);
  machine.timing = timing;
}

}  // namespace cortado::internal
