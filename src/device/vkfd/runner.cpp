#include "device/vkfd/runner.hpp"

#include <algorithm>
#include <chrono>

#include "device/soft/node_clock.hpp"
#include "device/soft/spin_wait.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::uint64_t kSpinTime = 200'000;  // nanoseconds without work before a thread sleeps
constexpr int kPausesPerLook = 16;
constexpr std::uint32_t kLooksPerYield = 16;
constexpr std::chrono::microseconds kFirstNap{50};
constexpr std::uint32_t kMostNapDoublings = 5;  // 1.6 ms: below 1 % of a core

}  // namespace

Runner::Runner(std::uint32_t most_queues, const RunnerOptions& options)
    : options_(options), scheduler_(most_queues), random_(options.seed.value_or(0)) {}

Runner::~Runner() {
  stop();
}

void Runner::start() {
  const std::uint32_t threads = options_.seed ? 1 : std::max(options_.threads, 1U);
  for (std::uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

void Runner::stop() {
  {
    const std::lock_guard lock(sleep_mutex_);
    stopping_.store(true);
  }
  called_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Runner::attach(RingQueue& queue) {
  {
    const std::lock_guard lock(queues_mutex_);
    queue.slot = *scheduler_.attach(queue.engine());
    queues_.push_back(&queue);
    if (threads_.empty() && !stopping_.load()) start();
    attached_.fetch_add(1);
  }
  wake();
}

void Runner::detach(RingQueue& queue) {
  const std::lock_guard lock(queues_mutex_);
  std::erase(queues_, &queue);
  attached_.fetch_sub(1);
  {
    const std::lock_guard step(random_mutex_);
    std::erase(ready_, &queue);
  }
  scheduler_.detach(queue.slot);
}

void Runner::wait_for_running_steps() {
  { const std::lock_guard step(random_mutex_); }
  scheduler_.wait_for_running_steps();
}

void Runner::wake() {
  calls_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
  { const std::lock_guard lock(sleep_mutex_); }
  called_.notify_all();
}

bool Runner::look_at_doorbells() {
  const std::unique_lock lock(queues_mutex_, std::try_to_lock);
  if (!lock) return false;  // another thread looks
  bool found = false;
  for (RingQueue* queue : queues_) {
    if (!queue->active || !queue->rang()) continue;
    const std::uint64_t now = soft::steady_nanoseconds();
    if (queue->ring_time == 0) {
      queue->ring_time = now;
      if (options_.observer != nullptr) options_.observer->rang(queue->handle());
    }
    found = true;  // stay awake
    if (now - queue->ring_time < options_.doorbell_delay) continue;
    queue->ring_time = 0;
    if (!queue->take_doorbell()) continue;
    if (!options_.seed) {
      scheduler_.notify(queue->slot);
      continue;
    }
    const std::lock_guard step(random_mutex_);
    if (std::ranges::find(ready_, queue) == ready_.end()) ready_.push_back(queue);
  }
  return found;
}

bool Runner::run_random_step() {
  const std::lock_guard step(random_mutex_);
  if (ready_.empty()) return false;
  const std::size_t chosen = random_.below(ready_.size());
  const soft::StepResult result = ready_[chosen]->engine().random_step(random_);
  if (result.next == soft::Next::idle) {
    ready_[chosen] = ready_.back();
    ready_.pop_back();
  }
  return result.progressed;
}

/// Sleeps; true if somebody called.
bool Runner::nap(Idle& idle) {
  std::unique_lock lock(sleep_mutex_);
  const std::uint64_t calls = calls_.load(std::memory_order_seq_cst);
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  const auto called = [&] { return calls_.load(std::memory_order_seq_cst) != calls || stopping_.load(); };
  if (attached_.load() == 0) {
    called_.wait(lock, called);
  } else {
    called_.wait_for(lock, kFirstNap * (1U << std::min(idle.naps++, kMostNapDoublings)), called);
  }
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
  return calls_.load() != calls;
}

void Runner::work() {
  soft::Scheduler::Cursor cursor;
  Idle idle{soft::steady_nanoseconds(), 0};
  std::uint32_t looks = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const bool rang = look_at_doorbells();
    const bool ran = options_.seed ? run_random_step() : scheduler_.run_one(cursor) != soft::Scheduler::Ran::nothing;
    if (rang || ran) {
      idle = {soft::steady_nanoseconds(), 0};
      continue;
    }
    if (idle.naps == 0 && soft::steady_nanoseconds() - idle.since < kSpinTime) {
      for (int i = 0; i < kPausesPerLook; ++i) soft::spin_pause();
      if (++looks % kLooksPerYield == 0) std::this_thread::yield();
      continue;
    }
    if (nap(idle)) idle = {soft::steady_nanoseconds(), 0};
  }
}

}  // namespace cortado::device::vkfd
