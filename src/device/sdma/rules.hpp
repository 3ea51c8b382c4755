// What the packet format can express: why a packet value has no encoding, and the alignment that its addresses must
// have.
#pragma once

#include <cstdint>

#include "cortado/packets.hpp"

#include "device/sdma/wire.hpp"

namespace cortado::sdma {

// The low bits of these addresses are not in the packet, or the engine works on whole words there.
inline constexpr std::uint64_t kSwapAlignment = 64;
inline constexpr std::uint64_t kWordAlignment = 4;  // WRITE, FENCE, POLL of memory, COND_EXE, 32-bit ATOMIC
inline constexpr std::uint64_t kTimestampAlignment = 8;
inline constexpr std::uint64_t kListAlignment = 8;  // of lists and of 64-bit signals
inline constexpr std::uint64_t kIndirectAlignment = 32;

constexpr bool is_aligned(std::uint64_t address, std::uint64_t alignment) {
  return (address & (alignment - 1)) == 0;
}

/// Bit 5 of the operation number separates the 64-bit operations from the 32-bit ones.
constexpr std::uint64_t atomic_alignment(std::uint8_t operation) {
  return (operation & 0x20) != 0 ? 8 : 4;
}

/// A register poll with exactly these fields is the HDP flush packet and decodes as such.
constexpr bool is_hdp_flush(const PollRegmem& packet) {
  return !packet.memory && !packet.hdp_flush && packet.function == PollFunction::always &&
         packet.address == wire::kHdpFlushAddress && packet.reference == 0 && packet.mask == 0 &&
         packet.interval == 0 && packet.retry_count == 0;
}

/// nullptr, or why the packet has no encoding.
constexpr const char* problem(std::uint32_t bytes) {
  if (bytes == 0) return "bytes is 0";
  if (bytes - 1 > wire::ByteCount::kMax) return "bytes is above 2^30";
  return nullptr;
}

constexpr const char* problem(const Nop& packet) {
  return packet.payload > wire::Nop::Payload::kMax ? "payload is above 14 bits" : nullptr;
}

constexpr const char* problem(const CopyLinear& packet) {
  return problem(packet.bytes);
}

constexpr const char* problem(const CopyBroadcast& packet) {
  return problem(packet.bytes);
}

constexpr const char* problem(const CopySwap& packet) {
  if (!is_aligned(packet.a, kSwapAlignment)) return "a is not 64-byte aligned";
  if (!is_aligned(packet.b, kSwapAlignment)) return "b is not 64-byte aligned";
  return problem(packet.bytes);
}

constexpr const char* problem(const WindowSide& side) {
  using Side = wire::WindowSide;
  if (side.x > Side::X::kMax || side.y > Side::Y::kMax) return "x or y is above 14 bits";
  if (side.z > Side::Z::kMax) return "z is above 11 bits";
  if (side.pitch == 0 || side.pitch - 1 > Side::Pitch::kMax) return "pitch is not in 1 .. 2^19";
  if (side.slice_pitch == 0 || side.slice_pitch - 1 > Side::SlicePitch::kMax) return "slice_pitch is not in 1 .. 2^28";
  return nullptr;
}

constexpr const char* problem(const CopyWindow& packet) {
  if (packet.element_log2 > 4) return "element_log2 is above 4";
  if (const char* why = problem(packet.src)) return why;
  if (const char* why = problem(packet.dst)) return why;
  if (packet.width == 0 || packet.width - 1 > wire::CopyWindow::Width::kMax) return "width is not in 1 .. 2^14";
  if (packet.height == 0 || packet.height - 1 > wire::CopyWindow::Height::kMax) return "height is not in 1 .. 2^14";
  if (packet.depth == 0 || packet.depth - 1 > wire::CopyWindow::Depth::kMax) return "depth is not in 1 .. 2^11";
  return nullptr;
}

constexpr const char* problem(const CopyAdd& packet) {
  const std::uint64_t element = size_of(packet.dtype).value;
  if (element == 0) return "dtype is unknown";
  if (packet.bytes % element != 0) return "bytes is not a whole number of elements";
  return problem(packet.bytes);
}

constexpr const char* problem(const CopyMulticast& packet) {
  if (packet.destinations < 2 || packet.destinations > CopyMulticast::kMostDestinations) {
    return "destinations is not in 2 .. 8";
  }
  for (std::size_t i = packet.destinations; i < packet.dst.size(); ++i) {
    if (packet.dst[i] != 0) return "a destination behind the last is not zero";
  }
  return problem(packet.bytes);
}

constexpr const char* problem(const CopyFused& packet) {
  if (packet.waits ? !is_aligned(packet.wait, kWordAlignment) : packet.wait != 0 || packet.reference != 0) {
    return "wait is not 4-byte aligned, or not zero where nothing waits";
  }
  if (packet.signals ? !is_aligned(packet.signal, kListAlignment) : packet.signal != 0 || packet.value != 0) {
    return "signal is not 8-byte aligned, or not zero where nothing signals";
  }
  return problem(packet.bytes);
}

constexpr const char* problem(const CopyList& packet) {
  if (packet.entries == 0 || packet.entries - 1 > wire::CopyList::Entries::kMax) return "entries is not in 1 .. 2^20";
  if (!is_aligned(packet.list, kListAlignment)) return "list is not 8-byte aligned";
  return problem(packet.bytes);
}

constexpr const char* problem(const WriteLinear& packet) {
  if (!is_aligned(packet.dst, kWordAlignment)) return "dst is not 4-byte aligned";
  if (packet.data.empty()) return "data is empty";
  if (packet.data.size() - 1 > wire::WriteLinear::Count::kMax) return "data is above 2^20 dwords";
  return nullptr;
}

constexpr const char* problem(const ConstFill& packet) {
  if (packet.element_log2 > 2) return "element_log2 is above 2";
  if (packet.elements == 0) return "elements is 0";
  if (packet.elements - 1 > wire::ConstFill::Count::kMax >> packet.element_log2) return "the fill is above 2^30 bytes";
  return nullptr;
}

constexpr const char* problem(const Fence& packet) {
  return is_aligned(packet.address, kWordAlignment) ? nullptr : "address is not 4-byte aligned";
}

constexpr const char* problem(const Trap& packet) {
  return packet.context > wire::Trap::Context::kMax ? "context is above 28 bits" : nullptr;
}

constexpr const char* problem(const PollRegmem& packet) {
  if (packet.memory && !is_aligned(packet.address, kWordAlignment)) return "address is not 4-byte aligned";
  if (packet.function > PollFunction::gt) return "function is unknown";
  if (packet.retry_count > wire::PollRegmem::RetryCount::kMax) return "retry_count is above 12 bits";
  if (is_hdp_flush(packet)) return "this register poll is the HDP flush packet";
  return nullptr;
}

constexpr const char* problem(const Atomic& packet) {
  if (packet.operation > wire::Atomic::Operation::kMax) return "operation is above 7 bits";
  if (!is_aligned(packet.address, atomic_alignment(packet.operation))) return "address is not aligned to its operand";
  if (packet.loop_interval > wire::Atomic::LoopInterval::kMax) return "loop_interval is above 13 bits";
  return nullptr;
}

constexpr const char* problem(const Timestamp& packet) {
  if (packet.operation > TimestampOp::get_global) return "operation is unknown";
  if (packet.operation != TimestampOp::set && !is_aligned(packet.address_or_value, kTimestampAlignment)) {
    return "address is not 8-byte aligned";
  }
  return nullptr;
}

constexpr const char* problem(const CondExe& packet) {
  if (!is_aligned(packet.address, kWordAlignment)) return "address is not 4-byte aligned";
  return packet.exec_count > wire::CondExe::ExecCount::kMax ? "exec_count is above 14 bits" : nullptr;
}

constexpr const char* problem(const Indirect& packet) {
  if (!is_aligned(packet.base, kIndirectAlignment)) return "base is not 32-byte aligned";
  if (packet.vmid > wire::Indirect::Vmid::kMax) return "vmid is above 4 bits";
  return packet.dwords > wire::Indirect::Size::kMax ? "dwords is above 20 bits" : nullptr;
}

constexpr const char* problem(const HdpFlush&) {
  return nullptr;
}

}  // namespace cortado::sdma
