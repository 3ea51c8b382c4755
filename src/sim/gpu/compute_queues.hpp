// Compute queues: kernels one after another, on compute units that all queues of a GPU share (compute_units.hpp).
//
//   Copy    moves bytes at most at (compute units that it holds) * copy_rate, or * local_rate within one GPU
//   Kernel  reads its sources and writes its destination at most at (compute units) * local_rate in total; those on
//           other GPUs at the rate of copies (times beside_products where bytes leave the GPU while GEMMs run on
//           it)
//   Gemm    products.hpp
//   Signal  visible `flag` later, or at once in the memory of its own GPU; the queue continues at once (kernels of
//           a collective library: start, rates and the time of a flag are those of their protocol)
//   Wait    passes as soon as the counter has reached its value
//
// Every kernel takes `start` from the moment when it could begin to its first instruction: the first one of a queue
// from its launch, the others from the end of the previous kernel or wait. The parts of one kernel start together.
// They hold their units from launch until the last part is finished, including waits; a queue that is not part of a
// kernel holds units only while one of its copies or kernels is in progress. A kernel that gets fewer units than it
// may use runs on these, proportionally slower; more are added when they become free.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/gpu/compute_units.hpp"
#include "sim/gpu/machine_resources.hpp"
#include "sim/gpu/movers.hpp"
#include "sim/gpu/node_memory.hpp"
#include "sim/gpu/products.hpp"
#include "sim/gpu/queues.hpp"
#include "sim/gpu/run_power.hpp"

namespace cortado::sim {

class ComputeQueues : public UnitGrants {
 public:
  ComputeQueues(Core& core, Queues& queues, QueueControl& control, MachineResources& resources, NodeMemory& memory,
                ComputeUnits& units, Movers& movers, Products& products, RunPower& power);

  void step(std::uint32_t queue);
  void part_begins(std::uint32_t queue);  ///< an iteration of it was launched
  /// The last byte of a copy or kernel has moved.
  void end_bytes(std::uint32_t queue);
  void grant_units(ComputeUnits::Tenant on_gpu_of) override;
  void products_changed(RankId gpu) override;

  /// The flow of the copy or kernel in progress, and how fast its compute units could move it, in bytes per second.
  std::optional<FlowId> flow(std::uint32_t queue) const { return states_[queue].flow; }
  double full_speed(std::uint32_t queue) const;
  void clock_changed(std::uint32_t queue);

 private:
  struct State {
    std::optional<FlowId> flow;  // of the copy or kernel in progress
    bool behind = false;         // a kernel or a wait of this iteration came before
  };

  void begin_kernel(std::uint32_t queue, const Command& command);
  /// Time until the first loop of a reduction in the switch is finished.
  SimTime fill_time(std::uint32_t queue) const;
  SimTime ring_time(const Submit& submit) const;
  void begin_bytes(std::uint32_t queue, const Command& command);  ///< of a copy or kernel, on the units that it holds
  double units_of(std::uint32_t queue) const;                     ///< the queue's part of the units that its tenant
                                                                  ///< holds
  void part_ends(std::uint32_t queue);
  void use_units(const ComputeUnits::Grant& grant);

  Core& core_;
  Queues& queues_;
  QueueControl& control_;
  MachineResources& resources_;
  NodeMemory& memory_;
  ComputeUnits& units_;
  Movers& movers_;
  Products& products_;
  RunPower& power_;
  std::vector<State> states_;                 // by queue
  std::vector<std::uint32_t> parts_at_work_;  // by tenant: parts of kernels in progress
};

}  // namespace cortado::sim
