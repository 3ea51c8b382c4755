// From the commands of a dma queue to SDMA packets.
//
// One command becomes one packet, in queue order and with nothing in between, except in queues whose packets hold
// several commands (Packing; not while tracing, which needs the time of each of them):
//   Copy of one row    COPY linear              Wait        POLL_REGMEM of the low 32 bits of the signal, for ever
//   Copy of more rows  COPY sub-window          Signal add  ATOMIC add64
//   Copy with add      private COPY add, one    Signal set  FENCE of the low 32 bits
//                      per row                  Timestamp   TIMESTAMP get global into the command's slot
//   Broadcast, Swap    COPY broadcast, swap     packed      private COPY multicast, fused, list
// With tracing, every command that is not a Timestamp has a TIMESTAMP before it and the queue ends with one, so that
// slot i + 1 also gives the time at which command i had finished.
//
// A packet's bytes are the same in every iteration except for values that count iterations (polls and fences) and, with
// tracing, the slots; these places are listed as patches. The counters stay below 2^31 (batch_iterations in
// preparation.hpp), so 32-bit compares are exact.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "device/executor/address_map.hpp"
#include "ir/packing.hpp"

namespace cortado::device {

/// In iteration k the dword is value + k * advance.
struct ValuePatch {
  std::uint32_t dword = 0;
  std::uint32_t value = 0;
  std::uint32_t advance = 0;
};

/// The address in this dword and the next one is `address` plus the offset of the iteration's slots.
struct SlotPatch {
  std::uint32_t dword = 0;
  std::uint64_t address = 0;
};

/// The address in this dword and the next one is that of the buffer plus `offset`.
struct AddressPatch {
  std::uint32_t dword = 0;
  BufferId buffer;
  std::uint64_t offset = 0;
};

/// The packets of one queue for iteration 0, and what changes from iteration to iteration.
struct Frame {
  std::vector<std::uint32_t> dwords;
  /// start[i] = first dword of the packet of command i; start.back() = dwords.size()
  std::vector<std::uint32_t> start;
  std::vector<ValuePatch> values;
  std::vector<SlotPatch> slots;
  std::vector<std::uint32_t> doorbells{};  ///< dwords at which the doorbell is rung, besides the end
  std::vector<AddressPatch> addresses;     ///< of buffers
  bool movable = true;                     ///< moving the buffers changes nothing but the addresses

  std::uint64_t bytes() const { return dwords.size() * sizeof(std::uint32_t); }
};

struct LowerOptions {
  bool trace = false;
  PackingLimits packing{};  ///< of the machine
};

/// `advances` = signal_advances(program). Fails (device.encode) for a command that has no packet.
Result<Frame> lower_queue(const Program& program, QueueId queue, const AddressMap& addresses,
                          const std::vector<std::uint64_t>& advances, const LowerOptions& options = {});

/// Updates a frame that was lowered for the same program, without tracing, to other addresses: in place if it is
/// movable.
Status lower_again(const Program& program, QueueId queue, const AddressMap& addresses,
                   const std::vector<std::uint64_t>& advances, Frame& frame, const PackingLimits& packing = {});

}  // namespace cortado::device
