#include "device/soft/worker_pool.hpp"

#include <algorithm>
#include <chrono>

#include "device/soft/node_clock.hpp"
#include "device/soft/spin_wait.hpp"

namespace cortado::device::soft {
namespace {

constexpr std::uint64_t kCallersAway = 5'000;  // nanoseconds without a call: the callers are doing something else
constexpr std::uint64_t kSpin = 60'000;        // nanoseconds without activity before sleep
// Pauses between two checks, so that threads that announce work keep the words they write in their own cache.
constexpr int kPausesBetweenLooks = 48;
constexpr std::uint32_t kLooksPerYield = 8;
constexpr std::chrono::microseconds kShortestNap{50};
constexpr std::uint32_t kMostDoublings = 4;  // of the nap: 800 us

}  // namespace

WorkerPool::WorkerPool(Scheduler& scheduler, const Scheduler::Cursor& callers, std::uint32_t workers)
    : scheduler_(scheduler), callers_(callers) {
  threads_.reserve(workers);
  try {
    for (std::uint32_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (...) {  // the system has no more threads
    stop();
    throw;
  }
}

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  called_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::wake() {
  if (wake_pending_.exchange(true)) return;
  { const std::lock_guard lock(mutex_); }
  called_.notify_one();
}

bool WorkerPool::welcome(Watch& watch, std::uint64_t now) const {
  const std::uint32_t calls = callers_.turn.load(std::memory_order_relaxed);
  if (calls != watch.calls) {
    watch.calls = calls;
    watch.quiet_since = now;
  }
  return scheduler_.heavy() || now - watch.quiet_since >= kCallersAway;
}

void WorkerPool::sleep(std::uint32_t& naps) {
  std::unique_lock lock(mutex_);
  // From here on work_arrived() wakes this thread; what came before is visible in the sets.
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  awake_.fetch_sub(1, std::memory_order_seq_cst);
  const auto called = [this] { return wake_pending_.load() || stopping_.load(); };
  if (!scheduler_.any_ready()) {
    if (!napping_.load() && scheduler_.any_watched()) {
      napping_.store(true);
      called_.wait_for(lock, kShortestNap * (1U << std::min(naps++, kMostDoublings)), called);
      napping_.store(false);
    } else {
      called_.wait(lock, called);
      naps = 0;
    }
  }
  awake_.fetch_add(1, std::memory_order_seq_cst);
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
  wake_pending_.store(false);
}

void WorkerPool::work(std::uint32_t number) {
  Scheduler::Cursor cursor;
  cursor.idle_looks = 4096;
  cursor.ready.store(32 * (number + 1));  // away from the callers, which start at 0
  Watch watch;
  std::uint32_t naps = 0;
  std::uint32_t looks = 0;
  std::uint64_t last_work = steady_nanoseconds();
  awake_.fetch_add(1, std::memory_order_seq_cst);
  while (!stopping_.load(std::memory_order_relaxed)) {
    const std::uint64_t now = steady_nanoseconds();
    if (welcome(watch, now) && scheduler_.run_one(cursor) != Scheduler::Ran::nothing) {
      naps = 0;
      last_work = steady_nanoseconds();
      // Wake one more thread if there is more to do than the awake ones can take.
      if (sleeping_.load(std::memory_order_relaxed) != 0 && scheduler_.any_ready()) wake();
      continue;
    }
    // After a nap the worker only checks; otherwise it stays for a while, as long as there is work or callers assist.
    if (naps == 0 && now < std::max(last_work, watch.quiet_since) + kSpin) {
      for (int i = 0; i < kPausesBetweenLooks; ++i) spin_pause();
      if (++looks % kLooksPerYield == 0) std::this_thread::yield();
      continue;
    }
    sleep(naps);
    if (naps == 0) last_work = steady_nanoseconds();  // woken: there is work
  }
}

}  // namespace cortado::device::soft
