#include "device/vkfd/events.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>

#include "device/vkfd/program_memory.hpp"

namespace cortado::device::vkfd {

// A signal's id is also its slot in the event page and the context of its TRAP packets.
int Events::create(kfd::CreateEvent& request) {
  const std::lock_guard lock(mutex_);
  const auto type = static_cast<kfd::EventType>(request.type);
  std::uint32_t id = 0;
  if (type != kfd::EventType::signal) {
    id = next_other_++;
  } else if (!free_ids_.empty()) {
    id = *free_ids_.begin();
    free_ids_.erase(free_ids_.begin());
  } else if (next_signal_ < kfd::kMostSignals) {
    id = next_signal_++;
  } else {
    return ENOSPC;
  }
  states_[id] = {type, request.auto_reset != 0, false, 1, {}};
  request.event_id = id;
  request.trigger_data = id;
  request.slot = type == kfd::EventType::signal ? id : 0;
  // If this is 0, libraries give signals no mailbox, and then no TRAP.
  constexpr std::uint64_t kEventPage = std::uint64_t{2} << 62;
  request.page_offset = type == kfd::EventType::signal ? kEventPage : 0;
  return 0;
}

int Events::destroy(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  if (states_.erase(id) == 0) return EINVAL;
  if (id < kfd::kMostSignals) free_ids_.insert(id);
  changed_.notify_all();
  return 0;
}

void Events::signal(State& state) {
  state.signaled = true;
  ++state.age;
}

int Events::set(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(id);
  if (found == states_.end() || found->second.type != kfd::EventType::signal) return EINVAL;
  signal(found->second);
  changed_.notify_all();
  return 0;
}

int Events::reset(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(id);
  if (found == states_.end() || found->second.type != kfd::EventType::signal) return EINVAL;
  found->second.signaled = false;
  return 0;
}

void Events::trap(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(id);
  if (found == states_.end() || found->second.type != kfd::EventType::signal) return;
  signal(found->second);
  changed_.notify_all();
}

void Events::raise(const kfd::MemoryException& exception) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, state] : states_) {
    if (state.type != kfd::EventType::memory) continue;
    state.exception = exception;
    signal(state);
  }
  changed_.notify_all();
}

int Events::look(std::vector<kfd::EventData>& data, bool all) {
  const auto ready = [](const State& state, const kfd::EventData& wanted) {
    const bool by_age = state.type == kfd::EventType::signal && wanted.last_age != 0;
    return state.signaled || (by_age && wanted.last_age != state.age);
  };
  std::uint32_t found_ready = 0;
  for (const kfd::EventData& wanted : data) {
    const auto found = states_.find(wanted.event_id);
    if (found == states_.end()) return EINVAL;
    if (ready(found->second, wanted)) ++found_ready;
  }
  if (found_ready == 0 || (all && found_ready < data.size())) return ETIME;
  for (kfd::EventData& wanted : data) {
    State& state = states_.at(wanted.event_id);
    if (!ready(state, wanted)) continue;
    if (state.type == kfd::EventType::memory) {
      wanted.memory = state.exception;
    } else if (state.type == kfd::EventType::signal && wanted.last_age != 0) {
      wanted.last_age = state.age;
    }
    if (state.auto_reset) state.signaled = false;
  }
  return 0;
}

int Events::wait(kfd::WaitEvents& request) {
  constexpr std::uint32_t kMostEvents = 1 << 16;  // of one call; far more than a process can have
  if (request.count > kMostEvents) return ENOMEM;
  auto* const theirs = reinterpret_cast<kfd::EventData*>(request.events);
  const std::size_t bytes = request.count * sizeof(kfd::EventData);
  std::vector<kfd::EventData> data(request.count);
  if (!copy_in(data.data(), theirs, bytes)) return EFAULT;
  const std::vector<kfd::EventData> before = data;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(request.timeout_ms);
  std::unique_lock lock(mutex_);
  for (;;) {
    const int result = look(data, request.all != 0);
    if (result == 0) {
      request.result = static_cast<std::uint32_t>(kfd::WaitResult::complete);
      const bool changed = bytes != 0 && std::memcmp(before.data(), data.data(), bytes) != 0;
      return changed && !copy_out(theirs, data.data(), bytes) ? EFAULT : 0;
    }
    if (result != ETIME) {
      request.result = static_cast<std::uint32_t>(kfd::WaitResult::fail);
      return result;
    }
    if (request.timeout_ms == kfd::kForever) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() >= end) {
      request.result = static_cast<std::uint32_t>(kfd::WaitResult::timeout);
      return 0;
    } else {
      changed_.wait_until(lock, end);
    }
  }
}

}  // namespace cortado::device::vkfd
