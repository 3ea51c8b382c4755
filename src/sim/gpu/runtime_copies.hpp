// Copies that the host asks a runtime for (Queue::submission), one call each or in a batch: when the engine gets each
// of them, and what it takes beside its bytes.
//
//   calls   copy k is with the engine (k + 1) x call after the first call began
//   batch   copies are handed over `batch` at a time, descriptor each
//   start   copy_to_gpu or copy_from_gpu, batch_copy of a batch; shader_copy of copies that compute units make. What
//   has
//           a start of its own runs alone; a batch without goes back to back, as packets of one's own
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
    SimTime handed;  ///< after the host began with the queue
    SimTime start;   ///< issue to the first byte
    bool alone = false;
  };
  /// Of the k-th copy of the queue; none: the queue has its own ring.
  std::optional<Called> copy(std::uint32_t queue, const Command& command, std::uint32_t k) const;
  /// That the host is busy with the queue.
  SimTime host_time(std::uint32_t queue) const;
  /// Bytes per second of a copy, at most.
  double rate(std::uint32_t queue) const;

 private:
  bool by_calls(std::uint32_t queue) const { return program_.queues[queue].submission == Submission::calls; }

  const Program& program_;
  const Timing& timing_;
  std::vector<std::uint32_t> copies_;  // by queue; of those with their own ring none
};

/// That the host takes to list the copies of host memory that all parts of the queue's kernel make.
SimTime kernel_list_time(const Program& program, const Queue& queue, const Timing& timing);

}  // namespace cortado::sim
