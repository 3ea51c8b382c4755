// Who steps the queues, and when: threads of a pool and assisting callers, or one random generator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "device/soft/node_clock.hpp"
#include "device/soft/runnable.hpp"

namespace cortado::device::soft {

class Dispatcher {
 public:
  Dispatcher() = default;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  virtual ~Dispatcher() = default;

  /// A slot for the runnable; none if all are taken.
  virtual std::optional<std::uint32_t> attach(Runnable& runnable) = 0;
  /// Waits for a running step; afterwards no thread touches the runnable.
  virtual void detach(std::uint32_t slot) = 0;

  /// The runnable has something to do.
  virtual void notify(std::uint32_t slot) = 0;

  /// Steps queues for a short while on the caller's thread. False if no queue could move.
  virtual bool assist() = 0;

  /// Runs the function while no step of the runnable runs.
  virtual void exclusively(std::uint32_t slot, const std::function<void()>& function) = 0;

  /// Returns when every step that was running at the call has ended.
  virtual void wait_for_running_steps() = 0;
};

/// `workers` threads in addition to the callers' own.
std::unique_ptr<Dispatcher> make_threaded_dispatcher(std::uint32_t max_runnables, std::uint32_t workers);

/// Every assist() is one random step of one random runnable; seed and calls determine everything. It also advances the
/// clock, so that it always does something.
std::unique_ptr<Dispatcher> make_random_dispatcher(std::uint64_t seed, DelayClock& clock);

}  // namespace cortado::device::soft
