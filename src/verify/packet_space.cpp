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

PackingLimits packing_limits(const Features& features) {
  return {features.multicast ? features.multicast->destinations : 0, features.indirect ? features.indirect->entries : 0,
          features.fused_packets.has_value()};
}

bool has_packing(const Features& features, Packing packing) {
  switch (packing) {
    case Packing::each:
      return true;
    case Packing::multicast:
      return features.multicast.has_value();
    case Packing::fused:
      return features.fused_packets.has_value();
    case Packing::indirect:
      return features.indirect.has_value();
  }
  return false;
}

std::uint64_t written_packets(const Queue& queue, const Features& features) {
  if (queue.packing == Packing::each) return queue.commands.size();
  const std::vector<PackedCommands> packets = packets_of(queue, packing_limits(features));
  return packets.size() + address_lists(queue, packets).entries.size();
}

std::uint64_t packets_dwords(const Queue& queue, const DmaLimits& limits, const Features& features) {
  std::uint64_t total = 0;
  if (queue.packing == Packing::each) {
    for (const Command& command : queue.commands) total += packet_dwords(command, limits);
    return total;
  }
  for (const auto& [first, count] : packets_of(queue, packing_limits(features))) {
    if (count == 1) {
      total += packet_dwords(queue.commands[first], limits);
    } else if (queue.packing == Packing::multicast) {
      total += multicast_dwords(count);
    } else {
      total += queue.packing == Packing::fused ? kFusedDwords : kListDwords;
    }
  }
  return total;
}

}  // namespace cortado
