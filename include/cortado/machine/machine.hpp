// A Machine: the GPUs of one node, their DMA engines, the links between them, and the limits of their packets.
//
// Machines are data files (machines/*.toml); every value in them carries its source and a confidence:
//   A vendor driver, runtime source or documentation; B measured and published; C third-party; D derived by arithmetic;
//   assumption: not known, chosen by us.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"

namespace cortado {

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

/// Bytes of ring space a command takes, in dwords, and the limits of one packet.
struct DmaLimits {
  Bytes max_copy_bytes;       ///< of one Copy or Broadcast packet
  Bytes max_swap_bytes;       ///< of one Swap packet
  Bytes broadcast_alignment;  ///< both destinations must agree modulo this (32)
  Bytes swap_alignment;       ///< both addresses must be multiples of this (64)
  Bytes window_alignment;     ///< base addresses and pitches of a strided copy (4)
  std::uint64_t max_window_elements = 0;  ///< extent of a strided copy in x and in y, elements of at most 16 bytes
  std::uint64_t max_pitch_elements = 0;   ///< pitch of a strided copy
  Bytes ring_bytes;                       ///< size of a queue's ring, a power of two
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

struct Features {
  bool broadcast = false;
  bool swap = false;
  bool near_memory_compute = false;  ///< memory adds at the destination: Copy with op = add on dma queues
};

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
  Nanoseconds fetch;       ///< doorbell to the first packet read
  Nanoseconds wake;        ///< a polled word changes to the poll seeing it
  Nanoseconds copy_start;  ///< packet read to the first byte moving
  Nanoseconds copy_issue;  ///< between the starts of consecutive copies of a queue, which overlap otherwise
  Nanoseconds sync;        ///< last byte landed to the signal visible to its waiters
  GBps rate;               ///< bytes written per second by copies and swaps (both directions of a swap together)
  GBps broadcast_rate;     ///< bytes written per second by broadcasts, both destinations together
  GBps local_rate;         ///< bytes per second of a copy within one GPU
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

/// Memory of one GPU.
struct MemoryTiming {
  GBps peak;          ///< on paper, reads and writes together
  GBps rate;          ///< achievable
  Bytes cache_bytes;  ///< last-level cache at the memory; 0 = none
  GBps cache_rate;
};

/// Compute units that copy, as GPU-core collective libraries do.
struct CoreTiming {
  Nanoseconds launch;        ///< a kernel launch as the host pays it
  Nanoseconds start;         ///< launch to the first instruction
  Nanoseconds flag;          ///< raise a flag in a peer's memory until the peer sees it
  GBps copy_rate;            ///< bytes per second that one compute unit moves to a peer
  GBps local_rate;           ///< bytes per second that one compute unit reads or writes in its own memory
  double wire_efficiency = 1;  ///< share of the link rate that stores from compute units reach
};

/// What the simulator needs beyond shapes and limits; docs/models.md gives the equations.
struct Timing {
  HostTiming host;
  EngineTiming engine;
  LinkTiming link;
  MemoryTiming memory;
  CoreTiming cores;
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
  /// affinity[src][dst] = the engine of GPU src that is best for GPU dst; none where src == dst or where any will do.
  std::vector<std::vector<std::optional<EngineId>>> affinity;
  /// linked[src][dst]: GPU src can address the memory of GPU dst.
  std::vector<std::vector<bool>> linked;
  /// link_factor[src][dst]: how many times the rate of one link the pair has (two links = 2); 0 where not linked.
  std::vector<std::vector<double>> link_factor;
  Timing timing;
  std::vector<Provenance> provenance;

  const Engine* engine(EngineId id) const;  ///< nullptr if the machine has no such engine

  /// The engine GPU src should use towards GPU dst: the affinity table, else the present peer engines in turn, the peers
  /// of src counted in ascending order (so different peers get different engines as long as there are enough).
  EngineId engine_towards(RankId src, RankId dst) const;

  /// Present engines of a class, ascending.
  std::vector<EngineId> present_engines(EngineClass kind) const;
};

/// Names of the machines that come with Cortado, sorted.
std::vector<std::string> machine_names();

/// A built-in machine by name, or a file by path (anything with a '/' or ending in .toml).
Result<Machine> load_machine(const std::string& name_or_path);

/// A machine from the text of a file; messages name the line and the key.
Result<Machine> parse_machine(const std::string& text, const std::string& file);

}  // namespace cortado
