#include "verify/packet_space.hpp"

#include "ir/visit.hpp"

namespace cortado {

std::uint64_t packet_dwords(const Command& command, const DmaLimits& limits) {
  constexpr std::uint64_t kHalves = 2;  // of a 64-bit value
  return match(
      command,
      [&](const Copy& copy) -> std::uint64_t {
        if (copy.op == CopyOp::add) return limits.add_copy_dwords;
        return copy.src.rows > 1 ? limits.window_dwords : limits.copy_dwords;
      },
      [&](const Broadcast&) -> std::uint64_t { return limits.broadcast_dwords; },
      [&](const Swap&) -> std::uint64_t { return limits.swap_dwords; },
      [&](const Wait&) -> std::uint64_t { return kHalves * limits.poll_dwords; },
      [&](const Signal& signal) -> std::uint64_t {
        return signal.op == SignalOp::add ? limits.atomic_dwords : kHalves * limits.fence_dwords;
      },
      [&](const Timestamp&) -> std::uint64_t { return limits.timestamp_dwords; },
      [](const auto&) -> std::uint64_t { return 0; });
}

}  // namespace cortado
