#include "device/soft/fault_injector.hpp"

namespace cortado::device::soft {

EngineInjection::EngineInjection(const FaultInjection& faults, RankId gpu, EngineId engine) {
  const auto here = [&](const auto& fault) { return fault.gpu == gpu && fault.engine == engine; };
  for (const auto& fault : faults.stalled_engines) {
    if (here(fault)) entries_.push_back({Kind::stall, fault.after_packets, 0});
  }
  for (const auto& fault : faults.dropped_doorbells) {
    if (here(fault)) entries_.push_back({Kind::doorbell, fault.nth, 0});
  }
  for (const auto& fault : faults.lost_signals) {
    if (here(fault)) entries_.push_back({Kind::lost, fault.nth, 0});
  }
  for (const auto& fault : faults.delayed_signals) {
    if (here(fault)) entries_.push_back({Kind::delayed, fault.nth, fault.nanoseconds});
  }
  for (const auto& fault : faults.lost_interrupts) {
    if (here(fault)) entries_.push_back({Kind::interrupt, fault.nth, 0});
  }
  for (const auto& fault : faults.slow_engines) {
    if (here(fault)) slowness_ = fault.factor;
  }
}

const EngineInjection::Entry* EngineInjection::strike(Kind kind, std::uint64_t count) {
  for (const Entry& entry : entries_) {
    if (entry.kind == kind && entry.count == count && !entry.struck->exchange(true)) return &entry;
  }
  return nullptr;
}

bool EngineInjection::drops_doorbell(std::uint64_t n) {
  return strike(Kind::doorbell, n) != nullptr;
}

bool EngineInjection::stalls(std::uint32_t queue, std::uint64_t packets) {
  if (stalled_by_.load() != 0) return true;
  if (strike(Kind::stall, packets) == nullptr) return false;
  stalled_by_.store(std::uint64_t{queue} + 1);
  return true;
}

bool EngineInjection::loses_signal(std::uint64_t n) {
  return strike(Kind::lost, n) != nullptr;
}

std::uint64_t EngineInjection::delays_signal(std::uint64_t n) {
  const Entry* entry = strike(Kind::delayed, n);
  return entry == nullptr ? 0 : entry->nanoseconds;
}

bool EngineInjection::loses_interrupt(std::uint64_t n) {
  return strike(Kind::interrupt, n) != nullptr;
}

void EngineInjection::queue_destroyed(std::uint32_t queue) {
  std::uint64_t expected = std::uint64_t{queue} + 1;
  stalled_by_.compare_exchange_strong(expected, 0);
}

}  // namespace cortado::device::soft
