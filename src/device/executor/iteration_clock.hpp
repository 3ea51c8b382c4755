// The time of each iteration: from the earliest begin to the latest end over all host queues.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::device {

class IterationClock {
 public:
  explicit IterationClock(std::uint64_t iterations)
      : start_(std::chrono::steady_clock::now()),
        spans_(iterations, {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {}

  /// Nanoseconds since the run began.
  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  }

  void begin(std::uint64_t iteration, std::int64_t time) {
    spans_[iteration].begin = std::min(spans_[iteration].begin, time);
  }
  void end(std::uint64_t iteration, std::int64_t time) {
    spans_[iteration].end = std::max(spans_[iteration].end, time);
  }

  std::vector<Nanoseconds> times() const {
    std::vector<Nanoseconds> times;
    times.reserve(spans_.size());
    for (const Span& span : spans_) times.push_back({std::max<std::int64_t>(span.end - span.begin, 0)});
    return times;
  }

 private:
  struct Span {
    std::int64_t begin;
    std::int64_t end;
  };
  std::chrono::steady_clock::time_point start_;
  std::vector<Span> spans_;
};

}  // namespace cortado::device
