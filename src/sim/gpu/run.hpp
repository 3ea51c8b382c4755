// One simulated run: the queues of a program as state machines over the event queue.
//
// A queue is stepped until it must wait: for time to pass (an event is scheduled), for a signal (it is registered at
// the SignalBoard), for its copies (the last transfer steps it), for a Submit, for compute units of its GPU, or for
// entries of a tracker. Where engines are software (engine_timing.threads), a dma or host queue also waits for its turn
// on a thread.
//
// Each part owns its state: host, dma and compute queues, GEMMs, the tracker units, managed clocks. This class contains
// them all and dispatches events to them.
#pragma once

#include <cstdint>

#include "sim/gpu/clock_control.hpp"
#include "sim/gpu/compute_queues.hpp"
#include "sim/gpu/dma_queues.hpp"
#include "sim/gpu/host_queues.hpp"
#include "sim/gpu/simulate.hpp"
#include "sim/gpu/thread_turns.hpp"

namespace cortado::sim {

class Run : private QueueControl {
 public:
  /// The machine of the program must have timing. Program and options must outlive this.
  Run(const CheckedProgram& program, const SimulateOptions& options);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Runs from the current state to the end.
  Result<Simulated> finish() &&;

  /// The queue begins at that time, without a Submit.
  void begin_at(std::uint32_t queue, SimTime at) {
    core_.events.post(at, EventClass::begin, {EventKind::fetched, queue});
  }

  bool has_event() const { return !core_.events.empty(); }
  void handle_event() { handle(core_.events.pop()); }

  // For code that inspects a run between its events.
  const Core& core() const { return core_; }
  const ComputeUnits& units() const { return units_; }
  const Products& products() const { return products_; }
  MachineResources& resources() { return resources_; }

 private:
  void handle(const Event& event);
  void step(std::uint32_t queue) override;
  void entries_are_free(std::uint32_t queue) override;
  void fetched(std::uint32_t queue);  ///< the engine has the packets of one more iteration
  void end_transfer(FlowId flow);
  /// To be called when the queue waits for a signal or a Submit, or its last copy has ended: frees its thread if both
  /// are true.
  void give_thread_back(std::uint32_t queue);
  bool is_over(std::uint32_t queue) const;
  Diagnostic stall() const;
  std::string stall_of(std::uint32_t queue) const;

  RunPower power_;
  Core core_;
  MachineResources resources_;
  NodeMemory node_memory_;
  ThreadTurns turns_;
  Queues queues_;
  ComputeUnits units_;
  TrackerUnit trackers_;
  Movers movers_;
  Products products_;
  HostQueues host_;
  DmaQueues dma_;
  ComputeQueues compute_;
  ClockControl clocks_;
  SimTime last_{};  // time of the last thing that happened in the program
};

}  // namespace cortado::sim
