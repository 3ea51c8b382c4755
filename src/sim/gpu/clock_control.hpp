// Managed clocks of a run (sim/power/manager.hpp): tells the manager what is in use, and all other parts when clocks
// change.
#pragma once

#include "sim/gpu/compute_queues.hpp"
#include "sim/gpu/core.hpp"
#include "sim/gpu/machine_resources.hpp"
#include "sim/gpu/products.hpp"
#include "sim/gpu/run_power.hpp"

namespace cortado::sim {

class ClockControl {
 public:
  /// Does nothing if clocks are not managed.
  ClockControl(Core& core, MachineResources& resources, ComputeUnits& units, ComputeQueues& compute, Products& products,
               RunPower& power);

  void interval_over();
  void rates_changed();

 private:
  void correct();  ///< repeated as long as a GPU draws too much after a decision
  void change_clocks(RankId gpu);
  double use_of_clock(FlowId flow, double full_speed, std::size_t of_its_own) const;
  double unit_use(RankId gpu) const;
  Contention contention(RankId gpu) const;
  /// Calls visit(queue) for the compute queues of the GPU.
  template <class Visitor>
  void for_each_queue(RankId gpu, Visitor&& visit) const;

  Core& core_;
  MachineResources& resources_;
  ComputeUnits& units_;
  ComputeQueues& compute_;
  Products& products_;
  RunPower& power_;
  PowerManager* manager_;
  SimTime decided_{};  // when clocks were last decided
  std::uint32_t corrections_left_ = 0;
};

}  // namespace cortado::sim
