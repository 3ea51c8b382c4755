// When each host command of the last iterations began and ended.
#pragma once

#include <cstdint>
#include <vector>

#include "device/executor/preparation.hpp"

namespace cortado::device {

struct HostTimes {
  std::int64_t start = 0;  ///< ns since the run began
  std::int64_t end = 0;
};

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

}  // namespace cortado::device
