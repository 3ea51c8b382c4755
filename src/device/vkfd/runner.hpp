// Threads that watch doorbells and run the engines.
//
// Nobody announces a doorbell: it is a plain store of the program. The threads check all of them while there is work
// and for a millisecond after that, then less and less often; driver calls wake them, because a program that is about
// to wait has rung before. Without queues they sleep.
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
  /// With a seed, one thread runs everything, in an order chosen by a random generator.
  std::optional<std::uint64_t> seed;
  /// Nanoseconds for which a doorbell is ignored: programs that do not wait for each other's results get ahead.
  std::uint64_t doorbell_delay = 0;
  NodeObserver* observer = nullptr;  ///< notified of doorbells; may be null
};

class Runner {
 public:
  Runner(std::uint32_t most_queues, const RunnerOptions& options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void attach(ProgramQueue& queue);
  /// After this, no thread touches the queue.
  void detach(ProgramQueue& queue);
  /// Runs the function while no step of the queue runs and nobody checks its doorbell.
  template <class Function>
  void exclusively(ProgramQueue& queue, Function&& function) {
    const std::lock_guard lock(queues_mutex_);
    const std::lock_guard step(random_mutex_);
    scheduler_.exclusively(queue.slot, function);
  }
  /// Returns when every step that was running at the call has ended.
  void wait_for_running_steps();

  /// A doorbell may have been rung.
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
  std::vector<ProgramQueue*> ready_;  // in the random order: those with something to do

  std::mutex sleep_mutex_;
  std::condition_variable called_;
  bool watched_ = false;  // a sleeping thread wakes by itself; guarded by sleep_mutex_
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint32_t> attached_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace cortado::device::vkfd
