// Copies that the host requests from a runtime (Queue::submission), one call each or in a batch: when the engine gets
// each of them, and what it takes besides the time of its bytes.
//
//   calls   the engine has copy k at (k + 1) x call after the first call began
//   batch   copies are handed over `batch` at a time, at `descriptor` each
//   start   copy_to_gpu or copy_from_gpu; batch_copy for a batch; shader_copy for copies made by compute units. A copy
//           with a start time of its own runs alone; a batch without one runs back to back, like packets in the
//           caller's own ring
//   small   copies of a batch to the GPU below small_batch_bytes: one after another at small_batch_rate, the first
//           `batch` as soon as each is listed, the others in turns with listing them. Not if the queue has to wait
//           before its first copy: published times of such copies are those of calls on idle streams
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "sim/kernel/time.hpp"

namespace cortado::sim {

class RuntimeCopies {
 public:
  RuntimeCopies(const Program& program, const Timing& timing);

  struct Called {
    SimTime handed;  ///< measured from when the host began with the queue
    SimTime start;   ///< from issue to the first byte
    bool alone = false;
  };
  /// Timing of the k-th copy of the queue; none: the queue has its own ring. `behind`: the queue was handed over behind
  /// work that had not ended.
  std::optional<Called> copy(std::uint32_t queue, const Command& command, std::uint32_t k, bool behind) const;
  /// How long the host is busy with the queue.
  SimTime host_time(std::uint32_t queue) const;
  /// Upper limit of the rate of a copy, bytes per second.
  double rate(std::uint32_t queue) const;

 private:
  bool by_calls(std::uint32_t queue) const { return program_.queues[queue].submission == Submission::calls; }

  const Program& program_;
  const Timing& timing_;
  std::vector<std::uint32_t> copies_;  // by queue; 0 for those with their own ring
};

/// Host time to list the host-memory copies made by all parts of the queue's kernel.
SimTime kernel_list_time(const Program& program, const Queue& queue, const Timing& timing);

}  // namespace cortado::sim
