#include "device/soft/worker_pool.hpp"

#include <algorithm>
#include <chrono>

#include "device/soft/node_clock.hpp"
#include "device/soft/spin_wait.hpp"

namespace cortado::device::soft {
namespace {

constexpr std::uint64_t kSpinNanoseconds = 60'000;
// Between two looks, so that the threads that announce work keep the words they write in their own cache.
constexpr int kPausesBetweenLooks = 16;
constexpr std::chrono::microseconds kShortestNap{50};
constexpr std::uint32_t kMostDoublings = 4;  // of the nap: 800 us

}  // namespace

WorkerPool::WorkerPool(Scheduler& scheduler, std::uint32_t workers) : scheduler_(scheduler) {
  threads_.reserve(workers);
  for (std::uint32_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  awake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::wake() {
  if (wake_pending_.exchange(true)) return;
  { const std::lock_guard lock(mutex_); }
  awake_.notify_one();
}

bool WorkerPool::spin(Scheduler::Cursor& cursor) {
  spinning_.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t until = steady_nanoseconds() + kSpinNanoseconds;
  bool found = false;
  do {
    for (int i = 0; i < kPausesBetweenLooks; ++i) spin_pause();
    if (scheduler_.any_ready()) {
      found = true;
      break;
    }
    found = scheduler_.run_one(cursor) != Scheduler::Ran::nothing;
  } while (!found && !stopping_.load(std::memory_order_relaxed) && steady_nanoseconds() < until);
  spinning_.fetch_sub(1, std::memory_order_seq_cst);
  return found;
}

void WorkerPool::sleep(std::uint32_t& naps) {
  std::unique_lock lock(mutex_);
  // From here on work_arrived() wakes; what came before shows in the sets.
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  const auto called = [this] { return wake_pending_.load() || stopping_.load(); };
  if (!scheduler_.any_ready()) {
    if (!napping_.load() && scheduler_.any_watched()) {
      napping_.store(true);
      awake_.wait_for(lock, kShortestNap * (1U << std::min(naps++, kMostDoublings)), called);
      napping_.store(false);
    } else {
      awake_.wait(lock, called);
      naps = 0;
    }
  }
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
  wake_pending_.store(false);
}

void WorkerPool::work(std::uint32_t number) {
  Scheduler::Cursor cursor;
  cursor.idle_looks = 4096;
  cursor.ready.store(32 * (number + 1));  // away from the callers, who start at 0
  std::uint32_t naps = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Scheduler::Ran ran = scheduler_.run_one(cursor);
    if (ran != Scheduler::Ran::nothing) {
      naps = 0;
      // One more thread if there is more to do than this one can take.
      if (scheduler_.any_ready()) work_arrived();
      continue;
    }
    if (naps == 0 && spin(cursor)) continue;
    sleep(naps);
  }
}

}  // namespace cortado::device::soft
