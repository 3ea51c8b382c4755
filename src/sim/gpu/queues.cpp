#include "sim/gpu/queues.hpp"

namespace cortado::sim {
namespace {

constexpr std::uint64_t kCommandsBetweenReports = 256;

}  // namespace

Queues::Queues(Core& core) : core_(core), states_(core.program.queues.size()) {
  for (const Queue& queue : core.program.queues) commands_ += queue.commands.size();
  commands_ *= core.options.iterations;
}

void Queues::step_at(std::uint32_t queue, SimTime at) {
  core_.events.post(at, EventClass::begin, {EventKind::step, queue});
}

void Queues::begin_command(std::uint32_t index) {
  QueueState& queue = states_[index];
  if (queue.begun) return;
  queue.begun = true;
  if (core_.options.progress && ++commands_begun_ % kCommandsBetweenReports == 0) {
    core_.options.progress(commands_begun_, commands_);
  }
  queue.span = core_.recorder.begin(index, queue.command, queue.iteration, core_.now());
  if (core_.program.queues[index].kind == QueueKind::dma) {
    core_.listener.read_packet(core_.gpu_of(index).value, core_.now());
  }
  if (queue.command == 0) core_.recorder.flow(queue.submit_span, queue.span);
}

void Queues::end_command(std::uint32_t index) {
  QueueState& queue = states_[index];
  core_.recorder.end(queue.span, core_.now());
  queue.ended = core_.now();
  queue.begun = false;
  ++queue.command;
}

bool Queues::pass_wait(std::uint32_t index, const Wait& wait) {
  QueueState& queue = states_[index];
  const std::uint64_t value = core_.signals.base(wait.signal, queue.iteration) + wait.value;
  if (core_.signals.reached_or_note(wait.signal, value, index)) return true;
  queue.blocked = Blocked::signal;
  return false;
}

void Queues::raise_at(SimTime visible, std::uint32_t index, SignalId signal, std::uint64_t value, SignalOp op) {
  const QueueState& queue = states_[index];
  const std::uint64_t base = op == SignalOp::set ? core_.signals.base(signal, queue.iteration) : 0;
  const std::uint32_t raise = core_.signals.keep({signal, base + value, op, queue.span});
  core_.events.post(visible, EventClass::begin, {EventKind::signal_visible, raise});
}

void Queues::apply_raise(std::uint32_t index) {
  released_.clear();
  const Raise raise = core_.signals.apply(index, [&](std::uint32_t queue) { released_.push_back(queue); });
  for (const std::uint32_t queue : released_) {
    core_.recorder.flow(raise.span, states_[queue].span);
    if (std::holds_alternative<Gemm>(command(queue))) {
      core_.events.post(core_.now(), EventClass::begin, {EventKind::tiles_released, queue});
      continue;
    }
    const QueueKind kind = core_.program.queues[queue].kind;
    const Nanoseconds notice = kind == QueueKind::dma    ? core_.timing.engine.wake
                               : kind == QueueKind::host ? core_.timing.host.poll
                                                         : Nanoseconds{0};
    step_at(queue, core_.now() + to_sim_time(notice));
  }
}

}  // namespace cortado::sim
