// Queues that take turns on a few threads, where engines are software (engine_timing.threads).
//
// A queue with work to do takes a thread, or waits in line for one: first come, first served. It keeps the thread until
// it must wait for a signal or for a Submit and none of its copies is in progress.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace cortado::sim {

class ThreadTurns {
 public:
  /// 0 threads: every queue has its own hardware and never waits for its turn.
  ThreadTurns(std::uint32_t threads, std::size_t queues) : free_(threads), unlimited_(threads == 0) {
    if (!unlimited_) state_.resize(queues, State::away);
  }

  bool unlimited() const { return unlimited_; }

  /// True if the queue has a thread; otherwise it waits in line, and give_back() names it when its turn comes.
  bool take(std::uint32_t queue) {
    if (unlimited_ || state_[queue] == State::running) return true;
    if (state_[queue] == State::in_line) return false;
    if (free_ == 0) {
      state_[queue] = State::in_line;
      line_.push_back(queue);
      return false;
    }
    --free_;
    state_[queue] = State::running;
    return true;
  }

  /// The queue no longer needs its thread, if it has one. Returns the queue that gets it.
  std::optional<std::uint32_t> give_back(std::uint32_t queue) {
    if (unlimited_ || state_[queue] != State::running) return std::nullopt;
    state_[queue] = State::away;
    if (line_.empty()) {
      ++free_;
      return std::nullopt;
    }
    const std::uint32_t next = line_.front();
    line_.pop_front();
    state_[next] = State::running;
    return next;
  }

 private:
  enum class State : std::uint8_t { away, in_line, running };

  std::uint32_t free_;
  bool unlimited_;
  std::vector<State> state_;
  std::deque<std::uint32_t> line_;
};

}  // namespace cortado::sim
