// The counters of a program and who waits for them. Raises become visible to waiters some time after they are made.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

#include "base/small_vector.hpp"

namespace cortado::sim {

/// A raise in transit. `span` is the span that made it, for the arrows of a trace.
struct Raise {
  SignalId signal;
  std::uint64_t value = 0;
  SignalOp op = SignalOp::add;
  std::uint32_t span = 0;
};

class SignalBoard {
 public:
  explicit SignalBoard(const Program& program);

  /// What iteration k adds to every value of the signal (program.hpp, rule 3).
  std::uint64_t base(SignalId signal, std::uint32_t iteration) const { return advances_[signal.value] * iteration; }
  std::uint64_t value(SignalId signal) const { return values_[signal.value]; }

  /// True if the counter has reached the value; otherwise the queue is registered, and the raise that gets the counter
  /// there releases it.
  bool reached_or_note(SignalId signal, std::uint64_t value, std::uint32_t queue);

  /// Keeps a raise until it is applied; returns its index.
  std::uint32_t keep(const Raise& raise);

  /// Applies a kept raise and calls released(queue) for each waiter that it releases, first come, first served.
  template <class Released>
  Raise apply(std::uint32_t index, Released&& released) {
    const Raise raise = raises_[index];
    free_raises_.push_back(index);
    std::uint64_t& counter = values_[raise.signal.value];
    counter = raise.op == SignalOp::add ? counter + raise.value : raise.value;
    Waiters& waiters = waiters_[raise.signal.value];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiters.size(); ++i) {
      if (waiters[i].value <= counter) {
        released(waiters[i].queue);
      } else {
        waiters[kept++] = waiters[i];
      }
    }
    waiters.truncate(kept);
    return raise;
  }

 private:
  struct Waiter {
    std::uint32_t queue;
    std::uint64_t value;
  };
  using Waiters = SmallVector<Waiter, 1>;

  std::vector<std::uint64_t> advances_;
  std::vector<std::uint64_t> values_;
  std::vector<Waiters> waiters_;
  std::vector<Raise> raises_;
  std::vector<std::uint32_t> free_raises_;
};

}  // namespace cortado::sim
