#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cortado/packets.hpp"

#include "device/sdma/opcode_names.hpp"
#include "device/sdma/rules.hpp"
#include "device/sdma/wire.hpp"

namespace cortado::sdma {
namespace {

using Ring = std::span<const std::uint32_t>;
using Outcome = Expected<Decoded, DecodeError>;
using Error = Unexpected<DecodeError>;

// Errors are off the fast path: out of line, so that the code for the packets stays small.

[[gnu::noinline, gnu::cold]] Error truncated(Ring ring, const char* name, std::size_t needed) {
  return Error(DecodeError{DecodeErrorKind::truncated, ring[0], needed, 0,
                           fmt::format("{}: takes {} dwords, {} left", name, needed, ring.size())});
}

[[gnu::noinline, gnu::cold]] Error reserved(Ring ring, const char* name, std::size_t dword, const char* field) {
  return Error(DecodeError{DecodeErrorKind::reserved_bits, ring[0], 0, 0,
                           fmt::format("{}: {} not supported: dword {} is {:#010x}", name, field, dword, ring[dword])});
}

[[gnu::noinline, gnu::cold]] Error misaligned(Ring ring, const char* name, std::uint64_t address,
                                              std::uint64_t alignment) {
  return Error(DecodeError{DecodeErrorKind::misaligned, ring[0], 0, address,
                           fmt::format("{}: address {:#x} is not {}-byte aligned", name, address, alignment)});
}

[[gnu::noinline, gnu::cold]] Error unknown_opcode(Ring ring) {
  const std::uint32_t op = wire::Opcode::get(ring[0]);
  const std::string_view name = opcode_name(op);
  return Error(
      DecodeError{DecodeErrorKind::unknown_opcode, ring[0], 0, 0,
                  name.empty() ? fmt::format("opcode {:#04x}: unknown", op) : fmt::format("{}: not supported", name)});
}

[[gnu::noinline, gnu::cold]] Error unknown_sub_opcode(Ring ring) {
  const std::uint32_t op = wire::Opcode::get(ring[0]);
  const std::uint32_t sub = wire::SubOpcode::get(ring[0]);
  const std::string_view name = sub_opcode_name(op, sub);
  return Error(DecodeError{DecodeErrorKind::unknown_sub_opcode, ring[0], 0, 0,
                           name.empty() ? fmt::format("{} sub-opcode {:#04x}: unknown", opcode_name(op), sub)
                                        : fmt::format("{} {}: not supported", opcode_name(op), name)});
}

/// Reads the fixed part of a packet; false if it is incomplete or sets a reserved bit: then refusal() gives the
/// reason.
template <class Wire>
bool read(Ring ring, Wire& packet) {
  if (ring.size() < wire::kDwords<Wire>) return false;
  packet = wire::load<Wire>(ring.data());
  return wire::wrong_bits<Wire>(ring.data()) == 0;
}

template <class Wire>
[[gnu::noinline, gnu::cold]] Error refusal(Ring ring) {
  if (ring.size() < wire::kDwords<Wire>) return truncated(ring, Wire::kName, wire::kDwords<Wire>);
  const auto* const first = std::find_if(Wire::kMustBeZero.begin(), Wire::kMustBeZero.end(),
                                         [&](const wire::MustBeZero& zero) { return ring[zero.dword] & zero.mask; });
  return reserved(ring, Wire::kName, first->dword, first->name);
}

template <class P>
Outcome decoded(std::size_t size, P&& packet) {
  return Outcome(std::in_place, std::forward<P>(packet), size);
}

template <class Wire, class P>
Outcome decoded(P&& packet) {
  return decoded(wire::kDwords<Wire>, std::forward<P>(packet));
}

Outcome decode_nop(Ring ring) {
  wire::Nop raw;
  if (!read(ring, raw)) return refusal<wire::Nop>(ring);
  const std::uint32_t payload = wire::Nop::Payload::get(raw.header);
  if (ring.size() < 1 + payload) return truncated(ring, wire::Nop::kName, 1 + payload);
  return decoded(1 + payload, Nop{static_cast<std::uint16_t>(payload)});
}

std::uint32_t bytes_of(std::uint32_t count) {
  return wire::ByteCount::get(count) + 1;
}

Outcome decode_copy_linear(Ring ring) {
  if (wire::Broadcast::get(ring[0]) != 0) {
    wire::CopyBroadcast raw;
    if (!read(ring, raw)) return refusal<wire::CopyBroadcast>(ring);
    return decoded<wire::CopyBroadcast>(
        CopyBroadcast{bytes_of(raw.count), wire::join(raw.src), wire::join(raw.dst1), wire::join(raw.dst2)});
  }
  wire::CopyLinear raw;
  if (!read(ring, raw)) return refusal<wire::CopyLinear>(ring);
  return decoded<wire::CopyLinear>(CopyLinear{bytes_of(raw.count), wire::join(raw.src), wire::join(raw.dst)});
}

Outcome decode_copy_swap(Ring ring) {
  wire::CopySwap raw;
  if (!read(ring, raw)) return refusal<wire::CopySwap>(ring);
  const CopySwap packet{bytes_of(raw.count), wire::join(raw.a), wire::join(raw.b)};
  for (const std::uint64_t address : {packet.a, packet.b}) {
    if (!is_aligned(address, kSwapAlignment)) return misaligned(ring, raw.kName, address, kSwapAlignment);
  }
  return decoded<wire::CopySwap>(packet);
}

WindowSide from_wire(const wire::WindowSide& raw) {
  using Side = wire::WindowSide;
  return {wire::join(raw.base),
          Side::X::get(raw.x_y),
          Side::Y::get(raw.x_y),
          Side::Z::get(raw.z_pitch),
          Side::Pitch::get(raw.z_pitch) + 1,
          Side::SlicePitch::get(raw.slice_pitch) + 1};
}

Outcome decode_copy_window(Ring ring) {
  using Window = wire::CopyWindow;
  Window raw;
  if (!read(ring, raw)) return refusal<Window>(ring);
  const CopyWindow packet{Window::ElementLog2::get(raw.header),
                          from_wire(raw.src),
                          from_wire(raw.dst),
                          Window::Width::get(raw.width_height) + 1,
                          Window::Height::get(raw.width_height) + 1,
                          Window::Depth::get(raw.depth) + 1};
  if (packet.element_log2 > 4) return reserved(ring, Window::kName, 0, "element size above 16 bytes");
  return decoded<Window>(packet);
}

Outcome decode_copy_add(Ring ring) {
  wire::CopyAdd raw;
  if (!read(ring, raw)) return refusal<wire::CopyAdd>(ring);
  const CopyAdd packet{static_cast<DType>(wire::CopyAdd::ElementType::get(raw.header)), bytes_of(raw.count),
                       wire::join(raw.src), wire::join(raw.dst)};
  const std::uint64_t element = size_of(packet.dtype).value;
  if (element == 0) return reserved(ring, wire::CopyAdd::kName, 0, "element type");
  if (packet.bytes % element != 0) return reserved(ring, wire::CopyAdd::kName, 1, "part of an element");
  return decoded<wire::CopyAdd>(packet);
}

Outcome decode_copy_multicast(Ring ring) {
  constexpr std::size_t kHead = wire::kDwords<wire::CopyMulticast>;
  wire::CopyMulticast raw;
  if (!read(ring, raw)) return refusal<wire::CopyMulticast>(ring);
  CopyMulticast packet{bytes_of(raw.count), wire::join(raw.src), wire::CopyMulticast::Destinations::get(raw.header)};
  if (packet.destinations < 2 || packet.destinations > CopyMulticast::kMostDestinations) {
    return reserved(ring, raw.kName, 0, "number of destinations");
  }
  const std::size_t size = kHead + 2 * std::size_t{packet.destinations};
  if (ring.size() < size) return truncated(ring, raw.kName, size);
  for (std::size_t i = 0; i < packet.destinations; ++i) {
    packet.dst[i] = wire::join(wire::load<wire::Address>(ring.data() + kHead + 2 * i));
  }
  return decoded(size, packet);
}

Outcome decode_copy_fused(Ring ring) {
  wire::CopyFused raw;
  if (!read(ring, raw)) return refusal<wire::CopyFused>(ring);
  const CopyFused packet{bytes_of(raw.count),
                         wire::join(raw.src),
                         wire::join(raw.dst),
                         wire::CopyFused::Waits::get(raw.header) != 0,
                         wire::join(raw.wait),
                         raw.reference,
                         wire::CopyFused::Signals::get(raw.header) != 0,
                         wire::join(raw.signal),
                         wire::join(raw.value)};
  if (!is_aligned(packet.wait, kWordAlignment)) return misaligned(ring, raw.kName, packet.wait, kWordAlignment);
  if (!is_aligned(packet.signal, kListAlignment)) return misaligned(ring, raw.kName, packet.signal, kListAlignment);
  if (problem(packet) != nullptr) return reserved(ring, raw.kName, 0, "an address of nothing");
  return decoded<wire::CopyFused>(packet);
}

Outcome decode_copy_list(Ring ring) {
  wire::CopyList raw;
  if (!read(ring, raw)) return refusal<wire::CopyList>(ring);
  const CopyList packet{bytes_of(raw.count), wire::CopyList::Entries::get(raw.entries) + 1, wire::join(raw.src),
                        wire::join(raw.dst), wire::join(raw.list)};
  if (!is_aligned(packet.list, kListAlignment)) return misaligned(ring, raw.kName, packet.list, kListAlignment);
  return decoded<wire::CopyList>(packet);
}

Outcome decode_copy(Ring ring) {
  switch (static_cast<wire::CopySub>(wire::SubOpcode::get(ring[0]))) {
    case wire::CopySub::linear:
      return decode_copy_linear(ring);
    case wire::CopySub::swap:
      return decode_copy_swap(ring);
    case wire::CopySub::window:
      return decode_copy_window(ring);
    case wire::CopySub::add:
      return decode_copy_add(ring);
    case wire::CopySub::multicast:
      return decode_copy_multicast(ring);
    case wire::CopySub::fused:
      return decode_copy_fused(ring);
    case wire::CopySub::list:
      return decode_copy_list(ring);
  }
  return unknown_sub_opcode(ring);
}

Outcome decode_write(Ring ring) {
  constexpr std::size_t kHead = wire::kDwords<wire::WriteLinear>;
  wire::WriteLinear raw;
  if (!read(ring, raw)) return refusal<wire::WriteLinear>(ring);
  const std::size_t words = wire::WriteLinear::Count::get(raw.count) + 1;
  if (ring.size() < kHead + words) return truncated(ring, raw.kName, kHead + words);
  const std::uint64_t dst = wire::join(raw.dst);
  if (!is_aligned(dst, kWordAlignment)) return misaligned(ring, raw.kName, dst, kWordAlignment);
  const Ring data = ring.subspan(kHead, words);
  return decoded(kHead + words, WriteLinear{dst, {data.begin(), data.end()}});
}

Outcome decode_const_fill(Ring ring) {
  wire::ConstFill raw;
  if (!read(ring, raw)) return refusal<wire::ConstFill>(ring);
  const std::uint32_t element_log2 = wire::ConstFill::ElementLog2::get(raw.header);
  if (element_log2 > 2) return reserved(ring, raw.kName, 0, "element size of 8 bytes");
  const std::uint32_t elements = (wire::ConstFill::Count::get(raw.count) >> element_log2) + 1;
  return decoded<wire::ConstFill>(ConstFill{wire::join(raw.dst), raw.pattern, element_log2, elements});
}

Outcome decode_fence(Ring ring) {
  wire::Fence raw;
  if (!read(ring, raw)) return refusal<wire::Fence>(ring);
  const std::uint64_t address = wire::join(raw.address);
  if (!is_aligned(address, kWordAlignment)) return misaligned(ring, raw.kName, address, kWordAlignment);
  return decoded<wire::Fence>(Fence{address, raw.value});
}

Outcome decode_trap(Ring ring) {
  wire::Trap raw;
  if (!read(ring, raw)) return refusal<wire::Trap>(ring);
  return decoded<wire::Trap>(Trap{wire::Trap::Context::get(raw.context)});
}

Outcome decode_poll(Ring ring) {
  using Poll = wire::PollRegmem;
  Poll raw;
  if (!read(ring, raw)) return refusal<Poll>(ring);
  const std::uint32_t function = Poll::Function::get(raw.header);
  if (function > static_cast<std::uint32_t>(PollFunction::gt)) return reserved(ring, Poll::kName, 0, "function 7");
  const PollRegmem packet{Poll::Memory::get(raw.header) != 0,
                          Poll::HdpFlush::get(raw.header) != 0,
                          static_cast<PollFunction>(function),
                          wire::join(raw.address),
                          raw.reference,
                          raw.mask,
                          static_cast<std::uint16_t>(Poll::Interval::get(raw.interval_retry)),
                          static_cast<std::uint16_t>(Poll::RetryCount::get(raw.interval_retry))};
  if (is_hdp_flush(packet)) return decoded<Poll>(HdpFlush{});
  if (packet.memory && !is_aligned(packet.address, kWordAlignment)) {
    return misaligned(ring, Poll::kName, packet.address, kWordAlignment);
  }
  return decoded<Poll>(packet);
}

Outcome decode_atomic(Ring ring) {
  wire::Atomic raw;
  if (!read(ring, raw)) return refusal<wire::Atomic>(ring);
  const Atomic packet{static_cast<std::uint8_t>(wire::Atomic::Operation::get(raw.header)),
                      wire::Atomic::Loop::get(raw.header) != 0,
                      wire::join(raw.address),
                      wire::join(raw.data),
                      wire::join(raw.compare),
                      static_cast<std::uint16_t>(wire::Atomic::LoopInterval::get(raw.loop_interval))};
  const std::uint64_t alignment = atomic_alignment(packet.operation);
  if (!is_aligned(packet.address, alignment)) return misaligned(ring, raw.kName, packet.address, alignment);
  return decoded<wire::Atomic>(packet);
}

Outcome decode_timestamp(Ring ring) {
  const std::uint32_t sub = wire::SubOpcode::get(ring[0]);
  if (sub > static_cast<std::uint32_t>(TimestampOp::get_global)) return unknown_sub_opcode(ring);
  wire::Timestamp raw;
  if (!read(ring, raw)) return refusal<wire::Timestamp>(ring);
  const Timestamp packet{static_cast<TimestampOp>(sub), wire::join(raw.address_or_value)};
  if (packet.operation != TimestampOp::set && !is_aligned(packet.address_or_value, kTimestampAlignment)) {
    return misaligned(ring, raw.kName, packet.address_or_value, kTimestampAlignment);
  }
  return decoded<wire::Timestamp>(packet);
}

Outcome decode_cond_exe(Ring ring) {
  wire::CondExe raw;
  if (!read(ring, raw)) return refusal<wire::CondExe>(ring);
  const std::uint64_t address = wire::join(raw.address);
  if (!is_aligned(address, kWordAlignment)) return misaligned(ring, raw.kName, address, kWordAlignment);
  return decoded<wire::CondExe>(
      CondExe{address, raw.reference, static_cast<std::uint16_t>(wire::CondExe::ExecCount::get(raw.exec_count))});
}

Outcome decode_indirect(Ring ring) {
  wire::Indirect raw;
  if (!read(ring, raw)) return refusal<wire::Indirect>(ring);
  const Indirect packet{static_cast<std::uint8_t>(wire::Indirect::Vmid::get(raw.header)), wire::join(raw.base),
                        wire::Indirect::Size::get(raw.size), wire::join(raw.context_save)};
  if (!is_aligned(packet.base, kIndirectAlignment)) {
    return misaligned(ring, raw.kName, packet.base, kIndirectAlignment);
  }
  return decoded<wire::Indirect>(packet);
}

using Decoder = Outcome (*)(Ring);

/// Opcodes whose only sub-opcode here is 0.
Outcome without_sub_opcode(Ring ring, Decoder decoder) {
  if (wire::SubOpcode::get(ring[0]) != 0) return unknown_sub_opcode(ring);
  return decoder(ring);
}

}  // namespace

Expected<Decoded, DecodeError> decode(std::span<const std::uint32_t> ring) {
  if (ring.empty()) return Error(DecodeError{DecodeErrorKind::truncated, 0, 1, 0, "no dword left"});
  switch (static_cast<wire::Op>(wire::Opcode::get(ring[0]))) {
    case wire::Op::nop:
      return without_sub_opcode(ring, decode_nop);
    case wire::Op::copy:
      return decode_copy(ring);
    case wire::Op::write:
      return without_sub_opcode(ring, decode_write);
    case wire::Op::indirect:
      return without_sub_opcode(ring, decode_indirect);
    case wire::Op::fence:
      return without_sub_opcode(ring, decode_fence);
    case wire::Op::trap:
      return without_sub_opcode(ring, decode_trap);
    case wire::Op::poll_regmem:
      return without_sub_opcode(ring, decode_poll);
    case wire::Op::cond_exe:
      return without_sub_opcode(ring, decode_cond_exe);
    case wire::Op::atomic:
      return without_sub_opcode(ring, decode_atomic);
    case wire::Op::const_fill:
      return without_sub_opcode(ring, decode_const_fill);
    case wire::Op::timestamp:
      return decode_timestamp(ring);
  }
  return unknown_opcode(ring);
}

}  // namespace cortado::sdma
