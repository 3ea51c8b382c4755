// Every key of a machine file, defined once: reader and writer are archives that walk these fields, in the order of a
// machine's provenance.
//
// archive.section(name, part) walks the keys of a section, which may be omitted if the part is optional. For keys:
// - field(key, value, limits...) is always present;
// - field_or(key, value, fallback, limits...) may be omitted, and is omitted when writing a value equal to the
//   fallback;
// - field_if(wanted, why_not, key, value, limits...) is present exactly if the machine has what it describes;
// - scaled(...) is field_if for a number that the file gives in fractions of the model's unit.
// archive.machine() is the machine as far as it is known: limits may depend on earlier keys. Lists that must agree and
// values that contradict each other are checked in checks.cpp.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "cortado/machine.hpp"

namespace cortado::internal {

/// The writer walks constant parts, the reader mutable ones.
template <class T, class Part>
concept Is = std::same_as<std::remove_const_t<T>, Part>;

// Bounds that no node reaches; they keep a mistyped file from requesting absurd amounts of memory.
inline constexpr std::uint32_t kMaxGpus = 1024;
inline constexpr std::uint64_t kMaxMemory = 1ULL << 48;
inline constexpr std::int64_t kMaxCache = std::int64_t{1} << 40;

// Limits of the packet format and of the driver, which no machine can exceed.
inline constexpr std::uint64_t kMaxPacketBytes = 1ULL << 30;  // 30-bit count of bytes - 1
inline constexpr std::uint64_t kMinRing = 1024;
inline constexpr std::uint64_t kMaxRing = 1ULL << 31;
inline constexpr std::uint64_t kMaxAlignment = 1ULL << 21;
inline constexpr std::uint32_t kMaxPacketDwords = 64;
inline constexpr std::uint32_t kMostDestinations = 8;  // of a multicast packet, a private packet of this project

// For rates, in GB/s.
inline constexpr double kSlowest = 0.001;
inline constexpr double kFastest = 1e6;

// Bounds that no GPU reaches.
inline constexpr double kMostWatts = 1e5;
inline constexpr double kMostVolts = 10;
inline constexpr double kLeastGhz = 0.001;
inline constexpr double kMostGhz = 100;
inline constexpr double kMostEvent = 1e6;  // watts, picojoules or nanojoules

inline constexpr double kPico = 1e12;
inline constexpr double kNano = 1e9;

template <class Archive, Is<DmaLimits> T>
void describe(Archive& archive, T& dma) {
  archive.field("max_copy_bytes", dma.max_copy_bytes, 1, kMaxPacketBytes);
  archive.field("max_swap_bytes", dma.max_swap_bytes, 1, kMaxPacketBytes);
  archive.field("broadcast_alignment", dma.broadcast_alignment, 1, kMaxAlignment);
  archive.field("swap_alignment", dma.swap_alignment, 1, kMaxAlignment);
  archive.field("window_alignment", dma.window_alignment, 1, kMaxAlignment);
  archive.field("max_window_elements", dma.max_window_elements, 1, 1ULL << 32);
  archive.field("max_pitch_elements", dma.max_pitch_elements, 1, 1ULL << 32);
  archive.field("ring_bytes", dma.ring_bytes, kMinRing, kMaxRing);
  archive.field("queues_per_engine", dma.queues_per_engine, 1, 1024);
  archive.field("copy_dwords", dma.copy_dwords, 1, kMaxPacketDwords);
  archive.field("broadcast_dwords", dma.broadcast_dwords, 1, kMaxPacketDwords);
  archive.field("swap_dwords", dma.swap_dwords, 1, kMaxPacketDwords);
  archive.field("window_dwords", dma.window_dwords, 1, kMaxPacketDwords);
  archive.field("poll_dwords", dma.poll_dwords, 1, kMaxPacketDwords);
  archive.field("atomic_dwords", dma.atomic_dwords, 1, kMaxPacketDwords);
  archive.field("fence_dwords", dma.fence_dwords, 1, kMaxPacketDwords);
  archive.field("timestamp_dwords", dma.timestamp_dwords, 1, kMaxPacketDwords);
  archive.field("add_copy_dwords", dma.add_copy_dwords, 1, kMaxPacketDwords);
}

template <class Archive, Is<Features> T>
void describe(Archive& archive, T& features) {
  archive.field("broadcast", features.broadcast);
  archive.field("swap", features.swap);
  archive.field("near_memory_compute", features.near_memory_compute);
  archive.section("tracker", features.tracker);
  archive.section("multicast", features.multicast);
  archive.section("fused_packets", features.fused_packets);
  archive.section("indirect", features.indirect);
  archive.section("engine_add", features.engine_add);
  archive.section("device_initiated", features.device_initiated);
}

template <class Archive, Is<MulticastPackets> T>
void describe(Archive& archive, T& multicast) {
  archive.field("destinations", multicast.destinations, 2, kMostDestinations);
  archive.field("rate_GBps", multicast.rate);
}

template <class Archive, Is<FusedPackets> T>
void describe(Archive& archive, T& fused) {
  archive.field("sync_ns", fused.sync);
}

template <class Archive, Is<IndirectPackets> T>
void describe(Archive& archive, T& indirect) {
  archive.field("entries", indirect.entries, 1, 1U << 20);
  archive.field("entry_ns", indirect.entry);
}

template <class Archive, Is<EngineAdd> T>
void describe(Archive& archive, T& adds) {
  archive.field("rate_GBps", adds.rate);
}

template <class Archive, Is<DeviceInitiated> T>
void describe(Archive& archive, T& initiated) {
  archive.field("packet_ns", initiated.packet);
  archive.field("submit_ns", initiated.submit);
}

template <class Archive, Is<TrackerLimits> T>
void describe(Archive& archive, T& tracker) {
  archive.field("entries", tracker.entries, 1, 1U << 20);
  archive.field("granularity_bytes", tracker.granularity, 1, archive.machine().memory_bytes.value);
}

template <class Archive, Is<HostTiming> T>
void describe(Archive& archive, T& host) {
  archive.field("packet_ns", host.packet);
  archive.field("submit_ns", host.submit);
  archive.field("trigger_ns", host.trigger);
  archive.field("poll_ns", host.poll);
  archive.field("signal_ns", host.signal);
  archive.field_or("gpus", host.gpus, 0U, 1U, archive.machine().gpus);
}

template <class Archive, Is<EngineTiming> T>
void describe(Archive& archive, T& engine) {
  archive.field("fetch_ns", engine.fetch);
  archive.field("wake_ns", engine.wake);
  archive.field("copy_start_ns", engine.copy_start);
  archive.field("copy_issue_ns", engine.copy_issue);
  archive.field("copies_in_flight", engine.copies_in_flight, 1, 1024);
  archive.field("sync_ns", engine.sync);
  archive.field("rate_GBps", engine.rate);
  archive.field_or("uncached_rate_GBps", engine.uncached_rate, GBps{});
  archive.field_if(archive.machine().features.broadcast, "features.broadcast is false", "broadcast_rate_GBps",
                   engine.broadcast_rate);
  archive.field("local_rate_GBps", engine.local_rate);
  archive.field_or("detour_rate_GBps", engine.detour_rate, GBps{});
  archive.field_or("threads", engine.threads, 0U, 1U, 1024U);
}

template <class Archive, Is<LinkTiming> T>
void describe(Archive& archive, T& link) {
  archive.field("rate_GBps", link.rate);
  archive.field("peak_GBps", link.peak);
  archive.field("latency_ns", link.latency);
}

template <class Archive, Is<MemoryArbitration> T>
void describe(Archive& archive, T& arbitration) {
  archive.word("policy", arbitration.policy, kArbitrationPolicies);
  archive.field("queue_depth", arbitration.queue_depth, 1, 1U << 20);
  archive.field("thresholds", arbitration.thresholds, 1, arbitration.queue_depth);
  archive.field("intensities", arbitration.intensities, 0, 1);
  archive.field("starvation_share", arbitration.starvation_share, 0, 1);
  archive.field("mixing_cost", arbitration.mixing_cost, 1, 1000);
}

/// Two lists of the file, each with one entry per level.
template <class Archive, class Levels>
void describe_node_levels(Archive& archive, Levels& levels) {
  if (!archive.given(!levels.empty(), {"node_cache_bytes", "node_rate_GBps"})) return;
  std::vector<std::uint64_t> caches;
  std::vector<double> rates;
  for (const NodeLevel& level : levels) {
    caches.push_back(level.cache_bytes.value);
    rates.push_back(level.rate.value);
  }
  archive.field("node_cache_bytes", caches, 0, kMaxCache);
  archive.field("node_rate_GBps", rates, kSlowest, kFastest);
  if constexpr (!std::is_const_v<Levels>) {
    archive.same_length("node_rate_GBps", rates.size(), "node_cache_bytes", caches.size());
    levels.clear();
    for (std::size_t i = 0; i < caches.size() && i < rates.size(); ++i) levels.push_back({{caches[i]}, {rates[i]}});
  }
}

template <class Archive, Is<MemoryTiming> T>
void describe(Archive& archive, T& memory) {
  archive.field("peak_GBps", memory.peak);
  archive.field("rate_GBps", memory.rate);
  archive.field("cache_bytes", memory.cache_bytes, 0, archive.machine().memory_bytes.value);
  archive.field_if(memory.cache_bytes.value > 0, "memory.cache_bytes is 0", "cache_rate_GBps", memory.cache_rate);
  describe_node_levels(archive, memory.node);
  archive.field_or("update_cost", memory.update_cost, 1.0, 1, 1000);
  archive.section("arbitration", memory.arbitration);
}

template <class Archive, Is<CoreTiming> T>
void describe(Archive& archive, T& cores) {
  archive.field("launch_ns", cores.launch);
  archive.field("call_ns", cores.call);
  archive.field("start_ns", cores.start);
  archive.field("flag_ns", cores.flag);
  archive.field("copy_rate_GBps", cores.copy_rate);
  archive.field("local_rate_GBps", cores.local_rate);
  archive.field("wire_efficiency", cores.wire_efficiency, 0.001, 1);
  archive.field_or("sharpness", cores.sharpness, 0.0, 1, 100);
  archive.field_or("collective_units", cores.collective_units, 0U, 1U, archive.machine().compute_units);
  archive.field_or("beside_products", cores.beside_products, 1.0, 0.001, 1.0);
}

template <class Archive, Is<StageTiming> T>
void describe(Archive& archive, T& stages) {
  archive.field("read_share", stages.read_share, 0, 1);
  archive.field("cache_ways", stages.cache_ways, 1, 1024);
}

/// All three keys of an element type, or none.
template <class Archive, Is<MatrixTiming> T>
void describe_matrix(Archive& archive, std::string_view dtype, T& matrix) {
  const auto key = [dtype](std::string_view what) { return fmt::format("{}_{}", dtype, what); };
  const std::string flops = key("flops_per_clock");
  const std::string clock = key("clock_GHz");
  const std::string efficiency = key("efficiency");
  if (!archive.given(matrix.flops_per_clock > 0, {flops, clock, efficiency})) return;
  archive.field(flops, matrix.flops_per_clock, 1, 1U << 20);
  archive.field(clock, matrix.clock_ghz, kLeastGhz, kMostGhz);
  archive.field(efficiency, matrix.efficiency, 0.001, 1);
}

template <class Archive, Is<ComputeTiming> T>
void describe(Archive& archive, T& compute) {
  archive.field("dies", compute.dies, 1, archive.machine().compute_units);
  archive.field("l2_bytes", compute.l2_bytes, 1, archive.machine().memory_bytes.value);
  archive.field("l2_rate_GBps", compute.l2_rate);
  archive.field("unit_rate_GBps", compute.unit_rate);
  archive.field("operand_cost", compute.operand_cost, 0, 1000);
  archive.field("tile_overhead_ns", compute.tile_overhead);
  archive.field_or("start_ns", compute.start, Nanoseconds{});
  archive.field_or("poll_ns", compute.poll, Nanoseconds{});
  archive.field_or("wave_rounding", compute.wave_rounding, 1.0, 0, 1);
  archive.field_or("step_latency_ns", compute.step_latency_ns, 0.0, 0, 1000);
  archive.field_or("residency", compute.residency, 0.0, 0.1, 100);
  archive.field_or("overlap_sharpness", compute.overlap_sharpness, 0.0, 1, 100);
  archive.field_or("write_rate_GBps", compute.write_rate, GBps{});
  archive.field_or("first_bytes_ns", compute.first_bytes, Nanoseconds{});
  archive.field_or("split_ns", compute.split_time, Nanoseconds{});
  archive.field_or("split_rate_GBps", compute.split_rate, GBps{});
  archive.field_or("warm_share", compute.warm_share, 0.0, 0, 1);
  const ComputeTiming usual;
  archive.field_or("tile_sides", compute.tile_sides, usual.tile_sides, 8, 1024);
  archive.field_or("anchor_sides", compute.anchor_sides, usual.anchor_sides, 8, 1024);
  archive.field_or("most_tile", compute.most_tile, usual.most_tile, std::uint64_t{64}, std::uint64_t{1} << 20);
  archive.field_or("splits", compute.splits, usual.splits, 1, 256);
  archive.field_or("least_depth", compute.least_depth, usual.least_depth, std::uint64_t{1}, std::uint64_t{1} << 20);
  if (archive.given(compute.stream_window.value > 0, {"stream_window_bytes", "thrash_ramp"})) {
    archive.field("stream_window_bytes", compute.stream_window, 1, compute.l2_bytes.value);
    archive.field("thrash_ramp", compute.thrash_ramp, 0.001, 1000);
  }
  archive.field("fabric_products", compute.fabric_products, 0, 1);
  archive.field("fabric_links", compute.fabric_links, 0, 1);
  archive.field("fabric_cores", compute.fabric_cores, 1, 1000);
  archive.section("stages", compute.stages);
  describe_matrix(archive, "f32", compute.f32);
  describe_matrix(archive, "f16", compute.f16);
  describe_matrix(archive, "bf16", compute.bf16);
  describe_matrix(archive, "f8", compute.f8);
  describe_matrix(archive, "i8", compute.i8);
  archive.field_or("block_scale_efficiency", compute.block_scale_efficiency, 0.0, 0.01, 1);
}

template <class Archive, Is<ProtocolTiming> T>
void describe(Archive& archive, T& protocol) {
  archive.field("start_ns", protocol.start);
  archive.field("step_ns", protocol.step);
  archive.field("unit_rate_GBps", protocol.unit_rate);
  archive.field("local_rate_GBps", protocol.local_rate);
  archive.field("wire_efficiency", protocol.wire_efficiency, 0.001, 1);
  archive.field_or("unit_bytes", protocol.unit_bytes, Bytes{}, 1U, kMaxMemory);
  archive.field_or("units", protocol.units, 0U, 1U, archive.machine().compute_units);
}

template <class Archive, Is<RingProtocol> T>
void describe(Archive& archive, T& protocol) {
  describe(archive, protocol.timing);
  archive.field("estimate_base_ns", protocol.estimate.base);
  archive.field("estimate_hop_ns", protocol.estimate.hop);
  archive.field("estimate_bus_GBps", protocol.estimate.bus);
}

template <class Archive, Is<MulticastTiming> T>
void describe(Archive& archive, T& multicast) {
  archive.field("start_ns", multicast.start);
  archive.field("loop_ns", multicast.loop);
  archive.field("fill_loops", multicast.fill, 0, 100);
  archive.field("wire_efficiency", multicast.wire_efficiency, 0.001, 1);
  archive.field("units", multicast.units, 1, archive.machine().compute_units);
  archive.field("estimate_base_ns", multicast.estimate_base);
  archive.field("estimate_efficiency", multicast.estimate_efficiency, 0.001, 1);
  archive.field("estimate_rates_GBps", multicast.estimate_rates, kSlowest, kFastest);
  archive.field("estimate_port_GBps", multicast.estimate_port);
}

template <class Archive, Is<LibraryTiming> T>
void describe(Archive& archive, T& library) {
  archive.field("name", library.name);
  archive.field("staged", library.staged);
  archive.field_or("direct_bytes", library.direct_bytes, Bytes{}, 1U, kMaxMemory);
  archive.field_or("direct_ll_bytes", library.direct_ll_bytes, Bytes{}, 1U, kMaxMemory);
  archive.field("send_units", library.send_units, 1, archive.machine().compute_units);
  archive.field_or("send_ll_bytes", library.send_ll_bytes, Bytes{}, 1U, kMaxMemory);
  archive.field_or("batch_bytes", library.batch_bytes, Bytes{}, 1U, kMaxMemory);
  archive.section("library.ll", library.ll);
  archive.section("library.ll128", library.ll128);
  archive.section("library.simple", library.simple);
  archive.section("library.sends", library.sends);
  archive.section("library.multicast", library.multicast);
}

template <class Archive, Is<KernelTiming> T>
void describe(Archive& archive, T& kernels) {
  archive.field("gap_ns", kernels.gap);
  archive.field("softmax_per_clock", kernels.softmax_per_clock, 0.001, 1000);
  archive.field("attention_backward", kernels.attention_backward, 0.01, 10);
  archive.field("attention_read_share", kernels.attention_read_share, 0.01, 1);
  archive.field("stream_share", kernels.stream_share, 0.01, 1);
}

template <class Archive, Is<ServingTiming> T>
void describe(Archive& archive, T& serving) {
  archive.field("all_reduce_bytes", serving.all_reduce_bytes, 1, kMaxMemory);
  archive.field_or("sequence_ns", serving.sequence, Nanoseconds{});
  archive.field_or("request_ns", serving.request, Nanoseconds{});
}

template <class Archive, Is<HostLinkTiming> T>
void describe(Archive& archive, T& link) {
  archive.field("to_gpu_GBps", link.to_gpu);
  archive.field("from_gpu_GBps", link.from_gpu);
  archive.field("both_GBps", link.both);
  archive.field("units_to_gpu_GBps", link.units_to_gpu);
  archive.field("units_from_gpu_GBps", link.units_from_gpu);
  archive.field("units_both_GBps", link.units_both);
  archive.field("units", link.units, 1, archive.machine().compute_units);
  archive.field_or("gpus_per_port", link.gpus_per_port, 1U, 1U, kMaxGpus);
  archive.field("numa_nodes", link.numa_nodes, 1, kMaxGpus);
  archive.field("memory_GBps", link.memory);
  archive.field("engines_to_gpu", link.engines_to_gpu, 0, 255);
  archive.field("engines_from_gpu", link.engines_from_gpu, 0, 255);
  archive.field("slow_engines", link.slow_engines, 0, 255);
  archive.field_or("slow_from_gpu_GBps", link.slow_from_gpu, GBps{});
}

template <class Archive, Is<RuntimeTiming> T>
void describe(Archive& archive, T& runtime) {
  archive.field("call_ns", runtime.call);
  archive.field("copy_to_gpu_ns", runtime.copy_to_gpu);
  archive.field("copy_from_gpu_ns", runtime.copy_from_gpu);
  archive.field("rate_GBps", runtime.rate);
  archive.field("descriptor_ns", runtime.descriptor);
  archive.field_or("batch_copy_ns", runtime.batch_copy, Nanoseconds{});
  archive.field("batch", runtime.batch, 1, 1U << 20);
  archive.field_or("small_batch_bytes", runtime.small_batch_bytes, Bytes{}, 1ULL, 1ULL << 30);
  archive.field_or("small_batch_rate_GBps", runtime.small_batch_rate, GBps{});
  archive.field("kernel_copy_ns", runtime.kernel_copy);
  archive.field_or("shader_bytes", runtime.shader_bytes, Bytes{}, 1ULL, 1ULL << 30);
  archive.field_or("shader_copy_ns", runtime.shader_copy, Nanoseconds{});
  archive.field_or("shader_batch_copy_ns", runtime.shader_batch_copy, Nanoseconds{});
}

template <class Archive, Is<NetworkTiming> T>
void describe(Archive& archive, T& network) {
  archive.field("rate_GBps", network.rate);
  archive.field("latency_ns", network.latency);
}

template <class Archive, Is<Timing> T>
void describe(Archive& archive, T& timing) {
  archive.section("host", timing.host);
  archive.section("engine_timing", timing.engine);
  archive.section("links", timing.link);
  archive.section("memory", timing.memory);
  archive.section("cores", timing.cores);
  archive.section("compute", timing.compute);
  archive.section("library", timing.library);
  archive.section("kernels", timing.kernels);
  archive.section("serving", timing.serving);
  archive.section("network", timing.network);
  archive.section("host_link", timing.host_link);
  archive.section("runtime", timing.runtime);
}

template <class Archive, Is<ComponentPower> T>
void describe(Archive& archive, T& power) {
  archive.field("idle_W", power.idle_w, 0, kMostWatts);
  archive.field("leakage_W", power.leakage_w, 0, kMostWatts);
  archive.field("clock_W", power.clock_w, 0, kMostWatts);
  archive.field("nominal_GHz", power.nominal_ghz, kLeastGhz, kMostGhz);
  archive.field("clocks_GHz", power.curve.ghz, kLeastGhz, kMostGhz);
  archive.field("volts", power.curve.volts, 0.001, kMostVolts);
}

/// Events of a component that the machine does not describe draw nothing, and have no keys.
template <class Archive, Is<Power> T>
void describe_events(Archive& archive, T& power) {
  const bool xcd = archive.given(power.xcd.has_value(), {"xcd"});
  const bool iod = archive.given(power.iod.has_value(), {"iod"});
  const bool hbm = archive.given(power.hbm.has_value(), {"hbm"});
  constexpr std::string_view kNoXcd = "there is no [power.xcd]";
  constexpr std::string_view kNoIod = "there is no [power.iod]";
  const auto& timing = archive.machine().timing;
  const ComputeTiming products = timing ? timing->compute.value_or(ComputeTiming{}) : ComputeTiming{};
  const auto flop = [&](std::string_view key, auto& joules, const MatrixTiming& matrix) {
    const bool multiplies = matrix.flops_per_clock > 0;
    archive.scaled(xcd && multiplies, multiplies ? kNoXcd : "the machine has no GEMMs of this type", key, joules, kPico,
                   0, kMostEvent);
  };
  flop("f32_flop_pJ", power.f32_flop, products.f32);
  flop("f16_flop_pJ", power.f16_flop, products.f16);
  flop("bf16_flop_pJ", power.bf16_flop, products.bf16);
  flop("f8_flop_pJ", power.f8_flop, products.f8);
  flop("i8_flop_pJ", power.i8_flop, products.i8);
  archive.scaled(xcd, kNoXcd, "l2_byte_pJ", power.l2_byte, kPico, 0, kMostEvent);
  archive.field_if(xcd, kNoXcd, "unit_W", power.unit_w, 0, kMostEvent);
  archive.field_if(xcd, kNoXcd, "copy_clock_share", power.copy_clock_share, 0, 1);
  archive.scaled(iod, kNoIod, "cache_byte_pJ", power.cache_byte, kPico, 0, kMostEvent);
  archive.scaled(iod, kNoIod, "link_byte_pJ", power.link_byte, kPico, 0, kMostEvent);
  archive.scaled(iod, kNoIod, "engine_byte_pJ", power.engine_byte, kPico, 0, kMostEvent);
  archive.scaled(iod, kNoIod, "packet_nJ", power.packet, kNano, 0, kMostEvent);
  archive.field_if(iod, kNoIod, "polling_W", power.polling_w, 0, kMostEvent);
  archive.scaled(hbm, "there is no [power.hbm]", "hbm_byte_pJ", power.hbm_byte, kPico, 0, kMostEvent);
}

template <class Archive, Is<Power> T>
void describe(Archive& archive, T& power) {
  archive.field("cap_W", power.cap_w, 1, kMostWatts);
  archive.microseconds("control_interval_us", power.control_interval, 1, 1e6);
  archive.scaled(true, {}, "clock_step_MHz", power.clock_step_ghz, 1e3, 0.001, 1e4);
  archive.scaled(true, {}, "raise_MHz", power.raise_ghz, 1e3, power.clock_step_ghz * 1e3 * (1 - 1e-9), 1e6);
  archive.field_or("burst_ms", power.burst_ms, 0.0, 0, 1e6);
  archive.field("leakage_exponent", power.leakage_exponent, 0, 10);
  archive.field("rest_idle_W", power.rest_idle_w, 0, kMostWatts);
  archive.field("loss", power.loss, 0, 1);
  describe_events(archive, power);
  archive.section("power.xcd", power.xcd);
  archive.section("power.iod", power.iod);
  archive.section("power.hbm", power.hbm);
}

/// [machine], whose name and title have no source.
template <class Archive, Is<Machine> T>
void describe(Archive& archive, T& machine) {
  archive.text("name", machine.name);
  archive.text("title", machine.title);
  archive.field("gpu", machine.gpu);
  archive.field("gpus", machine.gpus, 1, kMaxGpus);
  archive.field("compute_units", machine.compute_units, 1, 65536);
  archive.field("memory_bytes", machine.memory_bytes, 1, kMaxMemory);
  archive.field("allocation_alignment", machine.allocation_alignment, 256, kMaxAlignment);
}

/// The whole file. Engines, topology, link counts and affinity have forms of their own, in the archives.
template <class Archive, Is<Machine> T>
void describe_file(Archive& archive, T& machine) {
  archive.section("machine", machine);
  archive.engines(machine);
  archive.section("dma", machine.dma);
  archive.section("features", machine.features);
  archive.links(machine);
  archive.affinity(machine);
  archive.timing(machine.timing);
  archive.section("power", machine.power);
}

}  // namespace cortado::internal
