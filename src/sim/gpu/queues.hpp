// The position of every queue: one command of one iteration. What all kinds of queues have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/gpu/core.hpp"

namespace cortado::sim {

enum class Blocked : std::uint8_t { no, signal, transfers, submit, thread, units, entries };

struct QueueState {
  std::uint32_t iteration = 0;
  std::uint32_t command = 0;
  std::uint32_t submitted = 0;   // iterations that the queue may execute; host queues: all
  std::uint32_t span = kNoSpan;  // of the command in progress (not of overlapping copies)
  std::uint32_t submit_span = kNoSpan;
  Blocked blocked = Blocked::submit;
  bool begun = false;  // the current command has started
  SimTime ended{};     // when the last command ended
  SimTime handed{};    // when the host began to hand over the commands of the last iteration
};

/// Steps queues, and retries those that waited for entries of a tracker.
class QueueControl {
 public:
  virtual void step(std::uint32_t queue) = 0;
  virtual void entries_are_free(std::uint32_t queue) = 0;

 protected:
  ~QueueControl() = default;
};

class Queues {
 public:
  explicit Queues(Core& core);

  std::uint32_t size() const { return static_cast<std::uint32_t>(states_.size()); }
  QueueState& operator[](std::uint32_t queue) { return states_[queue]; }
  const QueueState& operator[](std::uint32_t queue) const { return states_[queue]; }
  /// The command in progress or next.
  const Command& command(std::uint32_t queue) const {
    return core_.program.queues[queue].commands[states_[queue].command];
  }

  /// True if the queue has a command to execute. At the end of an iteration that another may follow, calls
  /// iteration_ended() and moves on to the next.
  template <class IterationEnded>
  bool at_command(std::uint32_t index, IterationEnded&& iteration_ended) {
    QueueState& queue = states_[index];
    const auto size = static_cast<std::uint32_t>(core_.program.queues[index].commands.size());
    while (queue.iteration < queue.submitted && queue.command == size) {
      queue.command = 0;
      ++queue.iteration;
      iteration_ended();
    }
    if (queue.iteration < queue.submitted) return true;
    queue.blocked = Blocked::submit;
    return false;
  }

  void begin_command(std::uint32_t queue);
  void end_command(std::uint32_t queue);
  void step_at(std::uint32_t queue, SimTime at);

  /// The current Wait passes now (true), or the queue is blocked until the raise that releases it.
  bool pass_wait(std::uint32_t queue, const Wait& wait);
  void raise_at(SimTime visible, std::uint32_t queue, SignalId signal, std::uint64_t value, SignalOp op);
  void apply_raise(std::uint32_t raise);

 private:
  Core& core_;
  std::vector<QueueState> states_;
  std::vector<std::uint32_t> released_;  // scratch space of apply_raise
  std::uint64_t commands_ = 0;           // of all iterations
  std::uint64_t commands_begun_ = 0;
};

}  // namespace cortado::sim
