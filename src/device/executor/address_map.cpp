#include "device/executor/address_map.hpp"

#include <algorithm>

#include "verify/packet_space.hpp"

namespace cortado::device {

SlotLayout slot_layout(const Program& program) {
  SlotLayout layout;
  layout.offset.reserve(program.queues.size());
  for (const Queue& queue : program.queues) {
    layout.offset.push_back(layout.bytes);
    if (queue.kind != QueueKind::host) layout.bytes += kSlotBytes * (queue.commands.size() + 1);
  }
  return layout;
}

ListLayout list_layout(const Program& program, const PackingLimits& packing) {
  ListLayout layout;
  for (const Queue& queue : program.queues) {
    layout.offset.push_back(layout.entries.size() * sizeof(ListEntry));
    if (queue.packing != Packing::indirect) continue;
    const AddressLists lists = address_lists(queue, packets_of(queue, packing));
    layout.entries.insert(layout.entries.end(), lists.entries.begin(), lists.entries.end());
  }
  return layout;
}

AddressMap fixed_layout(const Program& program, const Machine& machine) {
  constexpr std::uint64_t kRankStride = 0x1000'0000'0000;
  constexpr std::uint64_t kSignalBase = 0x0f00'0000'0000;
  constexpr std::uint64_t kSlotBase = 0x0e00'0000'0000;
  constexpr std::uint64_t kListBase = 0x0d00'0000'0000;
  const std::uint64_t alignment = std::max<std::uint64_t>(machine.allocation_alignment.value, 4096);

  AddressMap map;
  std::vector<std::uint64_t> next(program.ranks);
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) next[rank] = kRankStride * (rank + 1);
  for (const Buffer& buffer : program.buffers) {
    std::uint64_t& place = next[buffer.rank.value];
    map.buffers.push_back(place);
    place += (buffer.size.value + alignment - 1) / alignment * alignment;
  }
  for (std::size_t i = 0; i < program.signals.size(); ++i) map.signals.push_back(kSignalBase + i * kSignalBytes);
  for (const std::uint64_t offset : slot_layout(program).offset) map.slots.push_back(kSlotBase + offset);
  for (const std::uint64_t offset : list_layout(program, packing_limits(machine.features)).offset) {
    map.lists.push_back(kListBase + offset);
  }
  return map;
}

}  // namespace cortado::device
