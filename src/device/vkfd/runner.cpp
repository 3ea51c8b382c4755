#include "device/vkfd/runner.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "device/soft/node_clock.hpp"
#include "device/soft/spin_wait.hpp"

namespace cortado::device::vkfd {
namespace {

// Nanoseconds. Doorbells that are rung again soon are noticed at once; after that, a nap is a fraction of the time
// without work, so that a doorbell waits for a fraction of the time that the program waited before it, and at most for
// the longest nap, which keeps an idle node below 1 % of a core: waking up and setting the next timer takes about 65 us
// of a core in a virtual machine (measured on an AMD EPYC under KVM).
constexpr std::uint64_t kSpinTime = 1'000'000;
constexpr std::uint64_t kNapShare = 8;
constexpr std::uint64_t kShortestNap = 50'000;
constexpr std::uint64_t kLongestNap = 16'000'000;
// If a check comes this much later than the previous one, somebody else had the core. A thread that sleeps gets it back
// sooner than one that spins.
constexpr std::uint64_t kLostCore = 500'000;
constexpr int kPausesPerLook = 16;
constexpr std::uint32_t kLooksPerYield = 16;

/// Since Linux 6.12, a thread that asks for short slices of a core gets them sooner; older kernels ignore this.
void ask_for_short_slices() {
  struct {
    std::uint32_t size = 48;
    std::uint32_t policy = 0;  // SCHED_OTHER
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100'000;  // nanoseconds, the shortest
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
  } attributes;
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  if (errno == 0) attributes.nice = nice;  // this thread's own, unchanged
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

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

void Runner::attach(ProgramQueue& queue) {
  {
    const std::lock_guard lock(queues_mutex_);
    queue.slot = *scheduler_.attach(queue.runnable());
    queues_.push_back(&queue);
    if (threads_.empty() && !stopping_.load()) start();
    attached_.fetch_add(1);
  }
  wake();
}

void Runner::detach(ProgramQueue& queue) {
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

void Runner::wake_one() {
  calls_.fetch_add(1, std::memory_order_seq_cst);
  { const std::lock_guard lock(sleep_mutex_); }
  called_.notify_one();
}

bool Runner::look_at_doorbells() {
  const std::unique_lock lock(queues_mutex_, std::try_to_lock);
  if (!lock) return false;  // another thread is checking
  bool found = false;
  for (ProgramQueue* queue : queues_) {
    if (!queue->rang()) continue;
    NodeObserver* const observer = queue->handle() != nullptr ? options_.observer : nullptr;
    if (!queue->present) {
      if (observer != nullptr) observer->unheard(*queue->handle(), queue->doorbell());
      queue->take_doorbell(queue->doorbell());  // nothing runs it
      continue;
    }
    if (!queue->active) continue;
    const std::uint64_t now = soft::steady_nanoseconds();
    if (queue->ring_time == 0) {
      queue->ring_time = now;
      if (observer != nullptr) observer->rang(*queue->handle());
    }
    found = true;  // stay awake
    if (now - queue->ring_time < options_.doorbell_delay) continue;
    const std::uint64_t offset = queue->doorbell();
    if (observer != nullptr) observer->announced(*queue->handle(), offset, queue->ring_time);
    queue->ring_time = 0;
    if (!queue->take_doorbell(offset)) {
      if (observer != nullptr) observer->lost(*queue->handle(), offset);
      continue;
    }
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
  const soft::StepResult result = ready_[chosen]->runnable().random_step(random_);
  if (result.next == soft::Next::idle) {
    ready_[chosen] = ready_.back();
    ready_.pop_back();
  }
  return result.progressed;
}

/// Sleeps; true if woken.
bool Runner::nap(std::uint64_t nanoseconds) {
  std::unique_lock lock(sleep_mutex_);
  const std::uint64_t calls = calls_.load(std::memory_order_seq_cst);
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  const auto called = [&] { return calls_.load(std::memory_order_seq_cst) != calls || stopping_.load(); };
  // One thread checks for all of them; it wakes others when there is more than it can do.
  const bool watches = attached_.load() != 0 && !std::exchange(watched_, true);
  if (watches) {
    called_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), called);
    watched_ = false;
  } else {
    called_.wait(lock, called);
  }
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
  return calls_.load() != calls;
}

void Runner::work() {
  ask_for_short_slices();
  soft::Scheduler::Cursor cursor;
  std::uint64_t worked = soft::steady_nanoseconds();
  std::uint64_t looked = worked;
  bool crowded = false;
  std::uint32_t looks = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const bool rang = look_at_doorbells();
    const bool ran = options_.seed ? run_random_step() : scheduler_.run_one(cursor) != soft::Scheduler::Ran::nothing;
    const std::uint64_t now = soft::steady_nanoseconds();
    if (rang || ran) {
      worked = looked = now;
      crowded = false;
      if (sleeping_.load(std::memory_order_relaxed) != 0 && scheduler_.any_ready()) wake_one();
      continue;
    }
    crowded = crowded || now - looked > kLostCore;
    looked = now;
    const std::uint64_t idle = now - worked;
    if (idle < kSpinTime && !crowded) {
      for (int i = 0; i < kPausesPerLook; ++i) soft::spin_pause();
      if (++looks % kLooksPerYield == 0) std::this_thread::yield();
      continue;
    }
    if (nap(std::clamp(idle / kNapShare, kShortestNap, kLongestNap))) worked = soft::steady_nanoseconds();
    looked = soft::steady_nanoseconds();
  }
}

}  // namespace cortado::device::vkfd
