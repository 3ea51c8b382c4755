// Turns the timestamps that a traced run left behind into spans and flows.
//
// Spans. The slots of a device queue hold the start of each command and the end of the last one, so command i spans
// from slot i to slot i + 1. Only the last iterations are kept (SlotRing::depth of them).
//
// Flows. A Wait is released by the Signal that made its condition true: the raises of its signal are sorted by end time
// and summed up, starting with what all earlier iterations added; the first that reaches the awaited value is the one.
// (A Gemm raises its tile signals inside its span; they count as raised at its end.) A tracker raises its signal at the
// end of the update, a copy or a Gemm, that ends last in the iteration. A Submit flows to the first command of its
// queue in that iteration.
//
// Clocks. Device times are counted back from one pair of readings of both clocks taken after the run.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/timeline.hpp"

#include "device/driver/driver.hpp"
#include "device/executor/preparation.hpp"

namespace cortado::device {

struct HostTimes {
  std::int64_t start = 0;  ///< ns since the run began
  std::int64_t end = 0;
};

/// When each host command of the last iterations began and ended.
class HostTrace {
 public:
  /// Keeps as many iterations as there are timestamp slots.
  explicit HostTrace(const Preparation& preparation) : depth_(preparation.slots.depth) {
    std::size_t steps = 0;
    for (const HostProgram& host : preparation.hosts) {
      first_.push_back(steps);
      steps += host.steps.size();
    }
    stride_ = steps;
    times_.resize(steps * depth_);
  }

  HostTimes& at(std::uint64_t iteration, std::size_t host, std::size_t step) {
    return times_[(iteration % depth_) * stride_ + first_[host] + step];
  }
  const HostTimes& at(std::uint64_t iteration, std::size_t host, std::size_t step) const {
    return times_[(iteration % depth_) * stride_ + first_[host] + step];
  }

 private:
  std::uint64_t depth_;
  std::size_t stride_ = 0;
  std::vector<std::size_t> first_;
  std::vector<HostTimes> times_;
};

struct TraceRange {
  std::uint64_t end_iteration = 0;  ///< one past the last iteration
  std::uint64_t iterations = 0;     ///< how many before it were kept
  std::int64_t host_now = 0;        ///< ns since the run began, read together with ...
  DeviceClock device_now;           ///< ... the device's clock
};

/// Adds spans and flows to a timeline whose tracks are the queues of the program.
void collect_trace(const Preparation& preparation, const HostTrace& hosts, const TraceRange& range, Timeline& timeline);

}  // namespace cortado::device
