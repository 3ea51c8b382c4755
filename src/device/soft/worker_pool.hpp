// Threads that run queues in addition to the callers' own threads.
//
// Small work is done fastest by the caller that submitted it and waits for it: everything is in the caller's cache. So
// workers join in only when steps are heavy, or when no caller has assisted for some microseconds. A worker with
// nothing to do spins for a short while after the last activity, then sleeps until it is woken. While queues wait for
// memory to change (which nobody announces), one of the sleeping workers naps instead, for less than a millisecond at a
// time. An idle node uses no processor time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "device/soft/scheduler.hpp"

namespace cortado::device::soft {

class WorkerPool {
 public:
  /// `callers` is the cursor that the callers' threads use: it shows whether they assist.
  WorkerPool(Scheduler& scheduler, const Scheduler::Cursor& callers, std::uint32_t workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// A queue became ready. Costs two loads unless all workers sleep.
  void work_arrived() {
    if (sleeping_.load(std::memory_order_seq_cst) != 0 && awake_.load(std::memory_order_seq_cst) == 0) wake();
  }
  /// A queue began to wait for memory: some thread must check it from time to time.
  void watching_began() {
    if (sleeping_.load(std::memory_order_seq_cst) != 0 && !napping_.load(std::memory_order_seq_cst)) work_arrived();
  }

 private:
  /// What a worker remembers about the callers.
  struct Watch {
    std::uint32_t calls = 0;
    std::uint64_t quiet_since = 0;  ///< nanoseconds
  };

  void stop();
  void work(std::uint32_t number);
  bool welcome(Watch& watch, std::uint64_t now) const;
  void sleep(std::uint32_t& naps);
  void wake();

  Scheduler& scheduler_;
  const Scheduler::Cursor& callers_;
  std::atomic<std::uint32_t> awake_{0};  // workers that look for work
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<bool> napping_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> wake_pending_{false};
  std::mutex mutex_;
  std::condition_variable called_;
  std::vector<std::thread> threads_;
};

}  // namespace cortado::device::soft
