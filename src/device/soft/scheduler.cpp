#include "device/soft/scheduler.hpp"

#include <algorithm>
#include <functional>
#include <thread>

namespace cortado::device::soft {
namespace {

constexpr std::uint32_t kReadyStepsPerLook = 8;
constexpr std::uint32_t kLooksBetweenSteps = 4;

}  // namespace

Scheduler::Scheduler(std::uint32_t max_slots) : slots_(max_slots), ready_(max_slots), watched_(max_slots) {
  free_.reserve(max_slots);
  for (std::uint32_t slot = max_slots; slot > 0; --slot) free_.push_back(slot - 1);
}

std::optional<std::uint32_t> Scheduler::attach(Runnable& runnable) {
  const std::lock_guard lock(free_mutex_);
  if (free_.empty()) return std::nullopt;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot].runnable = &runnable;
  slots_[slot].state.fetch_and(~kDetached, std::memory_order_release);
  if (slot >= end_.load(std::memory_order_relaxed)) end_.store(slot + 1, std::memory_order_release);
  return slot;
}

void Scheduler::detach(std::uint32_t slot) {
  lock(slot);
  watched_.remove(slot);
  ready_.remove(slot);
  slots_[slot].runnable = nullptr;
  std::atomic<std::uint64_t>& state = slots_[slot].state;
  std::uint64_t seen = state.load(std::memory_order_relaxed);
  while (!state.compare_exchange_weak(seen, ((seen & ~(kRunning | kNotified)) | kDetached) + kStep,
                                      std::memory_order_acq_rel)) {
  }
  const std::lock_guard guard(free_mutex_);
  free_.insert(std::ranges::lower_bound(free_, slot, std::greater<>()), slot);
}

void Scheduler::notify(std::uint32_t slot) {
  const std::uint64_t before = slots_[slot].state.fetch_or(kNotified, std::memory_order_seq_cst);
  // The thread of a running step sees the mark when the step ends; a slot that was already marked is in the set.
  if ((before & (kRunning | kNotified | kDetached)) == 0) ready_.add(slot);
}

bool Scheduler::claim(std::uint32_t slot) {
  std::uint64_t seen = slots_[slot].state.load(std::memory_order_relaxed);
  if ((seen & (kRunning | kDetached)) != 0) return false;
  return slots_[slot].state.compare_exchange_strong(seen, (seen & ~kNotified) | kRunning, std::memory_order_seq_cst);
}

void Scheduler::release(std::uint32_t slot, bool notified) {
  std::atomic<std::uint64_t>& state = slots_[slot].state;
  std::uint64_t seen = state.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = ((seen & ~kRunning) | (notified ? kNotified : 0)) + kStep;
  } while (!state.compare_exchange_weak(seen, next, std::memory_order_seq_cst));
  if ((next & kNotified) != 0) ready_.add(slot);
}

Scheduler::Ran Scheduler::run(std::uint32_t slot) {
  const StepResult result = slots_[slot].runnable->step();
  const bool watch = result.next == Next::look_again;
  if (watch != watched_.contains(slot)) {
    if (watch) {
      watched_.add(slot);
    } else {
      watched_.remove(slot);
    }
  }
  if (result.heavy && !heavy()) heavy_.store(true, std::memory_order_relaxed);
  release(slot, result.next == Next::again);
  if (result.next == Next::again) return Ran::again;
  if (watch) return result.progressed ? Ran::watched : Ran::nothing;
  return Ran::finished;
}

void Scheduler::lock(std::uint32_t slot) {
  std::atomic<std::uint64_t>& state = slots_[slot].state;
  for (;;) {
    std::uint64_t seen = state.load(std::memory_order_relaxed);
    if ((seen & kRunning) == 0 && state.compare_exchange_weak(seen, seen | kRunning, std::memory_order_seq_cst)) return;
    std::this_thread::yield();
  }
}

Scheduler::Ran Scheduler::run_ready(Cursor& cursor) {
  const std::uint32_t last = end();
  for (;;) {
    const std::uint32_t slot = ready_.next_around(cursor.ready.load(std::memory_order_relaxed), last);
    if (slot == SlotSet::kNone) {
      if (heavy()) heavy_.store(false, std::memory_order_relaxed);
      return Ran::nothing;
    }
    cursor.ready.store(slot + 1, std::memory_order_relaxed);
    if (!ready_.remove(slot)) continue;
    if (claim(slot)) return run(slot);
    // It is held by state() or detach(), which put it back or no longer need it; or it ran in the meantime as a watched
    // one.
  }
}

Scheduler::Ran Scheduler::look_at_watched(Cursor& cursor, std::uint32_t looks) {
  const std::uint32_t last = end();
  std::uint32_t first = SlotSet::kNone;
  for (std::uint32_t looked = 0; looked < looks; ++looked) {
    const std::uint32_t slot = watched_.next_around(cursor.watched.load(std::memory_order_relaxed), last);
    if (slot == SlotSet::kNone || slot == first) break;  // once around
    if (first == SlotSet::kNone) first = slot;
    cursor.watched.store(slot + 1, std::memory_order_relaxed);
    if (!claim(slot)) continue;
    if (const Ran ran = run(slot); ran != Ran::nothing) return ran;
  }
  return Ran::nothing;
}

Scheduler::Ran Scheduler::run_one(Cursor& cursor) {
  const std::uint32_t turn = cursor.turn.load(std::memory_order_relaxed);
  cursor.turn.store(turn + 1, std::memory_order_relaxed);
  if (turn % kReadyStepsPerLook == 0) {
    if (const Ran ran = look_at_watched(cursor, kLooksBetweenSteps); ran != Ran::nothing) return ran;
  }
  if (const Ran ran = run_ready(cursor); ran != Ran::nothing) return ran;
  return look_at_watched(cursor, cursor.idle_looks);
}

void Scheduler::wait_for_running_steps() const {
  const std::uint32_t last = end();
  for (std::uint32_t slot = 0; slot < last; ++slot) {
    const std::uint64_t before = slots_[slot].state.load(std::memory_order_seq_cst);
    if ((before & kRunning) == 0) continue;
    const auto steps = [](std::uint64_t state) { return state / kStep; };
    for (;;) {
      const std::uint64_t now = slots_[slot].state.load(std::memory_order_seq_cst);
      if ((now & kRunning) == 0 || steps(now) != steps(before)) break;
      std::this_thread::yield();
    }
  }
}

}  // namespace cortado::device::soft
