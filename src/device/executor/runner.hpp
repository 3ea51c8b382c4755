// One run of a prepared program.
//
// All host queues are interpreted on the calling thread, each as its own state machine: a queue runs until it has to
// wait, then it is the next one's turn; when none can move, the thread assists the driver. So any number of host queues
// works on one core. With an adversarial seed, the turns are random.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "cortado/result.hpp"

#include "base/random.hpp"
#include "device/executor/backoff.hpp"
#include "device/executor/host_program.hpp"
#include "device/executor/preparation.hpp"
#include "device/executor/trace_collector.hpp"

namespace cortado::device {

/// The time of each iteration: from the earliest begin to the latest end over all host queues.
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

class Runner {
 public:
  Runner(Preparation& preparation, const RunOptions& options);

  Result<RunResult> run();

  /// One more iteration on the current contents of the buffers: no filling, checking or timing, and the engines are not
  /// drained afterwards. Only for a runner kept for this purpose, with options of one iteration and no check.
  Status replay();
  /// Executes the beginning of the next replay(), up to the triggers.
  Status arm();
  /// Waits until the engines have finished everything submitted.
  Status drain();
  bool armed() const { return unfinished_ > 0; }

 private:
  Status open_iteration();
  void begin_batch(std::uint64_t first_iteration, std::uint64_t iterations);
  /// Replays are unlimited in number and not timed.
  void stamp_begin(std::uint64_t iteration) {
    if (iteration < options_.iterations) clock_.begin(iteration, clock_.now());
  }
  void stamp_end(std::uint64_t iteration) {
    if (iteration < options_.iterations) clock_.end(iteration, clock_.now());
  }
  Status run_batch(std::uint64_t first_iteration, std::uint64_t iterations);
  Status take_turns();
  Status take_random_turns(Random& random);

  /// Runs a host queue until it has to wait, has finished the batch, or has executed this many commands; true if it
  /// moved.
  bool advance(std::size_t host, std::uint64_t max_commands);
  bool try_step(std::size_t host, const HostStep& step);
  bool execute(const HostStep& step, HostState& state);
  void enter_iteration(std::size_t host);
  void leave_iteration(std::size_t host);

  Status wait_for_drained(std::uint64_t queues);
  /// To be called when nothing moved: assists the driver, and checks for faults and for a stall from time to time.
  Status wait_for_device();
  Status look_for_stall();
  void moved();

  /// Which inputs an iteration gets. If only the last iteration is checked, only its inputs are fresh, so that outputs
  /// left over from earlier iterations are not mistaken for its own.
  std::uint64_t pattern_iteration(std::uint64_t iteration) const {
    if (options_.check == CheckOutputs::every) return iteration;
    return iteration > 0 && iteration + 1 == options_.iterations ? 1 : 0;
  }
  RunResult result() const;

  Preparation& prepared_;
  const RunOptions& options_;
  IterationClock clock_;
  bool begin_is_stamped_ = false;  // some host queue has a "begin" Timestamp
  bool end_is_stamped_ = false;
  std::optional<HostTrace> trace_;
  CheckTotals totals_;

  std::uint64_t first_iteration_ = 0;  // of the batch
  std::uint64_t batch_iterations_ = 0;
  std::vector<HostState> hosts_;
  std::size_t unfinished_ = 0;

  std::uint32_t idle_turns_ = 0;     // since the clock was last read
  std::int64_t stalled_since_ = -1;  // ns; -1 = moving
  std::int64_t last_look_ = 0;
  std::uint64_t fingerprint_ = 0;
  Backoff backoff_;
};

}  // namespace cortado::device
