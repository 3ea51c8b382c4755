// Host queues: a CPU thread that pays for every command.
//
//   Submit of a dma queue   submit + packets * packet; the engine reads the first packet `fetch` later
//   Submit of a compute queue  launch; the kernel starts `start` later
//   Trigger                 trigger
//   Signal                  signal
//   Wait                    poll, after the counter is there
#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {

SimTime Run::host_cost(const Command& command) const {
  const HostTiming& host = timing_.host;
  return match(
      command,
      [&](const Submit& submit) {
        if (program_.queue(submit.queue).kind == QueueKind::compute) return to_sim_time(timing_.cores.launch);
        const auto packets = static_cast<std::int64_t>(packets_[submit.queue.value]);
        return to_sim_time({host.submit.value + packets * host.packet.value});
      },
      [&](const Trigger&) { return to_sim_time(host.trigger); },
      [&](const Signal&) { return to_sim_time(host.signal); }, [&](const Wait&) { return to_sim_time(host.poll); },
      [](const auto&) { return SimTime{}; });
}

void Run::step_host(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  while (at_command(index)) {
    const Command& command = program_.queues[index].commands[queue.command];
    if (!queue.begun) {
      if (queue.command == 0) recorder_.iteration_begins(queue.iteration, events_.now());
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
        const SimTime begins = events_.now() + to_sim_time(compute ? timing_.cores.start : timing_.engine.fetch);
        events_.schedule(begins, EventClass::begin, {EventKind::fetched, submit.queue.value});
      },
      [&](const Trigger& t) { raise_at(events_.now(), index, t.signal, t.value, SignalOp::add); },
      [&](const Signal& s) { raise_at(events_.now(), index, s.signal, s.value, s.op); },
      [&](const Timestamp& t) { recorder_.stamp(t.label, queue.iteration, events_.now()); }, [](const auto&) {});
  end_command(index);
  if (queue.command == program_.queues[index].commands.size()) {
    recorder_.iteration_ends(queue.iteration, events_.now());
  }
}

}  // namespace cortado::sim
