// Where every buffer, signal and timestamp slot of a program is. A real preparation fills it with the addresses from
// the driver; encode_program() uses the fixed layout.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "device/driver/compute.hpp"
#include "ir/packing.hpp"

namespace cortado::device {

/// Distance of TIMESTAMP slots; the runtimes of real GPUs require this alignment.
inline constexpr std::uint64_t kSlotBytes = 32;
/// Distance of signals, so that no two of them share a cache line.
inline constexpr std::uint64_t kSignalBytes = 64;

struct AddressMap {
  std::vector<std::uint64_t> buffers;  ///< by BufferId
  std::vector<std::uint64_t> signals;  ///< by SignalId
  /// By QueueId: the first of the queue's slots. Slot i of a queue holds the time at which its command i started; the
  /// slot after the last command holds the time at which the queue was done.
  std::vector<std::uint64_t> slots;
  std::vector<std::uint64_t> lists;  ///< by QueueId: the address lists that its packets walk

  std::uint64_t of(const Region& region) const { return buffers[region.buffer.value] + region.offset.value; }
  Span2D span(const Region& region) const {
    return {reinterpret_cast<std::byte*>(of(region)), region.width.value, region.rows, region.pitch.value};
  }
};

/// Total bytes of the slots of all queues for one iteration, and the offset of each queue's first slot.
struct SlotLayout {
  std::vector<std::uint64_t> offset;  ///< by QueueId
  std::uint64_t bytes = 0;
};
SlotLayout slot_layout(const Program& program);

/// The entries of all lists of a program, queue by queue, and the offset in bytes of each queue's first entry.
struct ListLayout {
  std::vector<std::uint64_t> offset;  ///< by QueueId
  std::vector<ListEntry> entries;
};
ListLayout list_layout(const Program& program, const PackingLimits& packing);

/// Buffers of rank r from 0x1000'0000'0000 * (r + 1), one after another in the order of their ids, each aligned to the
/// allocation alignment of the machine (at least 4096); signals from 0x0f00'0000'0000, 64 bytes apart; slots from
/// 0x0e00'0000'0000, 32 bytes apart; lists from 0x0d00'0000'0000.
AddressMap fixed_layout(const Program& program, const Machine& machine);

}  // namespace cortado::device
