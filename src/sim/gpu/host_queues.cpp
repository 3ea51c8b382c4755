#include "sim/gpu/host_queues.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "gemm/gemm.hpp"
#include "ir/visit.hpp"
#include "sim/gpu/protocols.hpp"
#include "sim/gpu/runtime_copies.hpp"
#include "verify/packet_space.hpp"

namespace cortado::sim {
namespace {

std::vector<SimTime> submit_costs(const Program& program, const Timing& timing, const Features& features) {
  std::vector<SimTime> costs(program.queues.size());
  std::set<std::pair<std::optional<RankId>, std::string_view>> launched;
  for (const Queue& host : program.queues) {
    if (host.kind != QueueKind::host) continue;
    for (const Command& command : host.commands) {
      const auto* submit = std::get_if<Submit>(&command);
      if (submit == nullptr) continue;
      const Queue& queue = program.queue(submit->queue);
      SimTime& cost = costs[submit->queue.value];
      if (queue.submission != Submission::ring) {
        cost = RuntimeCopies(program, timing).host_time(submit->queue.value);
      } else if (queue.kind != QueueKind::compute) {
        const auto packets = static_cast<std::int64_t>(written_packets(queue, features));
        cost = to_sim_time({timing.host.submit.value + packets * timing.host.packet.value});
      } else if (queue.kernel.empty() || launched.emplace(queue.rank, queue.kernel).second) {
        cost = to_sim_time(timing.cores.launch) + kernel_list_time(program, queue, timing);
      }
      cost = cost + to_sim_time({static_cast<std::int64_t>(queue.calls) * timing.cores.call.value});
    }
  }
  return costs;
}

}  // namespace

HostQueues::HostQueues(Core& core, Queues& queues, RunPower& power)
    : core_(core),
      queues_(queues),
      power_(power),
      submit_costs_(submit_costs(core.program, core.timing, core.machine.features)),
      latest_launch_(core.program.ranks) {
  for (std::uint32_t i = 0; i < queues.size(); ++i) {
    if (core.program.queues[i].kind != QueueKind::host) continue;
    queues[i].submitted = core.options.iterations;
    queues.step_at(i, {});
  }
}

SimTime HostQueues::cost(const Command& command) const {
  const HostTiming& host = core_.timing.host;
  return match(
      command, [&](const Submit& submit) { return submit_costs_[submit.queue.value]; },
      [&](const Trigger&) { return to_sim_time(host.trigger); },
      [&](const Signal&) { return to_sim_time(host.signal); }, [&](const Wait&) { return to_sim_time(host.poll); },
      [](const auto&) { return SimTime{}; });
}

void HostQueues::step(std::uint32_t index) {
  QueueState& queue = queues_[index];
  while (queues_.at_command(index, [] {})) {
    const Command& command = queues_.command(index);
    if (!queue.begun) {
      if (queue.command == 0) {
        core_.recorder.host_at_work(queue.iteration, core_.now());
        power_.note(IterationEnergy::Moment::work_begins, queue.iteration, core_.now());
      }
      queues_.begin_command(index);
      if (const auto* submit = std::get_if<Submit>(&command)) hand_over(index, *submit);
      // A wait that blocks pays for its poll when it is released.
      if (const auto* wait = std::get_if<Wait>(&command); wait != nullptr && !queues_.pass_wait(index, *wait)) return;
      if (const SimTime takes = cost(command); takes > SimTime{}) {
        queues_.step_at(index, core_.now() + takes);
        return;
      }
    }
    finish(index, command);
  }
}

/// The engine begins with what the runtime calls hand over first, while the host is still busy with the others.
void HostQueues::hand_over(std::uint32_t index, const Submit& submit) {
  if (core_.program.queue(submit.queue).submission == Submission::ring) return;
  QueueState& queue = queues_[submit.queue.value];
  queue.submit_span = queues_[index].span;
  queue.handed = core_.now();
  core_.events.post(core_.now(), EventClass::begin, {EventKind::fetched, submit.queue.value});
}

/// The start time of a library is mostly software and does not follow the clock of the compute units.
SimTime HostQueues::start(QueueId id) const {
  const Queue& queue = core_.program.queue(id);
  if (queue.kind == QueueKind::dma) return to_sim_time(core_.timing.engine.fetch);
  if (queue.protocol != Protocol::none) return to_sim_time(start_of(queue.protocol, core_.timing));
  return power_.by_units(core_.gpu_of(id.value), first_start(queue, core_.machine));
}

/// Kernels of a GPU begin in the order of their launches, except those of libraries, whose start is software.
SimTime HostQueues::fetched_at(QueueId id) {
  const SimTime at = core_.now() + start(id);
  const Queue& queue = core_.program.queue(id);
  if (queue.kind != QueueKind::compute || queue.protocol != Protocol::none) return at;
  SimTime& latest = latest_launch_[queue.rank->value];
  latest = std::max(latest, at);
  return latest;
}

void HostQueues::finish(std::uint32_t index, const Command& command) {
  QueueState& queue = queues_[index];
  match(
      command,
      [&](const Submit& submit) {
        if (core_.program.queue(submit.queue).submission != Submission::ring) return;
        queues_[submit.queue.value].submit_span = queue.span;
        core_.events.post(fetched_at(submit.queue), EventClass::begin, {EventKind::fetched, submit.queue.value});
      },
      [&](const Trigger& t) { queues_.raise_at(core_.now(), index, t.signal, t.value, SignalOp::add); },
      [&](const Signal& s) { queues_.raise_at(core_.now(), index, s.signal, s.value, s.op); },
      [&](const Timestamp& t) {
        core_.recorder.stamp(t.label, queue.iteration, core_.now());
        if (t.label == "begin") power_.note(IterationEnergy::Moment::stamp_begin, queue.iteration, core_.now());
        if (t.label == "end") power_.note(IterationEnergy::Moment::stamp_end, queue.iteration, core_.now());
      },
      [](const auto&) {});
  queues_.end_command(index);
  if (queue.command == core_.program.queues[index].commands.size()) {
    core_.recorder.host_at_work(queue.iteration, core_.now());
    power_.note(IterationEnergy::Moment::work_ends, queue.iteration, core_.now());
  }
}

}  // namespace cortado::sim
