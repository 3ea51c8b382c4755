// Packets as one line of text each.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cortado/packets.hpp"
#include "cortado/program.hpp"

namespace cortado::sdma {
namespace {

std::string_view symbol(PollFunction function) {
  switch (function) {
    case PollFunction::always:
      return "always";
    case PollFunction::lt:
      return "<";
    case PollFunction::le:
      return "<=";
    case PollFunction::eq:
      return "==";
    case PollFunction::ne:
      return "!=";
    case PollFunction::ge:
      return ">=";
    case PollFunction::gt:
      return ">";
  }
  return "?";
}

/// "add64", "cmpswap32 no return", or empty for a number outside the texture-cache numbering.
std::string atomic_name(std::uint8_t operation) {
  static constexpr std::array<std::string_view, 13> kNames{"swap", "cmpswap", "add", "sub", "smin", "umin", "smax",
                                                           "umax", "and",     "or",  "xor", "inc",  "dec"};
  // Bit 5: 64 instead of 32 bits; bit 6: nothing is returned. The rest: 7, 8, then 0x0f to 0x19.
  const unsigned kind = operation & 0x1fU;
  std::size_t index = kNames.size();
  if (kind == 7 || kind == 8) index = kind - 7;
  if (kind >= 0x0f && kind <= 0x19) index = kind - 0x0f + 2;
  if (index == kNames.size()) return {};
  return fmt::format("{}{}{}", kNames[index], (operation & 0x20U) != 0 ? 64 : 32,
                     (operation & 0x40U) != 0 ? " no return" : "");
}

std::string window_side(const WindowSide& side) {
  std::string text = fmt::format("{:#x}", side.base);
  if (side.x != 0 || side.y != 0 || side.z != 0) text += fmt::format(" at ({}, {}, {})", side.x, side.y, side.z);
  text += fmt::format(" pitch {}", side.pitch);
  if (side.slice_pitch != 1) text += fmt::format(" slice {}", side.slice_pitch);
  return text;
}

struct Describe {
  std::string operator()(const Nop& p) const { return p.payload == 0 ? "NOP" : fmt::format("NOP +{}", p.payload); }
  std::string operator()(const CopyLinear& p) const {
    return fmt::format("COPY linear {} B {:#x} -> {:#x}", p.bytes, p.src, p.dst);
  }
  std::string operator()(const CopyBroadcast& p) const {
    return fmt::format("COPY broadcast {} B {:#x} -> {:#x}, {:#x}", p.bytes, p.src, p.dst1, p.dst2);
  }
  std::string operator()(const CopySwap& p) const {
    return fmt::format("COPY swap {} B {:#x} <-> {:#x}", p.bytes, p.a, p.b);
  }
  std::string operator()(const CopyWindow& p) const {
    return fmt::format("COPY window {}x{}x{} of {} B {} -> {}", p.width, p.height, p.depth, 1U << p.element_log2,
                       window_side(p.src), window_side(p.dst));
  }
  std::string operator()(const CopyAdd& p) const {
    return fmt::format("COPY add {} {} B {:#x} -> {:#x} (private)", cortado::to_string(p.dtype), p.bytes, p.src, p.dst);
  }
  std::string operator()(const CopyMulticast& p) const {
    std::string text = fmt::format("COPY multicast {} B {:#x} ->", p.bytes, p.src);
    for (std::size_t i = 0; i < p.destinations; ++i) text += fmt::format("{} {:#x}", i == 0 ? "" : ",", p.dst[i]);
    return text + " (private)";
  }
  std::string operator()(const CopyFused& p) const {
    return fmt::format("COPY fused{} {} B {:#x} -> {:#x}{} (private)",
                       p.waits ? fmt::format(" {:#x} >= {:#x},", p.wait, p.reference) : "", p.bytes, p.src, p.dst,
                       p.signals ? fmt::format(", {:#x} += {:#x}", p.signal, p.value) : "");
  }
  std::string operator()(const CopyList& p) const {
    return fmt::format("COPY list of {} at {:#x}: {} B {:#x} -> {:#x} (private)", p.entries, p.list, p.bytes, p.src,
                       p.dst);
  }
  std::string operator()(const WriteLinear& p) const {
    constexpr std::size_t kShown = 4;
    std::string text = fmt::format("WRITE {} dwords -> {:#x}:", p.data.size(), p.dst);
    for (std::size_t i = 0; i < std::min(kShown, p.data.size()); ++i) text += fmt::format(" {:08x}", p.data[i]);
    return p.data.size() > kShown ? text + " ..." : text;
  }
  std::string operator()(const ConstFill& p) const {
    return fmt::format("CONST_FILL {} x {} B of {:#x} -> {:#x}", p.elements, 1U << p.element_log2, p.pattern, p.dst);
  }
  std::string operator()(const Fence& p) const { return fmt::format("FENCE {:#x} <- {:#x}", p.address, p.value); }
  std::string operator()(const Trap& p) const { return fmt::format("TRAP {:#x}", p.context); }
  std::string operator()(const PollRegmem& p) const {
    std::string text =
        fmt::format("POLL {} {:#x}{} {} {:#x}", p.memory ? "memory" : "register", p.address,
                    p.mask == 0xffffffff ? "" : fmt::format(" & {:#x}", p.mask), symbol(p.function), p.reference);
    if (p.hdp_flush) text += " hdp_flush";
    text += fmt::format(" interval {}", p.interval);
    return p.retry_count == 0xfff ? text : text + fmt::format(" retries {}", p.retry_count);
  }
  std::string operator()(const Atomic& p) const {
    const std::string name = atomic_name(p.operation);
    std::string text = fmt::format("ATOMIC {} {:#x} {:#x}", name.empty() ? fmt::format("op {:#x}", p.operation) : name,
                                   p.address, p.data);
    if (p.compare != 0) text += fmt::format(" compare {:#x}", p.compare);
    return p.loop ? text + fmt::format(" loop interval {}", p.loop_interval) : text;
  }
  std::string operator()(const Timestamp& p) const {
    switch (p.operation) {
      case TimestampOp::set:
        return fmt::format("TIMESTAMP set {:#x}", p.address_or_value);
      case TimestampOp::get_local:
        return fmt::format("TIMESTAMP local -> {:#x}", p.address_or_value);
      case TimestampOp::get_global:
        return fmt::format("TIMESTAMP global -> {:#x}", p.address_or_value);
    }
    return "TIMESTAMP ?";
  }
  std::string operator()(const CondExe& p) const {
    return fmt::format("COND_EXE next {} dwords if {:#x} == {:#x}", p.exec_count, p.address, p.reference);
  }
  std::string operator()(const Indirect& p) const {
    std::string text = fmt::format("INDIRECT {} dwords at {:#x} vmid {}", p.dwords, p.base, p.vmid);
    return p.context_save == 0 ? text : text + fmt::format(" save {:#x}", p.context_save);
  }
  std::string operator()(const HdpFlush&) const { return "HDP flush"; }
};

}  // namespace

std::string to_string(const Packet& packet) {
  return std::visit(Describe{}, packet);
}

}  // namespace cortado::sdma
