// Host queues: a CPU thread that pays for every command.
//
//   Submit of a dma queue      submit + packets * packet; the engine reads the first packet `fetch` later
//   Submit of a compute queue  launch; the kernel starts `start` later. Of the parts of one kernel, only the first
//                              pays; every call of a queue costs `call` in addition
//   Trigger                    trigger
//   Signal                     signal
//   Wait                       poll, after the counter has reached its value
#pragma once

#include <vector>

#include "sim/gpu/queues.hpp"
#include "sim/gpu/run_power.hpp"

namespace cortado::sim {

class HostQueues {
 public:
  HostQueues(Core& core, Queues& queues, RunPower& power);

  void step(std::uint32_t queue);

 private:
  SimTime cost(const Command& command) const;
  SimTime start(QueueId queue) const;  ///< from submission to the first packet or instruction
  SimTime fetched_at(QueueId queue);
  void hand_over(std::uint32_t queue, const Submit& submit);
  void finish(std::uint32_t queue, const Command& command);

  Core& core_;
  Queues& queues_;
  RunPower& power_;
  std::vector<SimTime> submit_costs_;   // by queue: what its Submit costs the host
  std::vector<SimTime> latest_launch_;  // by rank: when the last launched kernel begins
};

}  // namespace cortado::sim
