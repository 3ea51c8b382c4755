// DMA queues: an engine reads packets in order.
//
//   Copy k of a queue is issued at i(k) >= i(k-1) + copy_issue; its start-up takes copy_start; then it moves bytes as
//   soon as fewer than copies_in_flight copies of the queue are moving. The copies after it are issued meanwhile,
//   except where engines are software (engine_timing.threads): there a copy ends before the next one is issued.
//
//   Copies of a queue that move at the same time share the weight of their engine, so that an engine gets the same
//   share of a full resource whether its bytes are in one packet or in two.
//
//   Where the host calls a runtime (Queue::submission), copies arrive one by one, or several at a time, as described in
//   runtime_copies.hpp, and those that take time besides that of their bytes run one after another.
//
//   Packets of several commands (Packing): the copies of a multicast move as one flow that reads its source once; those
//   of a list are issued `indirect.entry` apart; the signal of a fused packet is visible `fused_packets.sync` after its
//   copy.
//
//   A copy to memory that trackers watch moves only once these have entries (trackers.hpp); until then it blocks its
//   queue.
//
//   Signal    after the last byte of all earlier copies; visible, and the queue continues, `sync` later
//   Wait      passes at once if the counter has reached its value; otherwise `wake` after it does
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/small_vector.hpp"
#include "ir/packing.hpp"
#include "sim/gpu/machine_resources.hpp"
#include "sim/gpu/movers.hpp"
#include "sim/gpu/node_memory.hpp"
#include "sim/gpu/queues.hpp"
#include "sim/gpu/runtime_copies.hpp"
#include "sim/gpu/tracker_unit.hpp"

namespace cortado::sim {

class DmaQueues {
 public:
  DmaQueues(Core& core, Queues& queues, MachineResources& resources, NodeMemory& memory, Movers& movers,
            TrackerUnit& trackers);

  void step(std::uint32_t queue);
  void move_ready_copies(std::uint32_t queue);
  /// The last byte of a copy has moved. True if the queue was waiting for that and must be stepped.
  bool end_copy(const Mover& mover, FlowId flow);

  /// Copies that were issued and have not ended.
  std::uint32_t outstanding(std::uint32_t queue) const { return states_[queue].outstanding; }

 private:
  /// A copy that has been issued and is not moving bytes yet.
  struct PendingCopy {
    SimTime ready;
    std::uint32_t command;
    std::uint32_t span;
  };
  struct State {
    std::uint32_t outstanding = 0;
    SimTime next_issue{};                 // earliest issue of the next copy
    std::uint32_t issued = 0;             // copies of this iteration
    bool behind = false;                  // has waited in this iteration
    SmallVector<PendingCopy, 2> pending;  // FIFO; [0, first_pending) have left
    std::size_t first_pending = 0;
    SmallVector<FlowId, 2> moving;  // copies that move bytes
    double weight = 1;              // of each of these
  };

  bool issue_copy(std::uint32_t queue);
  SimTime sync_of(std::uint32_t queue) const;
  SimTime issue_time(std::uint32_t queue) const;  ///< from the current copy to the next one
  /// The packet that a command is in, together with the other commands of that packet.
  PackedCommands packet(std::uint32_t queue, std::uint32_t command) const {
    return packets_[queue].empty() ? PackedCommands{command, 1} : packets_[queue][command];
  }
  /// The copies of the packet that begins with the command.
  std::span<const Command> copies(std::uint32_t queue, std::uint32_t command) const;
  void share_engine(State& state);  ///< the set of moving copies has changed

  Core& core_;
  Queues& queues_;
  MachineResources& resources_;
  NodeMemory& memory_;
  Movers& movers_;
  TrackerUnit& trackers_;
  std::vector<State> states_;                         // by queue
  std::vector<std::vector<PackedCommands>> packets_;  // by queue and command; empty: one each
  RuntimeCopies runtime_;
};

}  // namespace cortado::sim
