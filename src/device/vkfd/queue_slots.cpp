#include "device/vkfd/queue_slots.hpp"

#include <algorithm>
#include <cerrno>

namespace cortado::device::vkfd {

Expected<QueueSlots::Slot, int> QueueSlots::take(kfd::QueueType type, std::uint32_t engine) {
  if (type == kfd::QueueType::sdma_by_engine && engine >= ordinary_engines_ + xgmi_engines_) {
    return Unexpected(EINVAL);
  }
  const auto doorbell = std::ranges::find(doorbells_, false);
  if (doorbell == doorbells_.end()) return Unexpected(ENOSPC);
  Slot slot;
  slot.doorbell = static_cast<std::uint32_t>(doorbell - doorbells_.begin());
  if (type == kfd::QueueType::compute_aql) {
    if (compute_queues_ == kMostComputeQueues) return Unexpected(ENOMEM);
    ++compute_queues_;
    *doorbell = true;
    slot.compute = true;
    return slot;
  }
  slot.xgmi =
      type == kfd::QueueType::sdma_xgmi || (type == kfd::QueueType::sdma_by_engine && engine >= ordinary_engines_);
  std::vector<bool>& places = slot.xgmi ? xgmi_ : ordinary_;
  const std::uint32_t engines = slot.xgmi ? xgmi_engines_ : ordinary_engines_;
  const std::uint32_t first = slot.xgmi ? ordinary_engines_ : 0;
  const bool chosen = type == kfd::QueueType::sdma_by_engine;
  std::uint32_t place = chosen ? engine - first : 0;
  while (place < places.size() && places[place]) place += chosen ? engines : 1;
  if (place >= places.size()) return Unexpected(ENOMEM);
  *doorbell = true;
  places[place] = true;
  slot.place = place;
  slot.engine = first + place % engines;
  return slot;
}

void QueueSlots::give_back(const Slot& slot) {
  if (slot.compute) {
    --compute_queues_;
  } else {
    (slot.xgmi ? xgmi_ : ordinary_)[slot.place] = false;
  }
  doorbells_[slot.doorbell] = false;
}

}  // namespace cortado::device::vkfd
