// Which queue runs next. Threads come and go; any thread with time to spare calls run_one().
//
// Every runnable has a slot with one state word: running (a thread is in its step), notified (there may be something to
// do), and a count of finished steps. A step is claimed by setting `running`, so a queue is stepped by one thread at a
// time and no thread ever waits for another. Notified slots are in the ready set. Runnables that wait for memory or
// time to change are in the watched set, and are checked in turn, between the ready ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "device/soft/runnable.hpp"
#include "device/soft/slot_set.hpp"

namespace cortado::device::soft {

class Scheduler {
 public:
  explicit Scheduler(std::uint32_t max_slots);

  /// None if all slots are taken.
  std::optional<std::uint32_t> attach(Runnable& runnable);
  /// Waits for a running step; afterwards no thread touches the runnable.
  void detach(std::uint32_t slot);

  void notify(std::uint32_t slot);

  /// Where a thread looks first. One per thread; all callers share one.
  struct alignas(64) Cursor {
    std::uint32_t idle_looks = 64;  ///< watched runnables that are checked when nothing is ready
    std::atomic<std::uint32_t> ready{0};
    std::atomic<std::uint32_t> watched{0};
    std::atomic<std::uint32_t> turn{0};
  };
  enum class Ran {
    nothing,   ///< no step, or only fruitless checks
    finished,  ///< a step after which there is nothing to do
    watched,   ///< a step that ended in a wait
    again,     ///< a step after which there is more to do
  };
  Ran run_one(Cursor& cursor);

  /// Whether steps have been heavy since the ready set was last found empty.
  bool heavy() const { return heavy_.load(std::memory_order_relaxed); }

  bool any_ready() const { return !ready_.empty(end()); }
  bool any_watched() const { return !watched_.empty(end()); }

  /// Runs the function while no step of the runnable runs.
  template <class Function>
  void exclusively(std::uint32_t slot, Function&& function) {
    lock(slot);
    function();
    release(slot, false);
  }

  /// Returns when every step that was running at the call has ended.
  void wait_for_running_steps() const;

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> state{kDetached};
    Runnable* runnable = nullptr;  // read only by the thread that set kRunning
  };
  static constexpr std::uint64_t kRunning = 1;
  static constexpr std::uint64_t kNotified = 2;
  static constexpr std::uint64_t kDetached = 4;
  static constexpr std::uint64_t kStep = 8;  // one finished step

  std::uint32_t end() const { return end_.load(std::memory_order_acquire); }
  bool claim(std::uint32_t slot);
  Ran run(std::uint32_t slot);
  void release(std::uint32_t slot, bool notified);
  void lock(std::uint32_t slot);
  Ran run_ready(Cursor& cursor);
  Ran look_at_watched(Cursor& cursor, std::uint32_t looks);

  std::vector<Slot> slots_;
  SlotSet ready_;
  SlotSet watched_;
  alignas(64) std::atomic<bool> heavy_{false};
  alignas(64) std::atomic<std::uint32_t> end_{0};  // slots from here on were never used
  std::mutex free_mutex_;
  std::vector<std::uint32_t> free_;  // descending, so that low slots are used first
};

}  // namespace cortado::device::soft
