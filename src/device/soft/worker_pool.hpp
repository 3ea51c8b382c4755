// Threads that run queues beside the callers' own threads.
//
// A worker that finds nothing spins for a short while, then sleeps until somebody wakes it. While queues wait for
// memory to change (which nobody announces), one of the sleeping workers naps instead, for at most a millisecond at a
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
  WorkerPool(Scheduler& scheduler, std::uint32_t workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// A queue became ready. Costs two loads unless all workers sleep.
  void work_arrived() {
    if (sleeping_.load(std::memory_order_seq_cst) != 0 && spinning_.load(std::memory_order_seq_cst) == 0) wake();
  }
  /// A queue began to wait for memory: somebody must look at it from time to time.
  void watching_began() {
    if (sleeping_.load(std::memory_order_seq_cst) != 0 && !napping_.load(std::memory_order_seq_cst)) work_arrived();
  }

 private:
  void work(std::uint32_t number);
  bool spin(Scheduler::Cursor& cursor);
  void sleep(std::uint32_t& naps);
  void wake();

  Scheduler& scheduler_;
  std::atomic<std::uint32_t> spinning_{0};
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<bool> napping_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> wake_pending_{false};
  std::mutex mutex_;
  std::condition_variable awake_;
  std::vector<std::thread> threads_;
};

}  // namespace cortado::device::soft
