#include "sim/gpu/dma_queues.hpp"

#include <algorithm>

#include "ir/visit.hpp"
#include "verify/packet_space.hpp"

namespace cortado::sim {

DmaQueues::DmaQueues(Core& core, Queues& queues, MachineResources& resources, NodeMemory& memory, Movers& movers,
                     TrackerUnit& trackers)
    : core_(core),
      queues_(queues),
      resources_(resources),
      memory_(memory),
      movers_(movers),
      trackers_(trackers),
      states_(queues.size()),
      packets_(queues.size()),
      runtime_(core.program, core.timing) {
  const PackingLimits limits = packing_limits(core.machine.features);
  for (std::uint32_t index = 0; index < queues.size(); ++index) {
    const Queue& queue = core.program.queues[index];
    if (queue.packing == Packing::each) continue;
    for (const PackedCommands& packet : packets_of(queue, limits)) {
      packets_[index].insert(packets_[index].end(), packet.count, packet);
    }
  }
}

std::span<const Command> DmaQueues::copies(std::uint32_t index, std::uint32_t command) const {
  const Queue& queue = core_.program.queues[index];
  const std::uint32_t count = queue.packing == Packing::multicast ? packet(index, command).count : 1;
  return std::span(queue.commands).subspan(command, count);
}

void DmaQueues::step(std::uint32_t index) {
  QueueState& queue = queues_[index];
  const auto ended = [&] {
    states_[index].issued = 0;
    states_[index].behind = false;
  };
  while (queues_.at_command(index, ended)) {
    const Command& command = queues_.command(index);
    if (moves_bytes(command)) {
      if (!issue_copy(index)) return;
      continue;
    }
    if (const auto* wait = std::get_if<Wait>(&command)) {
      const bool noted = queue.begun;  // if so, this step is its release
      queues_.begin_command(index);
      const std::uint32_t gpu = core_.gpu_of(index).value;
      if (!noted && !queues_.pass_wait(index, *wait)) {
        states_[index].behind = true;
        core_.listener.poll(gpu, +1, core_.now());
        return;
      }
      if (noted) core_.listener.poll(gpu, -1, core_.now());
      queues_.end_command(index);
      continue;
    }
    if (states_[index].outstanding > 0) {  // Signal and Timestamp wait for everything before them
      queue.blocked = Blocked::transfers;
      return;
    }
    if (const auto* signal = std::get_if<Signal>(&command)) {
      if (!queue.begun) {
        queues_.begin_command(index);
        const SimTime visible = core_.now() + sync_of(index);
        queues_.raise_at(visible, index, signal->signal, signal->value, signal->op);
        queues_.step_at(index, visible);
        return;
      }
      queues_.end_command(index);
      continue;
    }
    queues_.begin_command(index);
    queues_.end_command(index);
  }
}

/// The signal after a copy is part of the runtime call that makes the copy.
SimTime DmaQueues::sync_of(std::uint32_t index) const {
  if (core_.program.queues[index].submission == Submission::calls) return {};
  const bool fused = packet(index, queues_[index].command).count > 1;
  return to_sim_time(fused ? core_.machine.features.fused_packets->sync : core_.timing.engine.sync);
}

SimTime DmaQueues::issue_time(std::uint32_t index) const {
  const std::uint32_t command = queues_[index].command;
  const auto [first, count] = packet(index, command);
  const bool more = core_.program.queues[index].packing == Packing::indirect && command + 1 < first + count;
  return to_sim_time(more ? core_.machine.features.indirect->entry : core_.timing.engine.copy_issue);
}

bool DmaQueues::issue_copy(std::uint32_t index) {
  QueueState& queue = queues_[index];
  State& state = states_[index];
  const SimTime now = core_.now();
  const auto called = runtime_.copy(index, queues_.command(index), state.issued, state.behind);
  const bool alone = core_.timing.engine.threads > 0 || (called && called->alone);
  if (state.outstanding > 0 && alone) {  // a thread, or a runtime, handles one copy at a time
    queue.blocked = Blocked::transfers;
    return false;
  }
  const SimTime issue = called ? std::max(state.next_issue, queue.handed + called->handed) : state.next_issue;
  if (now < issue) {
    queues_.step_at(index, issue);
    return false;
  }
  queues_.begin_command(index);
  const SimTime ready = now + (called ? called->start : to_sim_time(core_.timing.engine.copy_start));
  state.pending.push_back({ready, queue.command, queue.span});
  ++state.outstanding;
  ++state.issued;
  state.next_issue = called ? now : now + issue_time(index);
  queue.begun = false;  // from here on the copy is on its own; its span ends with its last byte
  queue.command += static_cast<std::uint32_t>(copies(index, queue.command).size());
  core_.events.post(ready, EventClass::begin, {EventKind::copy_ready, index});
  return true;
}

void DmaQueues::move_ready_copies(std::uint32_t index) {
  State& state = states_[index];
  while (state.moving.size() < core_.timing.engine.copies_in_flight && state.first_pending < state.pending.size() &&
         state.pending[state.first_pending].ready <= core_.now()) {
    const PendingCopy copy = state.pending[state.first_pending];
    const std::span<const Command> packed = copies(index, copy.command);
    const Command& command = packed.front();
    if (const auto* bytes = std::get_if<Copy>(&command); bytes != nullptr && !trackers_.open(index, *bytes)) break;
    ++state.first_pending;
    const Bytes written = bytes_written(command);
    const Bytes bytes = std::holds_alternative<Copy>(command) ? written : written / 2;  // others write two regions
    core_.recorder.moved(written * packed.size());
    const EngineId engine = *core_.program.queues[index].engine;
    UseList& uses = packed.size() > 1 ? resources_.multicast_by_engine(core_.gpu_of(index), engine, packed)
                                      : resources_.move_by_engine(core_.gpu_of(index), engine, command);
    for (const Command& one : packed) memory_.touch(one, bytes, uses);
    state.moving.push_back(movers_.begin(static_cast<double>(bytes.value), uses,
                                         {.cap = runtime_.rate(index), .weight = state.weight},
                                         {.queue = index, .span = copy.span, .command = &command}));
  }
  share_engine(state);
  if (state.first_pending == state.pending.size()) {
    state.pending.clear();
    state.first_pending = 0;
  }
}

void DmaQueues::share_engine(State& state) {
  if (state.moving.empty()) return;
  const double weight = 1 / static_cast<double>(state.moving.size());
  if (weight == state.weight) return;
  state.weight = weight;
  for (const FlowId flow : state.moving) movers_.set_weight(flow, weight);
}

bool DmaQueues::end_copy(const Mover& mover, FlowId flow) {
  QueueState& queue = queues_[mover.queue];
  State& state = states_[mover.queue];
  core_.recorder.end(mover.span, core_.now());
  queue.ended = core_.now();
  --state.outstanding;
  erase_if(state.moving, [&](FlowId other) { return other == flow; });
  const auto command = static_cast<std::uint32_t>(mover.command - core_.program.queues[mover.queue].commands.data());
  for (const Command& one : copies(mover.queue, command)) {
    if (const auto* copy = std::get_if<Copy>(&one)) trackers_.land_copy(*copy, mover.span);
  }
  move_ready_copies(mover.queue);
  return queue.blocked == Blocked::transfers && state.outstanding == 0;
}

}  // namespace cortado::sim
