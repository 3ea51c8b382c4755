#include "sim/gpu/run.hpp"

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/ir/visit.hpp"

namespace cortado::sim {

namespace {

/// Transfers all have the same priority (Transfers::begin); levels for more classes would only spread the memory.
FluidOptions one_class(FluidOptions sharing) {
  sharing.priority_classes = 1;
  return sharing;
}

}  // namespace

Run::Run(const VerifiedProgram& program, const SimulateOptions& options)
    : program_(program.program()),
      machine_(program.machine()),
      timing_(*machine_.timing),
      options_(options),
      fluid_(one_class(options.sharing)),
      resources_(machine_, program_, fluid_),
      node_memory_(timing_.memory, program_, fluid_),
      turns_(timing_.engine.threads, program_.queues.size()),
      transfers_(events_, fluid_),
      signals_(program_),
      recorder_(program, options),
      queues_(program_.queues.size()),
      submit_costs_(submit_costs(program_, timing_)) {
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    if (program_.queues[i].kind != QueueKind::host) continue;
    queues_[i].submitted = options.iterations;
    step_at(i, {});
  }
}

Result<Simulated> Run::go() && {
  events_.run([this](const Event& event) { handle(event); });
  for (const QueueRun& queue : queues_) {
    if (queue.iteration < options_.iterations) return fail(stall());
  }
  return Simulated{std::move(recorder_).finish(), events_.processed(), fluid_.work()};
}

void Run::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::step:
      step(event.index);
      break;
    case EventKind::fetched:
      fetched(event.index);
      break;
    case EventKind::copy_ready:
      move_ready_copies(event.index);
      break;
    case EventKind::transfer_end:
      end_transfer({event.index});
      break;
    case EventKind::signal_visible:
      apply_raise(event.index);
      break;
    case EventKind::settle:
      transfers_.settle();
      break;
  }
}

void Run::step(std::uint32_t index) {
  if (program_.queues[index].kind != QueueKind::compute && !turns_.take(index)) {
    queues_[index].blocked = Blocked::thread;
    return;
  }
  queues_[index].blocked = Blocked::no;
  switch (program_.queues[index].kind) {
    case QueueKind::host:
      step_host(index);
      break;
    case QueueKind::dma:
      step_dma(index);
      break;
    case QueueKind::compute:
      step_compute(index);
      break;
  }
  give_thread_back(index);
}

void Run::give_thread_back(std::uint32_t index) {
  const QueueRun& queue = queues_[index];
  const bool waits = queue.blocked == Blocked::signal || queue.blocked == Blocked::submit;
  if (!waits || queue.outstanding > 0) return;
  if (const auto next = turns_.give_back(index)) step_at(*next, events_.now());
}

void Run::fetched(std::uint32_t index) {
  ++queues_[index].submitted;
  if (queues_[index].blocked == Blocked::submit) step(index);
}

void Run::step_at(std::uint32_t index, SimTime at) {
  events_.schedule(at, EventClass::begin, {EventKind::step, index});
}

bool Run::at_command(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  const auto size = static_cast<std::uint32_t>(program_.queues[index].commands.size());
  while (queue.iteration < queue.submitted && queue.command == size) {
    queue.command = 0;
    ++queue.iteration;
  }
  if (queue.iteration < queue.submitted) return true;
  queue.blocked = Blocked::submit;
  return false;
}

void Run::begin_command(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  if (queue.begun) return;
  queue.begun = true;
  queue.span = recorder_.begin(index, queue.command, queue.iteration, events_.now());
  if (queue.command == 0) recorder_.flow(queue.submit_span, queue.span);
}

void Run::end_command(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  recorder_.end(queue.span, events_.now());
  queue.begun = false;
  ++queue.command;
}

bool Run::pass_wait(std::uint32_t index, const Wait& wait) {
  QueueRun& queue = queues_[index];
  const std::uint64_t value = signals_.base(wait.signal, queue.iteration) + wait.value;
  if (signals_.reached_or_note(wait.signal, value, index)) return true;
  queue.blocked = Blocked::signal;
  return false;
}

void Run::raise_at(SimTime visible, std::uint32_t index, SignalId signal, std::uint64_t value, SignalOp op) {
  const QueueRun& queue = queues_[index];
  const std::uint64_t base = op == SignalOp::set ? signals_.base(signal, queue.iteration) : 0;
  const std::uint32_t raise = signals_.keep({signal, base + value, op, queue.span});
  events_.schedule(visible, EventClass::begin, {EventKind::signal_visible, raise});
}

void Run::apply_raise(std::uint32_t index) {
  released_.clear();
  const Raise raise = signals_.apply(index, [&](std::uint32_t queue) { released_.push_back(queue); });
  for (const std::uint32_t queue : released_) {
    recorder_.flow(raise.span, queues_[queue].span);
    const QueueKind kind = program_.queues[queue].kind;
    const Nanoseconds notice = kind == QueueKind::dma    ? timing_.engine.wake
                               : kind == QueueKind::host ? timing_.host.poll
                                                         : Nanoseconds{0};
    step_at(queue, events_.now() + to_sim_time(notice));
  }
}

void Run::begin_transfer(Bytes bytes, const UseList& uses, double cap, Mover mover) {
  std::uint32_t owner = 0;
  if (free_movers_.empty()) {
    owner = static_cast<std::uint32_t>(movers_.size());
    movers_.push_back(mover);
  } else {
    owner = free_movers_.back();
    free_movers_.pop_back();
    movers_[owner] = mover;
  }
  transfers_.begin(bytes, uses.view(), cap, owner);
}

void Run::end_transfer(FlowId flow) {
  const std::uint32_t owner = transfers_.finish(flow);
  const Mover mover = movers_[owner];
  free_movers_.push_back(owner);
  QueueRun& queue = queues_[mover.queue];
  if (program_.queues[mover.queue].kind == QueueKind::compute) {
    end_command(mover.queue);
    step(mover.queue);
    return;
  }
  recorder_.end(mover.span, events_.now());
  --queue.outstanding;
  --queue.moving;
  move_ready_copies(mover.queue);
  if (queue.blocked == Blocked::transfers && queue.outstanding == 0) {
    step(mover.queue);
  } else {
    give_thread_back(mover.queue);
  }
}

Diagnostic Run::stall() const {
  std::vector<std::string> stuck;
  std::size_t more = 0;
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    const QueueRun& queue = queues_[i];
    if (queue.iteration >= options_.iterations) continue;
    if (stuck.size() == 8) {
      ++more;
      continue;
    }
    const Queue& what = program_.queues[i];
    if (queue.blocked != Blocked::signal) {
      stuck.push_back(fmt::format("queue {} was not submitted", what.name));
      continue;
    }
    const auto* wait = std::get_if<Wait>(&what.commands[queue.command]);
    stuck.push_back(fmt::format("queue {} at command {} ({}; the counter is {})", what.name, queue.command,
                                to_string(program_, what.commands[queue.command]),
                                wait != nullptr ? signals_.value(wait->signal) : 0));
  }
  std::string text = "the program cannot go on: " + join(stuck, "; ");
  if (more > 0) text += fmt::format("; and {} more", more);
  return {"sim.stall", text, "verify it without skipped rules: the verifier names who should have signalled"};
}

}  // namespace cortado::sim
