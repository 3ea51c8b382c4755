// Threads that look at doorbells and run the engines.
//
// Nobody announces a doorbell: it is a plain store of the program. The threads look at all of them while there is work
// and for a millisecond after, then ever less often; calls of the driver wake them, because a program that is about to
// wait has rung before. Without queues they sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "device/soft/scheduler.hpp"
#include "device/vkfd/node_observer.hpp"
#include "device/vkfd/ring_queue.hpp"

namespace cortado::device::vkfd {

struct RunnerOptions {
  std::uint32_t threads = 1;
  /// With a seed one thread runs everything, in an order that a random generator chooses.
  std::optional<std::uint64_t> seed;
  /// Nanoseconds that a doorbell is overlooked: programs that do not wait for each other's results get ahead.
  std::uint64_t doorbell_delay = 0;
  NodeObserver* observer = nullptr;  ///< told of doorbells; may be null
};

class Runner {
 public:
  Runner(std::uint32_t most_queues, const RunnerOptions& options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void attach(ProgramQueue& queue);
  /// Afterwards no thread touches the queue.
  void detach(ProgramQueue& queue);
  /// While no step of the queue runs and nobody looks at its doorbell.
  template <class Function>
  void exclusively(ProgramQueue& queue, Function&& function) {
    const std::lock_guard lock(queues_mutex_);
    const std::lock_guard step(random_mutex_);
    scheduler_.exclusively(queue.slot, function);
  }
  /// Returns when every step that was running at the call has ended.
  void wait_for_running_steps();

  /// Something may have been rung.
  void wake();
  /// Ends the threads; queues stay as they are.
  void stop();

 private:
  void start();
  void work();
  bool look_at_doorbells();
  bool run_random_step();
  bool nap(std::uint64_t nanoseconds);
  void wake_one();

  const RunnerOptions options_;
  soft::Scheduler scheduler_;
  std::mutex queues_mutex_;
  std::vector<ProgramQueue*> queues_;
  std::mutex random_mutex_;  // held during a random step
  Random random_;
  std::vector<ProgramQueue*> ready_;  // in the random order: with something to do

  std::mutex sleep_mutex_;
  std::condition_variable called_;
  bool watched_ = false;  // a thread that sleeps wakes by itself; with sleep_mutex_
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint32_t> attached_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace cortado::device::vkfd
