// The clock of the node: what TIMESTAMP packets record, and what delays are measured with.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace cortado::device::soft {

inline std::uint64_t steady_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// Measures delays: in real time or, for reproducible runs, in steps that count as a microsecond each.
class DelayClock {
 public:
  explicit DelayClock(bool counts_steps) : counts_steps_(counts_steps) {}

  std::uint64_t now() const {
    return counts_steps_ ? steps_.load(std::memory_order_relaxed) * 1000 : steady_nanoseconds();
  }
  void step() { steps_.fetch_add(1, std::memory_order_relaxed); }

 private:
  const bool counts_steps_;
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace cortado::device::soft
