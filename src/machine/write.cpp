#include "cortado/machine/write.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cortado {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// One row a line, so that a table of GPUs can be read.
template <class Row>
std::string table(const std::vector<Row>& rows) {
  std::string out = "[\n";
  for (const Row& row : rows) out += fmt::format("  [{}],\n", fmt::join(row, ", "));
  return out + "]";
}

class MachineWriter {
 public:
  explicit MachineWriter(const Machine& machine) : machine_(machine) {}

  void section(std::string_view name) {
    section_ = name;
    text_ += fmt::format("{}[{}]\n", text_.empty() ? "" : "\n", name);
  }
  void plain(std::string_view key, std::string_view text) { text_ += fmt::format("{} = {}\n", key, quoted(text)); }

  void entry(std::string_view key, std::string_view value) {
    const auto [source, confidence] = origin(fmt::format("{}.{}", section_, key));
    text_ += fmt::format("{} = {{ value = {}, source = {}, confidence = {} }}\n", key, value, quoted(source),
                         quoted(confidence));
  }
  void number(std::string_view key, std::uint64_t value) { entry(key, fmt::format("{}", value)); }
  void bytes(std::string_view key, Bytes value) { number(key, value.value); }
  void flag(std::string_view key, bool value) { entry(key, value ? "true" : "false"); }
  void time(std::string_view key, Nanoseconds value) { entry(key, fmt::format("{}", value.value)); }
  void rate(std::string_view key, GBps value) { entry(key, fmt::format("{}", value.value)); }
  /// A rate that is left out where the machine has not got what it speaks of.
  void rate_if_any(std::string_view key, GBps value) {
    if (value.value > 0) rate(key, value);
  }
  /// A value of more than one line: an inline table cannot hold it, so that it is the last key of its own section.
  void tall(std::string_view section_name, std::string_view value) {
    section(section_name);
    const auto [source, confidence] = origin(section_name);
    text_ += fmt::format("value = {}\nsource = {}\nconfidence = {}\n", value, quoted(source), quoted(confidence));
  }

  std::string take() { return std::move(text_); }

 private:
  std::pair<std::string, std::string> origin(std::string_view path) const {
    const auto found = std::find_if(machine_.provenance.begin(), machine_.provenance.end(),
                                    [path](const Provenance& fact) { return fact.key == path; });
    if (found == machine_.provenance.end()) return {"not given", "assumption"};
    return {found->source, found->confidence};
  }

  const Machine& machine_;
  std::string section_;
  std::string text_;
};

std::string engine_list(const Machine& machine, const auto& wanted) {
  std::vector<std::uint32_t> ids;
  for (const Engine& engine : machine.engines) {
    if (wanted(engine)) ids.push_back(engine.id.value);
  }
  return fmt::format("[{}]", fmt::join(ids, ", "));
}

void write_shape(MachineWriter& out, const Machine& machine) {
  out.section("machine");
  out.plain("name", machine.name);
  out.plain("title", machine.title);
  out.entry("gpu", quoted(machine.gpu));
  out.number("gpus", machine.gpus);
  out.number("compute_units", machine.compute_units);
  out.bytes("memory_bytes", machine.memory_bytes);
  out.bytes("allocation_alignment", machine.allocation_alignment);
  out.section("engines");
  out.entry("host", engine_list(machine, [](const Engine& e) { return e.kind == EngineClass::host; }));
  out.entry("peer", engine_list(machine, [](const Engine& e) { return e.kind == EngineClass::peer; }));
  out.entry("absent", engine_list(machine, [](const Engine& e) { return !e.present; }));
}

void write_dma(MachineWriter& out, const Machine& machine) {
  const DmaLimits& dma = machine.dma;
  out.section("dma");
  out.bytes("max_copy_bytes", dma.max_copy_bytes);
  out.bytes("max_swap_bytes", dma.max_swap_bytes);
  out.bytes("broadcast_alignment", dma.broadcast_alignment);
  out.bytes("swap_alignment", dma.swap_alignment);
  out.bytes("window_alignment", dma.window_alignment);
  out.number("max_window_elements", dma.max_window_elements);
  out.number("max_pitch_elements", dma.max_pitch_elements);
  out.bytes("ring_bytes", dma.ring_bytes);
  out.number("queues_per_engine", dma.queues_per_engine);
  out.number("copy_dwords", dma.copy_dwords);
  out.number("broadcast_dwords", dma.broadcast_dwords);
  out.number("swap_dwords", dma.swap_dwords);
  out.number("window_dwords", dma.window_dwords);
  out.number("poll_dwords", dma.poll_dwords);
  out.number("atomic_dwords", dma.atomic_dwords);
  out.number("fence_dwords", dma.fence_dwords);
  out.number("timestamp_dwords", dma.timestamp_dwords);
  out.number("add_copy_dwords", dma.add_copy_dwords);
  out.section("features");
  out.flag("broadcast", machine.features.broadcast);
  out.flag("swap", machine.features.swap);
  out.flag("near_memory_compute", machine.features.near_memory_compute);
  if (const auto& tracker = machine.features.tracker) {
    out.section("tracker");
    out.number("entries", tracker->entries);
    out.bytes("granularity_bytes", tracker->granularity);
  }
}

/// A word where there is one, else the peers of every GPU.
std::string topology(const Machine& machine) {
  if (machine.timing && machine.timing->link.shape == LinkShape::switched) return quoted("switch");
  std::vector<std::string> peers;
  bool all = true;
  for (std::size_t src = 0; src < machine.linked.size(); ++src) {
    std::vector<std::size_t> of_one;
    for (std::size_t dst = 0; dst < machine.linked.size(); ++dst) {
      if (dst != src && machine.linked[src][dst]) of_one.push_back(dst);
    }
    all = all && of_one.size() + 1 == machine.linked.size();
    peers.push_back(fmt::format("[{}]", fmt::join(of_one, ", ")));
  }
  return all ? quoted("full-mesh") : fmt::format("[{}]", fmt::join(peers, ", "));
}

void write_links(MachineWriter& out, const Machine& machine) {
  out.section("links");
  out.entry("topology", topology(machine));
  if (machine.timing) {
    out.rate("rate_GBps", machine.timing->link.rate);
    out.rate("peak_GBps", machine.timing->link.peak);
    out.time("latency_ns", machine.timing->link.latency);
  }
  if (!machine.link_counts.empty()) out.tall("links.counts", table(machine.link_counts));
}

void write_host_and_engines(MachineWriter& out, const HostTiming& host, const EngineTiming& engine) {
  out.section("host");
  out.time("packet_ns", host.packet);
  out.time("submit_ns", host.submit);
  out.time("trigger_ns", host.trigger);
  out.time("poll_ns", host.poll);
  out.time("signal_ns", host.signal);
  out.section("engine_timing");
  out.time("fetch_ns", engine.fetch);
  out.time("wake_ns", engine.wake);
  out.time("copy_start_ns", engine.copy_start);
  out.time("copy_issue_ns", engine.copy_issue);
  out.number("copies_in_flight", engine.copies_in_flight);
  out.time("sync_ns", engine.sync);
  out.rate("rate_GBps", engine.rate);
  out.rate_if_any("broadcast_rate_GBps", engine.broadcast_rate);
  out.rate("local_rate_GBps", engine.local_rate);
  out.rate_if_any("detour_rate_GBps", engine.detour_rate);
  if (engine.threads > 0) out.number("threads", engine.threads);
}

void write_arbitration(MachineWriter& out, const MemoryArbitration& arbitration) {
  out.section("arbitration");
  const auto* policy =
      std::ranges::find(kArbitrationPolicies, arbitration.policy, [](const auto& entry) { return entry.second; });
  out.entry("policy", quoted(policy->first));
  out.number("queue_depth", arbitration.queue_depth);
  out.entry("thresholds", fmt::format("[{}]", fmt::join(arbitration.thresholds, ", ")));
  out.entry("intensities", fmt::format("[{}]", fmt::join(arbitration.intensities, ", ")));
  out.entry("starvation_share", fmt::format("{}", arbitration.starvation_share));
  out.entry("mixing_cost", fmt::format("{}", arbitration.mixing_cost));
}

void write_memory_and_cores(MachineWriter& out, const MemoryTiming& memory, const CoreTiming& cores) {
  out.section("memory");
  out.rate("peak_GBps", memory.peak);
  out.rate("rate_GBps", memory.rate);
  out.bytes("cache_bytes", memory.cache_bytes);
  out.rate_if_any("cache_rate_GBps", memory.cache_rate);
  if (!memory.node.empty()) {
    std::vector<std::uint64_t> caches;
    std::vector<double> rates;
    for (const NodeLevel& level : memory.node) {
      caches.push_back(level.cache_bytes.value);
      rates.push_back(level.rate.value);
    }
    out.entry("node_cache_bytes", fmt::format("[{}]", fmt::join(caches, ", ")));
    out.entry("node_rate_GBps", fmt::format("[{}]", fmt::join(rates, ", ")));
  }
  if (memory.update_cost != 1) out.entry("update_cost", fmt::format("{}", memory.update_cost));
  if (memory.arbitration) write_arbitration(out, *memory.arbitration);
  out.section("cores");
  out.time("launch_ns", cores.launch);
  out.time("call_ns", cores.call);
  out.time("start_ns", cores.start);
  out.time("flag_ns", cores.flag);
  out.rate("copy_rate_GBps", cores.copy_rate);
  out.rate("local_rate_GBps", cores.local_rate);
  out.entry("wire_efficiency", fmt::format("{}", cores.wire_efficiency));
  if (cores.sharpness > 0) out.entry("sharpness", fmt::format("{}", cores.sharpness));
  if (cores.collective_units > 0) out.number("collective_units", cores.collective_units);
}

void write_matrix(MachineWriter& out, std::string_view dtype, const MatrixTiming& matrix) {
  if (matrix.flops_per_clock == 0) return;
  out.number(fmt::format("{}_flops_per_clock", dtype), matrix.flops_per_clock);
  out.entry(fmt::format("{}_clock_GHz", dtype), fmt::format("{}", matrix.clock_ghz));
  out.entry(fmt::format("{}_efficiency", dtype), fmt::format("{}", matrix.efficiency));
}

void write_compute(MachineWriter& out, const ComputeTiming& compute) {
  out.section("compute");
  out.number("dies", compute.dies);
  out.bytes("l2_bytes", compute.l2_bytes);
  out.rate("l2_rate_GBps", compute.l2_rate);
  out.rate("unit_rate_GBps", compute.unit_rate);
  out.entry("operand_cost", fmt::format("{}", compute.operand_cost));
  out.time("tile_overhead_ns", compute.tile_overhead);
  out.bytes("stream_window_bytes", compute.stream_window);
  out.entry("thrash_ramp", fmt::format("{}", compute.thrash_ramp));
  out.entry("fabric_products", fmt::format("{}", compute.fabric_products));
  out.entry("fabric_links", fmt::format("{}", compute.fabric_links));
  out.entry("fabric_cores", fmt::format("{}", compute.fabric_cores));
  out.entry("copy_cost", fmt::format("{}", compute.copy_cost));
  write_matrix(out, "f32", compute.f32);
  write_matrix(out, "f16", compute.f16);
  write_matrix(out, "bf16", compute.bf16);
  write_matrix(out, "f8", compute.f8);
  if (const auto& stages = compute.stages) {
    out.section("stages");
    out.entry("read_share", fmt::format("{}", stages->read_share));
    out.number("cache_ways", stages->cache_ways);
  }
}

/// The section of a component and its curve; nothing for one that the machine does not describe.
void write_component(MachineWriter& out, Component which, const ComponentPower* power) {
  if (power == nullptr) return;
  out.section(fmt::format("power.{}", name_of(which)));
  out.entry("idle_W", fmt::format("{}", power->idle_w));
  out.entry("leakage_W", fmt::format("{}", power->leakage_w));
  out.entry("clock_W", fmt::format("{}", power->clock_w));
  out.entry("nominal_GHz", fmt::format("{}", power->nominal_ghz));
  out.entry("clocks_GHz", fmt::format("[{}]", fmt::join(power->curve.ghz, ", ")));
  out.entry("volts", fmt::format("[{}]", fmt::join(power->curve.volts, ", ")));
}

void write_power(MachineWriter& out, const Power& power, const std::optional<ComputeTiming>& compute) {
  // Of units that are parts of those of the model; 15 digits are those that survive the way there and back.
  const auto scaled = [&out](std::string_view key, double value, double parts) {
    out.entry(key, fmt::format("{:.15g}", value * parts));
  };
  constexpr double kPico = 1e12;
  constexpr double kNano = 1e9;
  out.section("power");
  out.entry("cap_W", fmt::format("{}", power.cap_w));
  out.entry("control_interval_us", fmt::format("{}", microseconds(power.control_interval)));
  scaled("clock_step_MHz", power.clock_step_ghz, 1e3);
  scaled("raise_MHz", power.raise_ghz, 1e3);
  out.entry("leakage_exponent", fmt::format("{}", power.leakage_exponent));
  out.entry("rest_idle_W", fmt::format("{}", power.rest_idle_w));
  out.entry("loss", fmt::format("{}", power.loss));
  if (power.xcd) {
    const ComputeTiming products = compute.value_or(ComputeTiming{});
    if (products.f32.flops_per_clock > 0) scaled("f32_flop_pJ", power.f32_flop, kPico);
    if (products.f16.flops_per_clock > 0) scaled("f16_flop_pJ", power.f16_flop, kPico);
    if (products.bf16.flops_per_clock > 0) scaled("bf16_flop_pJ", power.bf16_flop, kPico);
    if (products.f8.flops_per_clock > 0) scaled("f8_flop_pJ", power.f8_flop, kPico);
    scaled("l2_byte_pJ", power.l2_byte, kPico);
    out.entry("unit_W", fmt::format("{}", power.unit_w));
    out.entry("copy_clock_share", fmt::format("{}", power.copy_clock_share));
  }
  if (power.iod) {
    scaled("cache_byte_pJ", power.cache_byte, kPico);
    scaled("link_byte_pJ", power.link_byte, kPico);
    scaled("engine_byte_pJ", power.engine_byte, kPico);
    scaled("packet_nJ", power.packet, kNano);
    out.entry("polling_W", fmt::format("{}", power.polling_w));
  }
  if (power.hbm) scaled("hbm_byte_pJ", power.hbm_byte, kPico);
  for (const Component which : kComponents) write_component(out, which, power.component(which));
}

void write_affinity(MachineWriter& out, const Machine& machine) {
  if (machine.affinity.empty()) return;
  std::vector<std::vector<std::int64_t>> rows;
  for (const auto& engines : machine.affinity) {
    auto& row = rows.emplace_back();
    for (const auto& engine : engines) row.push_back(engine ? static_cast<std::int64_t>(engine->value) : -1);
  }
  out.tall("affinity", table(rows));
}

}  // namespace

std::string machine_text(const Machine& machine) {
  MachineWriter out(machine);
  write_shape(out, machine);
  write_dma(out, machine);
  write_links(out, machine);
  if (const auto& timing = machine.timing) {
    write_host_and_engines(out, timing->host, timing->engine);
    write_memory_and_cores(out, timing->memory, timing->cores);
    if (timing->compute) write_compute(out, *timing->compute);
    if (machine.power) write_power(out, *machine.power, timing->compute);
  }
  write_affinity(out, machine);
  return out.take();
}

}  // namespace cortado
