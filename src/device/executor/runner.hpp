// One run of a prepared program.
//
// All host queues are interpreted on the calling thread, each as a state machine of its own: a queue runs until it has
// to wait, then the next one has its turn; when none can move, the thread assists the driver. So any number of host
// queues works on one core. With an adversarial seed the turns are random.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "device/executor/backoff.hpp"
#include "device/executor/host_state.hpp"
#include "device/executor/host_trace.hpp"
#include "device/executor/iteration_clock.hpp"
#include "device/executor/preparation.hpp"

namespace cortado::device {

class Runner {
 public:
  Runner(Preparation& preparation, const RunOptions& options);

  Result<RunResult> run();

  /// One more iteration, on whatever the buffers hold: no filling, no checking, no times; and the engines are left
  /// alone behind it. Of a runner that is kept for that: one of options with one iteration and without check.
  Status replay();
  /// Does what the next replay() begins with, up to the triggers.
  Status arm();
  /// Waits until the engines have done all that was submitted.
  Status drain();
  bool armed() const { return unfinished_ > 0; }

 private:
  Status open_iteration();
  void begin_batch(std::uint64_t first_iteration, std::uint64_t iterations);
  /// Replays are endless and not timed.
  void stamp_begin(std::uint64_t iteration) {
    if (iteration < options_.iterations) clock_.begin(iteration, clock_.now());
  }
  void stamp_end(std::uint64_t iteration) {
    if (iteration < options_.iterations) clock_.end(iteration, clock_.now());
  }
  Status run_batch(std::uint64_t first_iteration, std::uint64_t iterations);
  Status take_turns();
  Status take_random_turns(Random& random);

  /// Runs a host queue until it has to wait, has done the batch, or has executed so many commands; true if it moved.
  bool advance(std::size_t host, std::uint64_t max_commands);
  bool try_step(std::size_t host, const HostStep& step);
  bool execute(const HostStep& step, HostState& state);
  void enter_iteration(std::size_t host);
  void leave_iteration(std::size_t host);

  Status wait_for_drained(std::uint64_t queues);
  /// To be called when nothing moved: helps the driver, and now and then looks for faults and for a stall.
  Status wait_for_device();
  Status look_for_stall();
  void moved();

  /// Which inputs belong to an iteration. If only the last iteration is checked, its inputs alone are fresh ones, so
  /// that outputs left over from the iterations before do not pass for its own.
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

  std::uint32_t idle_turns_ = 0;     // since the last look at the clock
  std::int64_t stalled_since_ = -1;  // ns; -1 = moving
  std::int64_t last_look_ = 0;
  std::uint64_t fingerprint_ = 0;
  Backoff backoff_;
};

}  // namespace cortado::device
