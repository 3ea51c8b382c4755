#include "ir/packing.hpp"

#include <map>
#include <span>
#include <utility>
#include <variant>

namespace cortado {
namespace {

using Commands = std::span<const Command>;

/// The first command, if it is a copy that a packet of several commands can hold.
const Copy* plain_copy(Commands commands) {
  if (commands.empty()) return nullptr;
  const auto* copy = std::get_if<Copy>(&commands.front());
  return copy != nullptr && copy->op == CopyOp::store && copy->src.rows == 1 && copy->dst.rows == 1 ? copy : nullptr;
}

template <class Alike>
std::uint32_t run_of_copies(Commands commands, std::uint32_t most, Alike alike) {
  const Copy* const first = plain_copy(commands);
  if (first == nullptr) return 1;
  std::uint32_t count = 1;
  while (count < most) {
    const Copy* const next = plain_copy(commands.subspan(count));
    if (next == nullptr || !alike(*first, *next)) break;
    ++count;
  }
  return count;
}

bool of_same_source(const Copy& a, const Copy& b) {
  return a.src == b.src;
}

bool between_same_buffers(const Copy& a, const Copy& b) {
  return a.src.buffer == b.src.buffer && a.dst.buffer == b.dst.buffer && a.src.width == b.src.width;
}

/// Whether source and destination of the second copy are displaced equally from the first: as for the same block of the
/// next layer.
bool displaced_alike(const Copy& a, const Copy& b) {
  return b.src.offset.value - a.src.offset.value == b.dst.offset.value - a.dst.offset.value;
}

/// A list ends before a copy that would start the same list again elsewhere, so that layers share one. Where all copies
/// are like that, there is nothing to share.
std::uint32_t list_entries(Commands commands, std::uint32_t most) {
  const std::uint32_t run = run_of_copies(commands, most, between_same_buffers);
  if (run < 3) return run;
  const auto copy = [&](std::uint32_t i) -> const Copy& { return std::get<Copy>(commands[i]); };
  if (displaced_alike(copy(0), copy(1))) return run;
  for (std::uint32_t i = 2; i < run; ++i) {
    if (displaced_alike(copy(0), copy(i))) return i;
  }
  return run;
}

/// Wait, Copy, Signal; either the first or the last may be missing.
std::uint32_t fused_commands(Commands commands) {
  const auto* wait = std::get_if<Wait>(&commands.front());
  const bool waits = wait != nullptr && wait->compare == Compare::ge;
  const Commands rest = waits ? commands.subspan(1) : commands;
  if (plain_copy(rest) == nullptr) return 1;
  const auto* signal = rest.size() > 1 ? std::get_if<Signal>(&rest[1]) : nullptr;
  const bool signals = signal != nullptr && signal->op == SignalOp::add;
  return 1U + (waits ? 1U : 0U) + (signals ? 1U : 0U);
}

std::uint32_t commands_of_packet(Commands commands, Packing packing, const PackingLimits& limits) {
  switch (packing) {
    case Packing::each:
      return 1;
    case Packing::multicast:
      return run_of_copies(commands, limits.destinations, of_same_source);
    case Packing::fused:
      return limits.fused ? fused_commands(commands) : 1;
    case Packing::indirect:
      return list_entries(commands, limits.entries);
  }
  return 1;
}

}  // namespace

std::vector<PackedCommands> packets_of(const Queue& queue, const PackingLimits& limits) {
  std::vector<PackedCommands> packets;
  const Commands commands = queue.commands;
  for (std::uint32_t first = 0; first < commands.size(); first += packets.back().count) {
    packets.push_back({first, commands_of_packet(commands.subspan(first), queue.packing, limits)});
  }
  return packets;
}

AddressLists address_lists(const Queue& queue, const std::vector<PackedCommands>& packets) {
  AddressLists lists;
  std::map<std::vector<ListEntry>, std::uint32_t> known;
  for (const auto& [first, count] : packets) {
    lists.first.push_back(0);
    if (count == 1 || queue.packing != Packing::indirect) continue;
    const auto& begin = std::get<Copy>(queue.commands[first]);
    std::vector<ListEntry> entries;
    for (std::uint32_t i = first; i < first + count; ++i) {
      const auto& copy = std::get<Copy>(queue.commands[i]);
      entries.push_back(
          {copy.src.offset.value - begin.src.offset.value, copy.dst.offset.value - begin.dst.offset.value});
    }
    const auto [found, fresh] = known.try_emplace(std::move(entries), static_cast<std::uint32_t>(lists.entries.size()));
    if (fresh) lists.entries.insert(lists.entries.end(), found->first.begin(), found->first.end());
    lists.first.back() = found->second;
  }
  return lists;
}

}  // namespace cortado
