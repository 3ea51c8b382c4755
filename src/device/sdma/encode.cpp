#include <cstring>

#include "cortado/packets.hpp"

#include "base/check.hpp"
#include "device/sdma/rules.hpp"
#include "device/sdma/wire.hpp"

namespace cortado::sdma {
namespace {

using wire::store;

/// CHECKs that the packet has an encoding.
template <class P>
void check(const P& packet) {
  const char* why = problem(packet);
  CORTADO_CHECK(why == nullptr, why);
}

wire::WindowSide to_wire(const WindowSide& side) {
  using Side = wire::WindowSide;
  return {wire::split(side.base), Side::X::put(side.x) | Side::Y::put(side.y),
          Side::Z::put(side.z) | Side::Pitch::put(side.pitch - 1), Side::SlicePitch::put(side.slice_pitch - 1)};
}

struct Dwords {
  std::size_t operator()(const Nop& packet) const { return wire::kDwords<wire::Nop> + packet.payload; }
  std::size_t operator()(const CopyLinear&) const { return wire::kDwords<wire::CopyLinear>; }
  std::size_t operator()(const CopyBroadcast&) const { return wire::kDwords<wire::CopyBroadcast>; }
  std::size_t operator()(const CopySwap&) const { return wire::kDwords<wire::CopySwap>; }
  std::size_t operator()(const CopyWindow&) const { return wire::kDwords<wire::CopyWindow>; }
  std::size_t operator()(const CopyAdd&) const { return wire::kDwords<wire::CopyAdd>; }
  std::size_t operator()(const CopyMulticast& packet) const {
    return wire::kDwords<wire::CopyMulticast> + 2 * std::size_t{packet.destinations};
  }
  std::size_t operator()(const CopyFused&) const { return wire::kDwords<wire::CopyFused>; }
  std::size_t operator()(const CopyList&) const { return wire::kDwords<wire::CopyList>; }
  std::size_t operator()(const WriteLinear& packet) const {
    return wire::kDwords<wire::WriteLinear> + packet.data.size();
  }
  std::size_t operator()(const ConstFill&) const { return wire::kDwords<wire::ConstFill>; }
  std::size_t operator()(const Fence&) const { return wire::kDwords<wire::Fence>; }
  std::size_t operator()(const Trap&) const { return wire::kDwords<wire::Trap>; }
  std::size_t operator()(const PollRegmem&) const { return wire::kDwords<wire::PollRegmem>; }
  std::size_t operator()(const Atomic&) const { return wire::kDwords<wire::Atomic>; }
  std::size_t operator()(const Timestamp&) const { return wire::kDwords<wire::Timestamp>; }
  std::size_t operator()(const CondExe&) const { return wire::kDwords<wire::CondExe>; }
  std::size_t operator()(const Indirect&) const { return wire::kDwords<wire::Indirect>; }
  std::size_t operator()(const HdpFlush&) const { return wire::kDwords<wire::PollRegmem>; }
};

}  // namespace

std::size_t dwords(const Packet& packet) {
  return std::visit(Dwords{}, packet);
}

std::size_t encode(const Packet& packet, std::uint32_t* out) {
  return std::visit([out](const auto& typed) { return encode(typed, out); }, packet);
}

std::size_t encode(const Nop& packet, std::uint32_t* out) {
  check(packet);
  store(wire::Nop{wire::header(wire::Op::nop) | wire::Nop::Payload::put(packet.payload)}, out);
  std::memset(out + 1, 0, packet.payload * sizeof(std::uint32_t));
  return wire::kDwords<wire::Nop> + packet.payload;
}

std::size_t encode(const CopyLinear& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::CopyLinear{wire::header(wire::CopySub::linear), wire::ByteCount::put(packet.bytes - 1), 0,
                                wire::split(packet.src), wire::split(packet.dst)},
               out);
}

std::size_t encode(const CopyBroadcast& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::CopyBroadcast{wire::header(wire::CopySub::linear) | wire::Broadcast::put(1),
                                   wire::ByteCount::put(packet.bytes - 1), 0, wire::split(packet.src),
                                   wire::split(packet.dst1), wire::split(packet.dst2)},
               out);
}

std::size_t encode(const CopySwap& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::CopySwap{wire::header(wire::CopySub::swap), wire::ByteCount::put(packet.bytes - 1), 0,
                              wire::split(packet.a), wire::split(packet.b)},
               out);
}

std::size_t encode(const CopyWindow& packet, std::uint32_t* out) {
  using Window = wire::CopyWindow;
  check(packet);
  return store(
      Window{wire::header(wire::CopySub::window) | Window::ElementLog2::put(packet.element_log2), to_wire(packet.src),
             to_wire(packet.dst), Window::Width::put(packet.width - 1) | Window::Height::put(packet.height - 1),
             Window::Depth::put(packet.depth - 1)},
      out);
}

std::size_t encode(const CopyAdd& packet, std::uint32_t* out) {
  check(packet);
  const auto type = wire::CopyAdd::ElementType::put(static_cast<std::uint32_t>(packet.dtype));
  return store(wire::CopyAdd{wire::header(wire::CopySub::add) | type, wire::ByteCount::put(packet.bytes - 1), 0,
                             wire::split(packet.src), wire::split(packet.dst)},
               out);
}

std::size_t encode(const CopyMulticast& packet, std::uint32_t* out) {
  check(packet);
  const auto destinations = wire::CopyMulticast::Destinations::put(packet.destinations);
  std::size_t at = store(wire::CopyMulticast{wire::header(wire::CopySub::multicast) | destinations,
                                             wire::ByteCount::put(packet.bytes - 1), 0, wire::split(packet.src)},
                         out);
  for (std::size_t i = 0; i < packet.destinations; ++i) at += store(wire::split(packet.dst[i]), out + at);
  return at;
}

std::size_t encode(const CopyFused& packet, std::uint32_t* out) {
  check(packet);
  const std::uint32_t flags =
      wire::CopyFused::Waits::put(packet.waits ? 1 : 0) | wire::CopyFused::Signals::put(packet.signals ? 1 : 0);
  return store(wire::CopyFused{wire::header(wire::CopySub::fused) | flags, wire::ByteCount::put(packet.bytes - 1), 0,
                               wire::split(packet.src), wire::split(packet.dst), wire::split(packet.wait),
                               packet.reference, wire::split(packet.signal), wire::split(packet.value)},
               out);
}

std::size_t encode(const CopyList& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::CopyList{wire::header(wire::CopySub::list), wire::ByteCount::put(packet.bytes - 1),
                              wire::CopyList::Entries::put(packet.entries - 1), wire::split(packet.src),
                              wire::split(packet.dst), wire::split(packet.list)},
               out);
}

std::size_t encode(const WriteLinear& packet, std::uint32_t* out) {
  check(packet);
  const auto count = static_cast<std::uint32_t>(packet.data.size() - 1);
  const std::size_t head = store(
      wire::WriteLinear{wire::header(wire::Op::write), wire::split(packet.dst), wire::WriteLinear::Count::put(count)},
      out);
  std::memcpy(out + head, packet.data.data(), packet.data.size() * sizeof(std::uint32_t));
  return head + packet.data.size();
}

/// The count is bytes - 1, as the Linux driver writes it.
std::size_t encode(const ConstFill& packet, std::uint32_t* out) {
  check(packet);
  return store(
      wire::ConstFill{wire::header(wire::Op::const_fill) | wire::ConstFill::ElementLog2::put(packet.element_log2),
                      wire::split(packet.dst), packet.pattern,
                      wire::ConstFill::Count::put((packet.elements << packet.element_log2) - 1)},
      out);
}

std::size_t encode(const Fence& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::Fence{wire::header(wire::Op::fence), wire::split(packet.address), packet.value}, out);
}

std::size_t encode(const Trap& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::Trap{wire::header(wire::Op::trap), wire::Trap::Context::put(packet.context)}, out);
}

std::size_t encode(const PollRegmem& packet, std::uint32_t* out) {
  using Poll = wire::PollRegmem;
  check(packet);
  return store(Poll{wire::header(wire::Op::poll_regmem) | Poll::HdpFlush::put(packet.hdp_flush ? 1 : 0) |
                        Poll::Function::put(static_cast<std::uint32_t>(packet.function)) |
                        Poll::Memory::put(packet.memory ? 1 : 0),
                    wire::split(packet.address), packet.reference, packet.mask,
                    Poll::Interval::put(packet.interval) | Poll::RetryCount::put(packet.retry_count)},
               out);
}

std::size_t encode(const Atomic& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::Atomic{wire::header(wire::Op::atomic) | wire::Atomic::Loop::put(packet.loop ? 1 : 0) |
                                wire::Atomic::Operation::put(packet.operation),
                            wire::split(packet.address), wire::split(packet.data), wire::split(packet.compare),
                            wire::Atomic::LoopInterval::put(packet.loop_interval)},
               out);
}

std::size_t encode(const Timestamp& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::Timestamp{wire::header(wire::Op::timestamp, static_cast<std::uint32_t>(packet.operation)),
                               wire::split(packet.address_or_value)},
               out);
}

std::size_t encode(const CondExe& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::CondExe{wire::header(wire::Op::cond_exe), wire::split(packet.address), packet.reference,
                             wire::CondExe::ExecCount::put(packet.exec_count)},
               out);
}

std::size_t encode(const Indirect& packet, std::uint32_t* out) {
  check(packet);
  return store(wire::Indirect{wire::header(wire::Op::indirect) | wire::Indirect::Vmid::put(packet.vmid),
                              wire::split(packet.base), wire::Indirect::Size::put(packet.dwords),
                              wire::split(packet.context_save)},
               out);
}

std::size_t encode(const HdpFlush&, std::uint32_t* out) {
  return store(wire::PollRegmem{wire::header(wire::Op::poll_regmem), wire::split(wire::kHdpFlushAddress), 0, 0, 0},
               out);
}

std::string why_not_encodable(const Packet& packet) {
  const char* why = std::visit([](const auto& typed) { return problem(typed); }, packet);
  return why == nullptr ? std::string{} : std::string{why};
}

}  // namespace cortado::sdma
