// A Machine: the GPUs of one node, their DMA engines, the links between them, and the limits of their packets.
//
// Machines are data files (machines/*.toml); every value in them carries its source and a confidence:
//   A vendor driver, runtime source or documentation; B measured and published; C third-party; D derived by arithmetic;
//   assumption: not known, chosen by us.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"
#include "cortado/machine/power.hpp"
#include "cortado/machine/timing.hpp"

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
  Bytes max_copy_bytes;                   ///< of one Copy or Broadcast packet
  Bytes max_swap_bytes;                   ///< of one Swap packet
  Bytes broadcast_alignment;              ///< both destinations must agree modulo this (32)
  Bytes swap_alignment;                   ///< both addresses must be multiples of this (64)
  Bytes window_alignment;                 ///< base addresses and pitches of a strided copy (4)
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

/// Hardware at the memory of a GPU that counts updates (program.hpp, rule 7).
struct TrackerLimits {
  std::uint32_t entries = 0;  ///< of one GPU
  Bytes granularity;          ///< memory that one entry watches

  /// That a tracker of so many bytes takes.
  std::uint64_t entries_for(Bytes bytes) const {
    return bytes.value == 0 ? 0 : (bytes.value - 1) / std::max<std::uint64_t>(granularity.value, 1) + 1;
  }
};

struct Features {
  bool broadcast = false;
  bool swap = false;
  /// Memory adds at the destination: Copy with op = add on dma queues, output blocks of products with op = add.
  bool near_memory_compute = false;
  std::optional<TrackerLimits> tracker{};  ///< none: programs with trackers are refused
};

/// The clock of compute units that multiply.
enum class ClockMode {
  by_power,  ///< the highest at which the board keeps to its cap
  fixed,     ///< the one that the machine file gives for the element type
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
  /// Empty if the machine has no such table.
  std::vector<std::vector<std::optional<EngineId>>> affinity;
  /// linked[src][dst]: GPU src can address the memory of GPU dst.
  std::vector<std::vector<bool>> linked;
  /// Parallel links from src to dst where they differ between pairs; empty if every linked pair has one. See
  /// link_count.
  std::vector<std::vector<std::uint32_t>> link_counts;
  std::optional<Timing> timing;  ///< none: programs can be planned, proved and run for the machine, not simulated
  std::optional<Power> power{};  ///< of each GPU; none: simulations say nothing of energy
  ClockMode clock = ClockMode::by_power;  ///< of times; no part of the file. Machines without power have fixed clocks
  std::vector<Provenance> provenance;

  const Engine* engine(EngineId id) const;  ///< nullptr if the machine has no such engine

  /// The engine GPU src should use towards GPU dst: the affinity table, else the present peer engines in turn, the
  /// peers of src counted in ascending order (so different peers get different engines as long as there are enough).
  EngineId engine_towards(RankId src, RankId dst) const;

  /// How many parallel links of timing->link join GPU src to GPU dst; 0 where src == dst or where they are not linked.
  std::uint32_t link_count(RankId src, RankId dst) const;

  /// Present engines of a class, ascending.
  std::vector<EngineId> present_engines(EngineClass kind) const;
};

/// "by-power" or "fixed" (machine.clock).
Result<ClockMode> parse_clock_mode(std::string_view name);

/// Names of the machines that come with Cortado, sorted.
std::vector<std::string> machine_names();

/// A built-in machine by name, or a file by path (anything with a '/' or ending in .toml).
Result<Machine> load_machine(const std::string& name_or_path);

/// Constants that a machine file takes over from other machines: those whose source begins with "as h100-8" or "as
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
