#include "device/soft/event_table.hpp"

namespace cortado::device::soft {

std::uint32_t EventTable::create(const Memory& mailbox) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t id = next_++;
  events_[id] = {false, mailbox};
  return id;
}

Memory EventTable::destroy(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(id);
  if (found == events_.end()) return {};
  const Memory mailbox = found->second.mailbox;
  events_.erase(found);
  return mailbox;
}

void EventTable::fire(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(id);
  if (found == events_.end()) return;
  found->second.fired = true;
  fired_.notify_all();
}

bool EventTable::take_locked(std::uint32_t id) {
  const auto found = events_.find(id);
  if (found == events_.end() || !found->second.fired) return false;
  found->second.fired = false;
  return true;
}

bool EventTable::take(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  return take_locked(id);
}

bool EventTable::take_within(std::uint32_t id, std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  return fired_.wait_for(lock, time, [&] { return take_locked(id); });
}

}  // namespace cortado::device::soft
