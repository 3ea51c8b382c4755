// DMA queues: an engine reads packets in order.
//
//   copy k of a queue is issued at i(k) >= i(k-1) + copy_issue; its start-up takes copy_start; then it moves bytes as
//   soon as fewer than copies_in_flight copies of the queue do. Copies behind it are issued meanwhile; not so where
//   engines are software (engine_timing.threads): there a copy is over before the next one is issued.
//
//   Copies of a queue that move at the same time share the weight of their engine, so that an engine gets as much of a
//   full resource whether its bytes are in one packet or in two.
//
//   A copy to memory that trackers watch moves only when these have entries (trackers.hpp); until then it holds its
//   queue.
//
//   Signal    after the last byte of all earlier copies; visible, and the queue goes on, `sync` later
//   Wait      passes at once if the counter is there; else `wake` after it gets there
#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {

void Run::step_dma(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  while (at_command(index)) {
    const Command& command = program_.queues[index].commands[queue.command];
    if (moves_bytes(command)) {
      if (!issue_copy(index)) return;
      continue;
    }
    if (const auto* wait = std::get_if<Wait>(&command)) {
      const bool noted = queue.begun;  // then this step is its release
      begin_command(index);
      const std::uint32_t gpu = program_.queues[index].rank->value;
      if (!noted && !pass_wait(index, *wait)) {
        if (meter_) meter_->poll(gpu, +1, events_.now());
        return;
      }
      if (noted && meter_) meter_->poll(gpu, -1, events_.now());
      end_command(index);
      continue;
    }
    if (queue.outstanding > 0) {  // Signal and Timestamp come after everything before them
      queue.blocked = Blocked::transfers;
      return;
    }
    if (const auto* signal = std::get_if<Signal>(&command)) {
      if (!queue.begun) {
        begin_command(index);
        const SimTime visible = events_.now() + to_sim_time(timing_.engine.sync);
        raise_at(visible, index, signal->signal, signal->value, signal->op);
        step_at(index, visible);
        return;
      }
      end_command(index);
      continue;
    }
    begin_command(index);
    end_command(index);
  }
}

bool Run::issue_copy(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  const SimTime now = events_.now();
  if (queue.outstanding > 0 && !turns_.unlimited()) {  // a thread is with one copy at a time
    queue.blocked = Blocked::transfers;
    return false;
  }
  if (now < queue.next_issue) {
    step_at(index, queue.next_issue);
    return false;
  }
  begin_command(index);
  const SimTime ready = now + to_sim_time(timing_.engine.copy_start);
  queue.pending.push_back({ready, queue.command, queue.span});
  ++queue.outstanding;
  queue.next_issue = now + to_sim_time(timing_.engine.copy_issue);
  queue.begun = false;  // the copy has a life of its own from here; its span ends with its last byte
  ++queue.command;
  events_.schedule(ready, EventClass::begin, {EventKind::copy_ready, index});
  return true;
}

void Run::move_ready_copies(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  while (queue.moving.size() < timing_.engine.copies_in_flight && queue.first_pending < queue.pending.size() &&
         queue.pending[queue.first_pending].ready <= events_.now()) {
    const PendingCopy copy = queue.pending[queue.first_pending];
    const Command& command = program_.queues[index].commands[copy.command];
    if (const auto* bytes = std::get_if<Copy>(&command); bytes != nullptr && !open_trackers(index, *bytes)) break;
    ++queue.first_pending;
    const Bytes written = bytes_written(command);
    const Bytes bytes = std::holds_alternative<Copy>(command) ? written : written / 2;  // others write two regions
    recorder_.moved(written);
    UseList& uses = uses_of(index, command);
    node_memory_.touch(command, bytes, uses);
    queue.moving.push_back(begin_transfer(static_cast<double>(bytes.value), uses, {.weight = queue.weight},
                                          {.queue = index, .span = copy.span, .command = &command}));
  }
  share_engine(index);
  if (queue.first_pending == queue.pending.size()) {
    queue.pending.clear();
    queue.first_pending = 0;
  }
}

void Run::share_engine(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  if (queue.moving.empty()) return;
  const double weight = 1 / static_cast<double>(queue.moving.size());
  if (weight == queue.weight) return;
  queue.weight = weight;
  for (const FlowId flow : queue.moving) set_weight(flow, weight);
}

UseList& Run::uses_of(std::uint32_t index, const Command& command) {
  const RankId gpu = *program_.queues[index].rank;
  const EngineId engine = *program_.queues[index].engine;
  if (const auto* copy = std::get_if<Copy>(&command)) return resources_.copy_by_engine(gpu, engine, *copy);
  if (const auto* swap = std::get_if<Swap>(&command)) return resources_.swap_by_engine(gpu, engine, *swap);
  return resources_.broadcast_by_engine(gpu, engine, std::get<Broadcast>(command));
}

}  // namespace cortado::sim
