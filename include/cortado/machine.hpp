// A Machine: the GPUs of one node, their DMA engines, the links between them, the limits of their packets, and the
// data for the models of time and power.
//
// Machines are data files (machines/*.toml); every value in them carries its source and a confidence:
//   A vendor driver, runtime source or documentation; B measured and published; C third-party; D derived by arithmetic;
//   assumption: not known, chosen by us.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/result.hpp"

// --- Timing ----------------------------------------------------------------------------------------------------------
//
// Data for the simulator; docs/models.md gives the equations.

namespace cortado {

/// Costs of the host thread that drives the engines. Sources and fits: docs/models.md.
struct HostTiming {
  Nanoseconds packet;   ///< build one packet and write it into the ring buffer
  Nanoseconds submit;   ///< fences, write pointer and doorbell of one submission
  Nanoseconds trigger;  ///< write one trigger word
  Nanoseconds poll;     ///< read one signal
  Nanoseconds signal;   ///< raise one signal from the host
  /// GPUs of one computer: a thread drives the engines of its own computer only. 0 = all GPUs of the machine.
  std::uint32_t gpus = 0;
};

/// One DMA engine. Phases of one copy: fetch, copy_start, bytes / rate, sync.
struct EngineTiming {
  Nanoseconds fetch;                   ///< doorbell until the first packet is read
  Nanoseconds wake;                    ///< a polled word changes until the poll sees it
  Nanoseconds copy_start;              ///< packet read until the first byte moves
  Nanoseconds copy_issue;              ///< between the starts of consecutive copies of a queue, which may overlap
  std::uint32_t copies_in_flight = 1;  ///< copies of one queue that move bytes at the same time
  Nanoseconds sync;                    ///< last byte written until the signal is visible to its waiters
  GBps rate;            ///< bytes written per second by copies and swaps (both directions of a swap together)
  GBps uncached_rate;   ///< the same for bytes that the last-level cache does not hold; 0 = no slower
  GBps broadcast_rate;  ///< bytes written per second by broadcasts, both destinations together; 0 = no broadcast
  GBps local_rate;      ///< bytes per second of a copy within one GPU
  /// All engines of a GPU together: bytes per second over links for which the affinity table names another engine
  /// than the one that moves them. 0 = such bytes are as fast as others.
  GBps detour_rate{};
  /// Software engines: the dma and host queues of the whole node take turns on this many threads, and a copy of a
  /// queue ends before the next one starts. 0 = hardware engines.
  std::uint32_t threads = 0;
};

enum class LinkShape {
  mesh,      ///< a separate link for every connected pair and direction
  switched,  ///< one port per GPU and direction into a non-blocking switch
};

struct LinkTiming {
  LinkShape shape = LinkShape::mesh;
  GBps rate;  ///< achieved, one direction, of a link (mesh) or of a GPU's port (switched)
  GBps peak;  ///< theoretical
  Nanoseconds latency;
};

/// A boundary in the memory that all GPUs of the node share.
struct NodeLevel {
  Bytes cache_bytes;  ///< capacity of the caches on this side of it
  GBps rate;          ///< reads and writes of all GPUs together that cross it
  friend bool operator==(const NodeLevel&, const NodeLevel&) = default;
};

/// Which requests a full memory serves: those of GEMMs (compute) or those of copies (communication).
enum class ArbitrationPolicy {
  round_robin,    ///< alternating
  compute_first,  ///< communication gets the rest, at least starvation_share
  mca,            ///< communication is admitted while fewer requests than a threshold wait; docs/models.md
};

inline constexpr std::array<std::pair<std::string_view, ArbitrationPolicy>, 3> kArbitrationPolicies{
    {{"round-robin", ArbitrationPolicy::round_robin},
     {"compute-first", ArbitrationPolicy::compute_first},
     {"mca", ArbitrationPolicy::mca}}};

struct MemoryArbitration {
  ArbitrationPolicy policy = ArbitrationPolicy::round_robin;
  std::uint32_t queue_depth = 0;  ///< requests that wait at a full memory
  /// mca: one threshold for each class of memory intensity of a GEMM, the share of time that its first stage spends
  /// on the memory. A threshold of queue_depth admits all.
  std::vector<std::uint32_t> thresholds;
  std::vector<double> intensities;  ///< where the next class begins, ascending; one fewer than thresholds
  double starvation_share = 0;      ///< share of the memory that communication always gets
  /// Fabric use of communication whose requests alternate with those of a GEMM, relative to requests that are admitted
  /// separately: alternating requests cause row-buffer misses and bus turnarounds. Interpolated by the share that
  /// communication gets.
  double mixing_cost = 1;
};

/// Memory of one GPU.
struct MemoryTiming {
  GBps peak;          ///< theoretical, reads and writes together
  GBps rate;          ///< achievable
  Bytes cache_bytes;  ///< last-level cache at the memory; 0 = none
  GBps cache_rate;    ///< 0 = no cache
  /// If all GPUs share one memory: boundaries from the nearest to the farthest; empty: each GPU has its own memory.
  std::vector<NodeLevel> node{};
  double update_cost = 1;  ///< time of a byte that the memory adds, relative to one that it stores
  std::optional<MemoryArbitration> arbitration{};  ///< none: every flow gets the same share of its full speed
};

/// Compute units that copy, as in GPU-core collective libraries.
struct CoreTiming {
  Nanoseconds launch;          ///< a kernel launch, for the host
  Nanoseconds call;            ///< one more library call after the same launch (a send, a receive)
  Nanoseconds start;           ///< launch to the first instruction
  Nanoseconds flag;            ///< raising a flag in a peer's memory until the peer sees it
  GBps copy_rate;              ///< bytes per second that one compute unit moves to a peer
  GBps local_rate;             ///< bytes per second that one compute unit reads or writes in its own memory
  double wire_efficiency = 1;  ///< share of the link rate that stores from compute units reach
  /// How sharp the corner is between too few compute units for a link and enough: with u units and a link that carries
  /// L, rate^-s = (u * copy_rate)^-s + L^-s. 0 = a sharp corner, the smaller of both.
  double sharpness = 0;
  /// Compute units that a collective library uses by default, twice as many for sends and receives; 0 = the whole GPU.
  std::uint32_t collective_units = 0;
  /// Share of copy_rate that remains while GEMMs run on the same GPU: stores wait behind their traffic.
  double beside_products = 1;
};

/// A protocol by which kernels of a collective library move bytes between GPUs (Protocol of program.hpp).
struct ProtocolTiming {
  Nanoseconds start;  ///< launch to the first byte
  Nanoseconds step;   ///< last byte stored until the next GPU continues: fence or flag, poll, barrier of the block
  GBps unit_rate;     ///< bytes per second that one compute unit sends
  GBps local_rate;    ///< bytes per second that one compute unit unpacks or adds up within its GPU
  double wire_efficiency = 1;  ///< share of the link rate that payload reaches
  Bytes unit_bytes;            ///< one more compute unit for every so many bytes of a block; 0 = always all
  std::uint32_t units = 0;     ///< of a ring, at most; 0 = as many as the collective has
};

/// The library's own estimate of a protocol on rings, by which it chooses even where the estimate is wrong:
/// base + hops x hop + bytes / (bus x ranks / hops).
struct ProtocolEstimate {
  Nanoseconds base;
  Nanoseconds hop;
  GBps bus;
};

struct RingProtocol {
  ProtocolTiming timing;
  ProtocolEstimate estimate;
};

/// Reductions in the switch (NVLS): a GPU's part of the sum goes in loops of `units` x chunk bytes.
struct MulticastTiming {
  Nanoseconds start;           ///< launch to the first loop
  Nanoseconds loop;            ///< of every loop, in addition to its bytes
  double fill = 0;             ///< loops until the first one completes
  double wire_efficiency = 1;  ///< share of the port rate
  std::uint32_t units = 0;     ///< compute units used
  // The library's own estimate: base + bytes / (efficiency x ranks x rate), with the highest of the rates at which
  // `ranks` channels together do not exceed the port.
  Nanoseconds estimate_base;
  double estimate_efficiency = 0;
  std::vector<double> estimate_rates;  ///< GB/s of a channel, descending
  GBps estimate_port;
};

/// The collective library of a machine, NCCL or RCCL: what it runs and what it costs. Sources and fits:
/// docs/models.md.
struct LibraryTiming {
  std::string name;
  /// The last block of a gathering ring goes through staging memory. True: nothing hides its unpacking; false: it is
  /// unpacked while other channels keep the links busy.
  bool staged = false;
  Bytes direct_bytes;        ///< up to this size, direct kernels run (cores-ll, cores-simple); 0 = never
  Bytes direct_ll_bytes;     ///< of these, up to this size cores-ll
  std::uint32_t send_units;  ///< compute units of sends and receives, all peers together
  Bytes send_ll_bytes;       ///< sends to one peer up to this size use the protocol ll
  /// Collectives on copy engines: a batch of copies smaller than this goes back to back through one engine; larger ones
  /// have an engine each, with a coordinator that starts and joins them. 0 = an engine each, without coordinator.
  Bytes batch_bytes{};
  RingProtocol ll;
  std::optional<RingProtocol> ll128{};
  RingProtocol simple;
  ProtocolTiming sends;
  std::optional<MulticastTiming> multicast{};
};

/// GEMMs of one element type on one compute unit.
struct MatrixTiming {
  std::uint32_t flops_per_clock = 0;  ///< multiplications and additions; 0 = the machine has no such GEMMs
  double clock_ghz = 0;               ///< sustained under such a load
  double efficiency = 0;              ///< of the pipes at that clock, within an endless tile
  friend bool operator==(const MatrixTiming&, const MatrixTiming&) = default;
};

/// GEMMs in stages: all workgroups that run together read, then multiply, then store.
struct StageTiming {
  double read_share = 0;  ///< share of the operands that is read before multiplying starts; the rest is read meanwhile
  std::uint32_t cache_ways = 0;  ///< of the last-level cache, which may hold operands of a stage (docs/models.md)
  friend bool operator==(const StageTiming&, const StageTiming&) = default;
};

/// Compute units, and the caches before the last-level one, as GEMMs use them. docs/models.md has the equations.
struct ComputeTiming {
  std::uint32_t dies = 1;     ///< dies with an L2 each; workgroups go to them in turn
  Bytes l2_bytes;             ///< of one die
  GBps l2_rate;               ///< of one die: operands that its units read; multicast counts for each unit
  GBps unit_rate;             ///< bytes per second that one compute unit can read from beyond its L2
  double operand_cost = 0;    ///< of loading a row of A or a column of B into the pipes, in multiply-adds
  Nanoseconds tile_overhead;  ///< of a wave, in addition to its multiplications: first loads, stores of the result
  Nanoseconds start{};        ///< of a GEMM in a stream, after the previous kernel; then only waves after the first
                              ///< have tile_overhead. 0 = cores.start, and every wave has tile_overhead
  Nanoseconds poll{};         ///< of a waiting tile: to read its flag, bypassing the caches, once it is raised
  double wave_rounding =
      1;  ///< 1: a partial last wave takes as long as a full one; 0: its work is divided among all units
  double step_latency_ns = 0;    ///< least time of a workgroup for a step of k
  double residency = 0;          ///< workgroups of 128 x 128 that a unit holds at a time; 0 = one of any size
  double overlap_sharpness = 0;  ///< p of (a^p + b^p)^(1/p) for concurrent activities; 0 = the longest
  GBps write_rate{};             ///< stores of C; 0 = they count as memory traffic only
  Nanoseconds first_bytes{};     ///< until the memory streams at its full rate
  Nanoseconds split_time{};      ///< of the pass that adds the sums of a split GEMM
  GBps split_rate{};             ///< of these sums, in f32, out and in
  double warm_share = 0;         ///< share of L2 that still holds operands of the previous kernels
  /// Sides of tiles for which kernels exist; one side is from anchor_sides, and a tile has at most most_tile elements.
  std::vector<std::uint32_t> tile_sides{32, 64, 128, 256};
  std::vector<std::uint32_t> anchor_sides{32, 64, 128, 256};
  std::uint64_t most_tile = 65536;
  std::vector<std::uint32_t> splits{1, 2, 4, 8, 16};  ///< workgroups that share the k of a tile
  std::uint64_t least_depth = 2048;                   ///< steps of k that justify another workgroup
  Bytes stream_window{};   ///< L2 that a workgroup's operands need in order to be read only once; 0 = L2 is ample
  double thrash_ramp = 0;  ///< excess over L2, as a share of it, at which everything is read twice
  /// Contention of GEMMs and links besides caches and memory, as shares of the GPU's fabric.
  double fabric_products = 0;  ///< GEMMs on all compute units at full speed
  double fabric_links = 0;     ///< all links at full rate in both directions, driven by engines
  double fabric_cores = 1;     ///< a byte that compute units send over a link, relative to one that an engine sends
  std::optional<StageTiming> stages{};  ///< none: reads and stores are spread over the life of a workgroup
  MatrixTiming f32;
  MatrixTiming f16;
  MatrixTiming bf16;
  MatrixTiming f8;
  MatrixTiming i8;
  /// Rate with scales for blocks of the operands, relative to that without; 0 = not known.
  double block_scale_efficiency = 0;
  friend bool operator==(const ComputeTiming&, const ComputeTiming&) = default;
};

/// Kernels that are neither GEMMs nor copies: attention, norms, activations. docs/models.md has the equations.
struct KernelTiming {
  Nanoseconds gap{};              ///< between two kernels of a framework's stream, in addition to the second one's time
  double softmax_per_clock = 0;   ///< scores that one compute unit turns into weights per clock
  double attention_backward = 1;  ///< rate of attention's backward pass relative to its forward pass
  double attention_read_share = 1;  ///< of memory.rate: rate at which attention reads the cached keys and values
  double stream_share = 1;          ///< of memory.rate: rate of kernels that read and write once
};

/// Serving engines: direct all-reduce kernels instead of the library's, up to a size; and host time.
struct ServingTiming {
  Bytes all_reduce_bytes{};
  Nanoseconds sequence{};  ///< host time between two steps, for each sequence of a step: schedule, inputs, outputs
  Nanoseconds request{};   ///< from the arrival of a request to its first step, and from its last kernel to the token
};

/// The link of a GPU to the memory of the host, and that memory. Sources: docs/models.md, "Host memory".
struct HostLinkTiming {
  GBps to_gpu;  ///< by DMA engines, one direction at a time
  GBps from_gpu;
  GBps both;          ///< both directions at once, together
  GBps units_to_gpu;  ///< the same by compute units
  GBps units_from_gpu;
  GBps units_both;
  std::uint32_t units = 0;                    ///< compute units of a copy kernel
  std::uint32_t gpus_per_port = 1;            ///< GPUs that share a root port, which has the rates of one link
  std::uint32_t numa_nodes = 1;               ///< of the host; GPUs are distributed over them in order
  GBps memory;                                ///< of one NUMA node, reads and writes together
  std::vector<std::uint32_t> engines_to_gpu;  ///< engines that copies should use, best first
  std::vector<std::uint32_t> engines_from_gpu;
  std::vector<std::uint32_t> slow_engines;  ///< engines that reach only slow_from_gpu
  GBps slow_from_gpu{};
};

/// Copies over the host link through calls of the vendor's runtime instead of the program's own packets: the time of a
/// copy in addition to its bytes. A copy of the runtime ends before the next one begins.
struct RuntimeTiming {
  Nanoseconds call;         ///< host, per call that copies
  Nanoseconds copy_to_gpu;  ///< engine, per copy: dependencies, flush, copy, signal
  Nanoseconds copy_from_gpu;
  GBps rate;                ///< highest rate of such a copy
  Nanoseconds descriptor;   ///< host, per copy of a batch call
  Nanoseconds batch_copy;   ///< engine, per copy of a batch call; 0 = back to back, as in the program's own ring buffer
  std::uint32_t batch = 1;  ///< copies of a batch call that the engine gets at a time
  Bytes small_batch_bytes{};  ///< smaller copies of a batch call on an idle stream to the GPU have small_batch_rate; 0
                              ///< = none
  GBps small_batch_rate{};
  Nanoseconds kernel_copy;    ///< host, per copy in the list that a copy kernel reads
  Bytes shader_bytes{};       ///< compute units make smaller copies; 0 = none
  Nanoseconds shader_copy{};  ///< total time of one of these
  Nanoseconds shader_batch_copy{};
};

/// Between nodes. Each GPU of a node has a port.
struct NetworkTiming {
  GBps rate;            ///< of a port, one direction, as collectives reach it
  Nanoseconds latency;  ///< of a step between nodes
};

struct Timing {
  HostTiming host;
  EngineTiming engine;
  LinkTiming link;
  MemoryTiming memory;
  CoreTiming cores;
  std::optional<ComputeTiming> compute{};     ///< none: no GEMMs can be simulated
  std::optional<LibraryTiming> library{};     ///< none: no collective library is known
  std::optional<KernelTiming> kernels{};      ///< none: no whole models
  std::optional<ServingTiming> serving{};     ///< none: serving engines use the library
  std::optional<NetworkTiming> network{};     ///< none: one node only
  std::optional<HostLinkTiming> host_link{};  ///< none: programs that use host memory cannot be simulated
  std::optional<RuntimeTiming> runtime{};     ///< none: copies through runtime calls cannot be simulated
};

// --- Power -----------------------------------------------------------------------------------------------------------
//
// Data for the power model of one GPU; docs/models.md gives the equations.
//
// Every component has a clock and a voltage that follows it. Energies of events and watts of clocks are given at the
// nominal clock of their component, for which the times of the machine file hold. Only GEMMs have separate clocks there
// (compute.bf16_clock_GHz), which the compute dies sustain under such a load.

/// The parts of a GPU whose power is counted separately.
enum class Component {
  xcd,   ///< compute dies: compute units and their L2
  iod,   ///< I/O dies: fabric, last-level cache, memory controllers, links, DMA engines
  hbm,   ///< memory
  rest,  ///< rest of the board: voltage regulators, and everything without its own clock
};

inline constexpr std::array<Component, 4> kComponents{Component::xcd, Component::iod, Component::hbm, Component::rest};
inline constexpr std::array<std::string_view, 4> kComponentNames{"xcd", "iod", "hbm", "rest"};

constexpr std::string_view name_of(Component component) {
  return kComponentNames[static_cast<std::size_t>(component)];
}

/// Volts at clocks, linear between points; both ascend.
struct VoltageCurve {
  std::vector<double> ghz;
  std::vector<double> volts;

  double lowest() const { return ghz.front(); }
  double highest() const { return ghz.back(); }
  /// Outside of the curve: the value at its nearest end.
  double volts_at(double clock_ghz) const;
  friend bool operator==(const VoltageCurve&, const VoltageCurve&) = default;
};

/// A component with a clock.
struct ComponentPower {
  double idle_w = 0;       ///< nothing runs on it
  double leakage_w = 0;    ///< in addition while it is awake, at the nominal voltage
  double clock_w = 0;      ///< in addition while it is awake, at nominal clock and voltage: clock trees
  double nominal_ghz = 0;  ///< a point of the curve
  VoltageCurve curve;
  friend bool operator==(const ComponentPower&, const ComponentPower&) = default;
};

struct Power {
  double cap_w = 0;              ///< of the board
  Nanoseconds control_interval;  ///< between two decisions of the power management
  double clock_step_ghz = 0;     ///< clocks are whole multiples of it
  double raise_ghz = 0;          ///< most by which the clock of the compute dies rises per interval; it drops at once
  double burst_ms = 0;           ///< duration of load that may draw more than the cap before clocks drop
  double leakage_exponent = 0;   ///< leakage grows with this power of the voltage
  double rest_idle_w = 0;
  double loss = 0;  ///< of voltage regulators, as a share of the other components' power; counts as rest
  /// None: the machine does not describe it. Its idle power is in `rest_idle_w`, and policies that need its
  /// clock are refused.
  std::optional<ComponentPower> xcd{};
  std::optional<ComponentPower> iod{};
  std::optional<ComponentPower> hbm{};

  // Events, joules each.
  double f32_flop = 0;  ///< XCD
  double f16_flop = 0;
  double bf16_flop = 0;
  double f8_flop = 0;
  double i8_flop = 0;
  double l2_byte = 0;      ///< XCD: a byte that compute units read or write beyond their own caches
  double cache_byte = 0;   ///< IOD: a byte of the last-level cache
  double link_byte = 0;    ///< IOD: a byte, at each end of a link
  double engine_byte = 0;  ///< IOD: a byte that a DMA engine moves
  double packet = 0;       ///< IOD: a packet that a DMA engine reads
  double hbm_byte = 0;     ///< HBM, including its interface in the IOD
  /// Share of the time of a byte copied by compute units that follows the xcd clock; the rest is
  /// latency beyond the compute dies.
  double copy_clock_share = 1;
  // Watts while active.
  double unit_w = 0;     ///< XCD: a compute unit that a kernel holds, at the nominal clock
  double polling_w = 0;  ///< IOD: a DMA engine that polls

  /// Nullptr for `rest` and for components that the machine does not describe.
  const ComponentPower* component(Component which) const;
  double idle_w() const;  ///< of the whole GPU, including regulators
  friend bool operator==(const Power&, const Power&) = default;
};

// --- Machine ---------------------------------------------------------------------------------------------------------

/// Where a number of a machine file comes from.
struct Provenance {
  std::string key;  ///< "dma.max_copy_bytes"
  std::string value;
  std::string source;
  std::string confidence;  ///< "A", "B", "C", "D" or "assumption"
};

enum class EngineClass {
  host,  ///< reaches host memory and its own GPU; not peers
  peer,  ///< reaches its own GPU and the peers (xGMI class)
};

struct Engine {
  EngineId id;
  EngineClass kind = EngineClass::peer;
  bool present = true;  ///< false: in the driver's table but not in silicon; a queue on it hangs
};

/// Ring buffer space of each command, in dwords, and the limits of one packet.
struct DmaLimits {
  Bytes max_copy_bytes;                   ///< of one Copy or Broadcast packet
  Bytes max_swap_bytes;                   ///< of one Swap packet
  Bytes broadcast_alignment;              ///< both destinations must agree modulo this (32)
  Bytes swap_alignment;                   ///< both addresses must be multiples of this (64)
  Bytes window_alignment;                 ///< base addresses and pitches of a strided copy (4)
  std::uint64_t max_window_elements = 0;  ///< extent of a strided copy in x and in y, elements of at most 16 bytes
  std::uint64_t max_pitch_elements = 0;   ///< pitch of a strided copy
  Bytes ring_bytes;                       ///< size of a queue's ring buffer, a power of two
  std::uint32_t queues_per_engine = 0;
  std::uint32_t copy_dwords = 0;
  std::uint32_t broadcast_dwords = 0;
  std::uint32_t swap_dwords = 0;
  std::uint32_t window_dwords = 0;
  std::uint32_t poll_dwords = 0;
  std::uint32_t atomic_dwords = 0;
  std::uint32_t fence_dwords = 0;
  std::uint32_t timestamp_dwords = 0;
  std::uint32_t add_copy_dwords = 0;  ///< private packet of machines with near_memory_compute
};

/// Hardware at the memory of a GPU that counts updates (program.hpp, rule 7).
struct TrackerLimits {
  std::uint32_t entries = 0;  ///< of one GPU
  Bytes granularity;          ///< memory that one entry watches

  /// Entries of a tracker of this many bytes.
  std::uint64_t entries_for(Bytes bytes) const {
    return bytes.value == 0 ? 0 : (bytes.value - 1) / std::max<std::uint64_t>(granularity.value, 1) + 1;
  }
};

// Proposed engine features (docs/codesign.md): what a packet can do, and its costs. Machines without a feature refuse
// programs that need it.

/// One packet reads its source once and writes it to several destinations (Packing::multicast).
struct MulticastPackets {
  std::uint32_t destinations = 0;  ///< most destinations of one packet
  GBps rate;                       ///< source bytes of an engine, for any number of destinations
};

/// A wait, a copy and a signal in one packet (Packing::fused).
struct FusedPackets {
  Nanoseconds sync;  ///< last byte of the copy until the signal is seen
};

/// One packet walks a list of addresses (Packing::indirect).
struct IndirectPackets {
  std::uint32_t entries = 0;  ///< most entries of one list
  Nanoseconds entry;          ///< between the starts of consecutive copies of a list
};

/// Engines read the destination and add: Copy with op = add on dma queues.
struct EngineAdd {
  GBps rate;  ///< destination bytes of an engine
};

/// Kernels write packets and ring doorbells: Submit on compute queues.
struct DeviceInitiated {
  Nanoseconds packet;  ///< time of a kernel to write one packet
  Nanoseconds submit;  ///< write pointer and doorbell
};

struct Features {
  bool broadcast = false;
  bool swap = false;
  /// Memory adds at the destination: Copy with op = add on dma queues, output blocks of GEMMs with op = add.
  bool near_memory_compute = false;
  std::optional<TrackerLimits> tracker{};  ///< none: programs with trackers are refused
  std::optional<MulticastPackets> multicast{};
  std::optional<FusedPackets> fused_packets{};
  std::optional<IndirectPackets> indirect{};
  std::optional<EngineAdd> engine_add{};
  std::optional<DeviceInitiated> device_initiated{};

  /// DMA engines may add, either in memory or in the engine.
  bool adds() const { return near_memory_compute || engine_add.has_value(); }
};

/// The clock of compute units during GEMMs.
enum class ClockMode {
  by_power,  ///< the highest at which the board stays within its cap, however long the load lasts
  bursts,    ///< the same averaged over a benchmark, whose first milliseconds may draw more (Power::burst_ms)
  fixed,     ///< the one in the machine file for the element type
};

struct Machine {
  std::string name;
  std::string title;  ///< one line for lists
  std::string file;   ///< where it was read from, or "built in"
  std::uint32_t gpus = 0;
  std::string gpu;  ///< e.g. "MI300X"
  std::uint32_t compute_units = 0;
  Bytes memory_bytes;  ///< per GPU
  Bytes allocation_alignment;
  std::vector<Engine> engines;  ///< the same on every GPU
  DmaLimits dma;
  Features features;
  /// affinity[src][dst] = the best engine of GPU src for GPU dst; none if src == dst or if any will do.
  /// Empty if the machine has no such table.
  std::vector<std::vector<std::optional<EngineId>>> affinity;
  /// linked[src][dst]: GPU src can address the memory of GPU dst.
  std::vector<std::vector<bool>> linked;
  /// Parallel links from src to dst if they differ between pairs; empty if every linked pair has one. See
  /// link_count.
  std::vector<std::vector<std::uint32_t>> link_counts;
  std::optional<Timing> timing;           ///< none: programs can be planned, proved and run, but not simulated
  std::optional<Power> power{};           ///< of each GPU; none: simulations report no energy
  ClockMode clock = ClockMode::by_power;  ///< not part of the file. Machines without power have fixed clocks
  std::vector<Provenance> provenance;

  const Engine* engine(EngineId id) const;  ///< nullptr if the machine has no such engine

  /// The engine that GPU src should use towards GPU dst: from the affinity table, or else the present peer engines in
  /// turn over the peers of src in ascending order (different peers get different engines if there are enough).
  EngineId engine_towards(RankId src, RankId dst) const;

  /// Number of parallel links of timing->link from GPU src to GPU dst; 0 if src == dst or if they are not linked.
  std::uint32_t link_count(RankId src, RankId dst) const;

  /// Whether the first `ranks` GPUs belong to several computers (HostTiming::gpus).
  bool spans_hosts(std::uint32_t ranks) const;

  /// Present engines of a class, ascending.
  std::vector<EngineId> present_engines(EngineClass kind) const;
};

/// "by-power", "bursts" or "fixed" (machine.clock).
Result<ClockMode> parse_clock_mode(std::string_view name);

/// Names of the built-in machines, sorted.
std::vector<std::string> machine_names();

/// A built-in machine by name, or a file by path (anything with a '/' or ending in .toml).
Result<Machine> load_machine(const std::string& name_or_path);

/// Constants that a machine file copies from other machines: those whose source begins with "as h100-8" or "as
/// H100".
struct BorrowedConstants {
  std::size_t number = 0;
  std::size_t of = 0;               ///< all constants of the file
  std::vector<std::string> from{};  ///< names of machines, sorted
};
BorrowedConstants borrowed_constants(const Machine& machine);

/// A machine from the text of a file; messages name the line and the key.
Result<Machine> parse_machine(const std::string& text, const std::string& file);

}  // namespace cortado
