// Host queues: a CPU thread that pays for every command.
//
//   Submit of a dma queue      submit + packets * packet; the engine reads the first packet `fetch` later
//   Submit of a compute queue  launch; the kernel starts `start` later. Of the parts of one kernel the first pays;
//                              every call of a queue costs `call` on top
//   Trigger                    trigger
//   Signal                     signal
//   Wait                       poll, after the counter is there
#include <set>
#include <string_view>

#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {

std::vector<SimTime> Run::submit_costs(const Program& program, const Timing& timing) {
  std::vector<SimTime> costs(program.queues.size());
  std::set<std::pair<std::optional<RankId>, std::string_view>> launched;
  for (const Queue& host : program.queues) {
    for (const Command& command : host.commands) {
      const auto* submit = std::get_if<Submit>(&command);
      if (submit == nullptr) continue;
      const Queue& queue = program.queue(submit->queue);
      SimTime& cost = costs[submit->queue.value];
      if (queue.kind != QueueKind::compute) {
        const auto packets = static_cast<std::int64_t>(queue.commands.size());
        cost = to_sim_time({timing.host.submit.value + packets * timing.host.packet.value});
      } else if (queue.kernel.empty() || launched.emplace(queue.rank, queue.kernel).second) {
        cost = to_sim_time(timing.cores.launch);
      }
      cost = cost + to_sim_time({static_cast<std::int64_t>(queue.calls) * timing.cores.call.value});
    }
  }
  return costs;
}

SimTime Run::host_cost(const Command& command) const {
  const HostTiming& host = timing_.host;
  return match(
      command, [&](const Submit& submit) { return submit_costs_[submit.queue.value]; },
      [&](const Trigger&) { return to_sim_time(host.trigger); },
      [&](const Signal&) { return to_sim_time(host.signal); }, [&](const Wait&) { return to_sim_time(host.poll); },
      [](const auto&) { return SimTime{}; });
}

void Run::step_host(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  while (at_command(index)) {
    const Command& command = program_.queues[index].commands[queue.command];
    if (!queue.begun) {
      if (queue.command == 0) {
        recorder_.host_at_work(queue.iteration, events_.now());
        note_energy(IterationEnergy::Moment::work_begins, queue.iteration);
      }
      begin_command(index);
      // A wait that must be noted pays its poll when it is released.
      if (const auto* wait = std::get_if<Wait>(&command); wait != nullptr && !pass_wait(index, *wait)) return;
      if (const SimTime cost = host_cost(command); cost > SimTime{}) {
        step_at(index, events_.now() + cost);
        return;
      }
    }
    finish_host_command(index, command);
  }
}

void Run::finish_host_command(std::uint32_t index, const Command& command) {
  QueueRun& queue = queues_[index];
  match(
      command,
      [&](const Submit& submit) {
        QueueRun& target = queues_[submit.queue.value];
        target.submit_span = queue.span;
        const bool compute = program_.queue(submit.queue).kind == QueueKind::compute;
        const SimTime begins =
            events_.now() + (compute ? by_units(*program_.queue(submit.queue).rank, timing_.cores.start)
                                     : to_sim_time(timing_.engine.fetch));
        events_.schedule(begins, EventClass::begin, {EventKind::fetched, submit.queue.value});
      },
      [&](const Trigger& t) { raise_at(events_.now(), index, t.signal, t.value, SignalOp::add); },
      [&](const Signal& s) { raise_at(events_.now(), index, s.signal, s.value, s.op); },
      [&](const Timestamp& t) {
        recorder_.stamp(t.label, queue.iteration, events_.now());
        if (t.label == "begin") note_energy(IterationEnergy::Moment::stamp_begin, queue.iteration);
        if (t.label == "end") note_energy(IterationEnergy::Moment::stamp_end, queue.iteration);
      },
      [](const auto&) {});
  end_command(index);
  if (queue.command == program_.queues[index].commands.size()) {
    recorder_.host_at_work(queue.iteration, events_.now());
    note_energy(IterationEnergy::Moment::work_ends, queue.iteration);
  }
}

}  // namespace cortado::sim
