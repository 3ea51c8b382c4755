// What the simulator needs to know of a machine beyond shapes and limits; docs/models.md gives the equations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/base/units.hpp"

namespace cortado {

/// What the host thread that drives the engines spends. Sources and fits: docs/models.md.
struct HostTiming {
  Nanoseconds packet;   ///< build one packet and write it into the ring
  Nanoseconds submit;   ///< fences, write pointer and doorbell of one submission
  Nanoseconds trigger;  ///< write one trigger word
  Nanoseconds poll;     ///< look at one signal
  Nanoseconds signal;   ///< raise one signal from the host
};

/// One DMA engine. The life of one copy: fetch, copy_start, bytes / rate, sync.
struct EngineTiming {
  Nanoseconds fetch;                   ///< doorbell to the first packet read
  Nanoseconds wake;                    ///< a polled word changes to the poll seeing it
  Nanoseconds copy_start;              ///< packet read to the first byte moving
  Nanoseconds copy_issue;              ///< between the starts of consecutive copies of a queue, which overlap otherwise
  std::uint32_t copies_in_flight = 1;  ///< of one queue, that move bytes at the same time
  Nanoseconds sync;                    ///< last byte landed to the signal visible to its waiters
  GBps rate;            ///< bytes written per second by copies and swaps (both directions of a swap together)
  GBps broadcast_rate;  ///< bytes written per second by broadcasts, both destinations together; 0 = no broadcast
  GBps local_rate;      ///< bytes per second of a copy within one GPU
  /// Of all engines of a GPU together: bytes per second over links for which the affinity table names another engine
  /// than the one that moves them. 0 = such bytes are as fast as others.
  GBps detour_rate{};
  /// Engines in software: the dma and host queues of the whole node take turns on so many threads, and a copy of a
  /// queue is over before the next one starts. 0 = every engine is hardware of its own.
  std::uint32_t threads = 0;
};

enum class LinkShape {
  mesh,      ///< a link of its own for every connected pair and direction
  switched,  ///< one port per GPU and direction into a switch that never blocks
};

struct LinkTiming {
  LinkShape shape = LinkShape::mesh;
  GBps rate;  ///< achieved, one direction, of a link (mesh) or of a GPU's port (switched)
  GBps peak;  ///< on paper
  Nanoseconds latency;
};

/// A boundary in the memory that all GPUs of the node share.
struct NodeLevel {
  Bytes cache_bytes;  ///< what the caches on this side of it hold
  GBps rate;          ///< reads and writes of all GPUs together that cross it
  friend bool operator==(const NodeLevel&, const NodeLevel&) = default;
};

/// Whom a full memory serves: requests of products (compute) or those of copies (communication).
enum class ArbitrationPolicy {
  round_robin,    ///< in turn
  compute_first,  ///< communication gets what products leave, at least starvation_share
  mca,            ///< communication gets in while fewer than a threshold of requests wait; docs/models.md
};

inline constexpr std::array<std::pair<std::string_view, ArbitrationPolicy>, 3> kArbitrationPolicies{
    {{"round-robin", ArbitrationPolicy::round_robin},
     {"compute-first", ArbitrationPolicy::compute_first},
     {"mca", ArbitrationPolicy::mca}}};

struct MemoryArbitration {
  ArbitrationPolicy policy = ArbitrationPolicy::round_robin;
  std::uint32_t queue_depth = 0;  ///< requests that wait at a full memory
  /// mca: one threshold for each class of memory intensity of a product, the share of time that its first stage spends
  /// on the memory. A threshold of queue_depth lets all in.
  std::vector<std::uint32_t> thresholds;
  std::vector<double> intensities;  ///< where the next class begins, ascending; one fewer than thresholds
  double starvation_share = 0;      ///< of the memory, that communication gets in any case
  /// What communication takes of the fabric where its requests stand among those of a product in turn, against requests
  /// that are let in apart: row buffers and directions of the bus change all the time. In between in proportion to the
  /// share that communication gets.
  double mixing_cost = 1;
};

/// Memory of one GPU.
struct MemoryTiming {
  GBps peak;          ///< on paper, reads and writes together
  GBps rate;          ///< achievable
  Bytes cache_bytes;  ///< last-level cache at the memory; 0 = none
  GBps cache_rate;    ///< 0 = no cache
  /// Where all GPUs share one memory, from the nearest boundary to the farthest; empty: each GPU has its own memory
  /// only.
  std::vector<NodeLevel> node{};
  double update_cost = 1;                          ///< time of a byte that the memory adds, against one that it stores
  std::optional<MemoryArbitration> arbitration{};  ///< none: everybody gets the same share of what it would take alone
};

/// Compute units that copy, as GPU-core collective libraries do.
struct CoreTiming {
  Nanoseconds launch;          ///< a kernel launch as the host pays it
  Nanoseconds call;            ///< one more library call behind the same launch (a send, a receive)
  Nanoseconds start;           ///< launch to the first instruction
  Nanoseconds flag;            ///< raise a flag in a peer's memory until the peer sees it
  GBps copy_rate;              ///< bytes per second that one compute unit moves to a peer
  GBps local_rate;             ///< bytes per second that one compute unit reads or writes in its own memory
  double wire_efficiency = 1;  ///< share of the link rate that stores from compute units reach
  /// How sharp the corner is between too few compute units for a link and enough: with u units and a link that gives
  /// them L, rate^-s = (u * copy_rate)^-s + L^-s. 0 = a true corner, the smaller of both.
  double sharpness = 0;
  /// That a collective library occupies where nobody says how many, twice as many for sends and receives; 0 = all of
  /// the GPU.
  std::uint32_t collective_units = 0;
};

/// Matrix products of one element type on one compute unit.
struct MatrixTiming {
  std::uint32_t flops_per_clock = 0;  ///< multiplications and additions; 0 = the machine has no such products
  double clock_ghz = 0;               ///< sustained under such load
  double efficiency = 0;              ///< of the pipes at that clock, within a long tile of 256 x 256
};

/// Products in stages: all workgroups that run together read, then multiply, then store.
struct StageTiming {
  double read_share = 0;  ///< of the operands, that is read before products start; the rest beside them
  std::uint32_t cache_ways =
      0;  ///< of the last-level cache; operands of a stage are found there or not (docs/models.md)
};

/// What products need to know of the compute units and of the caches before the last-level one. docs/models.md has the
/// equations.
struct ComputeTiming {
  std::uint32_t dies = 1;     ///< with an L2 each; workgroups go to them in turn
  Bytes l2_bytes;             ///< of one die
  GBps l2_rate;               ///< of one die
  GBps unit_rate;             ///< bytes per second that one compute unit can take in from beyond its L2
  double operand_cost = 0;    ///< of bringing a row of A or a column of B to the pipes, in multiply-adds with it
  Nanoseconds tile_overhead;  ///< of a workgroup, beside its products: start, first loads, stores of the result
  Bytes stream_window;        ///< of L2, that a workgroup's stream of operands needs to be read only once
  double thrash_ramp = 0;     ///< excess over L2, as a share of it, at which everything is read twice
  /// What products and links contend for besides caches and memory, as shares of the GPU's fabric.
  double fabric_products = 0;           ///< products on all compute units at full speed
  double fabric_links = 0;              ///< all links at full rate in both directions, driven by engines
  double fabric_cores = 1;              ///< a byte that compute units send over a link against one that an engine sends
  double copy_cost = 1;                 ///< of the memory's time, for a byte copied among the operands of products
  std::optional<StageTiming> stages{};  ///< none: reads and stores spread over the life of a workgroup
  MatrixTiming f32;
  MatrixTiming f16;
  MatrixTiming bf16;
  MatrixTiming f8;
};

struct Timing {
  HostTiming host;
  EngineTiming engine;
  LinkTiming link;
  MemoryTiming memory;
  CoreTiming cores;
  std::optional<ComputeTiming> compute{};  ///< none: no products can be simulated
};

}  // namespace cortado
