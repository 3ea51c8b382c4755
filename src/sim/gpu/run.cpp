#include "sim/gpu/run.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"

namespace cortado::sim {
namespace {

/// Transfers all have the same priority (Transfers::begin); levels for more classes would only spread out the memory.
FluidOptions one_class(const RateSharing& sharing) {
  return {.mode = sharing.local ? SharingMode::local : SharingMode::exact,
          .tolerance = sharing.tolerance,
          .priority_classes = 1};
}

}  // namespace

Run::Run(const CheckedProgram& program, const SimulateOptions& options)
    : power_(program, options),
      core_(program, options, one_class(options.sharing), power_.listener()),
      resources_(core_.machine, core_.program, core_.fluid, power_.managed()),
      node_memory_(core_.timing.memory, core_.program, core_.fluid),
      turns_(core_.timing.engine.threads, core_.program.queues.size()),
      queues_(core_),
      units_(core_.program, core_.machine, core_.listener),
      trackers_(core_, *this),
      movers_(core_, trackers_.trackers()),
      products_(core_, queues_, *this, compute_, resources_, units_, movers_, trackers_, power_),
      host_(core_, queues_, power_),
      dma_(core_, queues_, resources_, node_memory_, movers_, trackers_),
      compute_(core_, queues_, *this, resources_, node_memory_, units_, movers_, products_, power_),
      clocks_(core_, resources_, units_, compute_, products_, power_) {}

Result<Simulated> Run::finish() && {
  core_.events.run([this](const Event& event) { handle(event); });
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    if (!is_over(i)) return fail(stall());
  }
  Simulated result;
  result.timeline = std::move(core_.recorder).finish();
  power_.report(last_, result);
  for (std::uint32_t i = 0; i < queues_.size(); ++i) result.queue_ends.push_back(to_nanoseconds(queues_[i].ended));
  result.traffic = movers_.traffic();
  result.memory_bytes = result.traffic.total();
  result.tracker_entries_peak = trackers_.trackers().entries_peak();
  result.tracker_wait_seconds = trackers_.seconds_waited();
  result.unit_seconds = units_.unit_seconds();
  result.events = core_.events.processed();
  result.sharing_work = core_.fluid.work().flows_visited;
  return result;
}

void Run::handle(const Event& event) {
  if (event.kind != EventKind::control) last_ = core_.now();
  switch (event.kind) {
    case EventKind::step:
      step(event.index);
      break;
    case EventKind::fetched:
      fetched(event.index);
      break;
    case EventKind::copy_ready:
      dma_.move_ready_copies(event.index);
      break;
    case EventKind::transfer_end:
      end_transfer({event.index});
      break;
    case EventKind::signal_visible:
      queues_.apply_raise(event.index);
      break;
    case EventKind::tiles_released:
      products_.release_tiles(event.index);
      break;
    case EventKind::update_lands:
      trackers_.landed(event.index);
      break;
    case EventKind::settle:
      core_.transfers.settle();
      clocks_.rates_changed();
      break;
    case EventKind::control:
      clocks_.interval_over();
      break;
  }
}

void Run::step(std::uint32_t index) {
  const QueueKind kind = core_.program.queues[index].kind;
  if (kind != QueueKind::compute && !turns_.take(index)) {
    queues_[index].blocked = Blocked::thread;
    return;
  }
  queues_[index].blocked = Blocked::no;
  switch (kind) {
    case QueueKind::host:
      host_.step(index);
      break;
    case QueueKind::dma:
      dma_.step(index);
      break;
    case QueueKind::compute:
      compute_.step(index);
      break;
  }
  give_thread_back(index);
}

void Run::give_thread_back(std::uint32_t index) {
  const Blocked blocked = queues_[index].blocked;
  const bool waits = blocked == Blocked::signal || blocked == Blocked::submit;
  if (!waits || dma_.outstanding(index) > 0) return;
  if (const auto next = turns_.give_back(index)) queues_.step_at(*next, core_.now());
}

void Run::fetched(std::uint32_t index) {
  ++queues_[index].submitted;
  if (core_.program.queues[index].kind == QueueKind::compute) compute_.part_begins(index);
  if (queues_[index].blocked == Blocked::submit) step(index);
}

void Run::entries_are_free(std::uint32_t index) {
  if (core_.program.queues[index].kind == QueueKind::dma) {
    dma_.move_ready_copies(index);
  } else {
    products_.want_units(index);
  }
}

void Run::end_transfer(FlowId flow) {
  const Mover mover = movers_.end(flow);
  if (mover.kind == Mover::Kind::workgroups) return products_.end_workgroups(mover.queue, flow);
  if (mover.kind == Mover::Kind::stores) return products_.end_stores(mover.queue, mover.lane);
  if (core_.program.queues[mover.queue].kind == QueueKind::compute) return compute_.end_bytes(mover.queue);
  if (dma_.end_copy(mover, flow)) {
    step(mover.queue);
  } else {
    give_thread_back(mover.queue);
  }
}

bool Run::is_over(std::uint32_t index) const {
  return queues_[index].iteration >= core_.options.iterations && dma_.outstanding(index) == 0;
}

std::string Run::stall_of(std::uint32_t index) const {
  const Queue& what = core_.program.queues[index];
  const QueueState& queue = queues_[index];
  if (const auto tracker = trackers_.waits_for(index)) {
    return fmt::format("queue {} waits for entries of tracker {}", what.name, core_.program.trackers[*tracker].name);
  }
  if (const auto wait = products_.held_by(index)) {
    return fmt::format("queue {} at command {}: tiles wait for {} >= {} (the counter is {})", what.name, queue.command,
                       core_.program.signals[wait->signal.value].name,
                       core_.signals.base(wait->signal, queue.iteration) + wait->value,
                       core_.signals.value(wait->signal));
  }
  if (queue.blocked != Blocked::signal) {
    return fmt::format("queue {} {}", what.name,
                       queue.blocked == Blocked::units ? "gets no compute units" : "was not submitted");
  }
  const auto* wait = std::get_if<Wait>(&queues_.command(index));
  return fmt::format("queue {} at command {} ({}; the counter is {})", what.name, queue.command,
                     to_string(core_.program, queues_.command(index)),
                     wait != nullptr ? core_.signals.value(wait->signal) : 0);
}

Diagnostic Run::stall() const {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> stuck;
  std::size_t more = 0;
  bool entries = false;
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    entries = entries || trackers_.waits_for(i).has_value();
    if (is_over(i)) continue;
    if (stuck.size() == kNamed) {
      ++more;
    } else {
      stuck.push_back(stall_of(i));
    }
  }
  std::string text = "the program cannot make progress: " + join(stuck, "; ");
  if (more > 0) text += fmt::format("; and {} more", more);
  return {
      .code = "sim.stall",
      .message = text,
      .hint = entries
                  ? "trackers need more entries than the machine has: use smaller chunks, or pieces in the order they "
                    "are produced"
                  : "verify the program without --skip-rule: the verifier names the queue that should have signalled",
      .about = About::strategy};
}

}  // namespace cortado::sim
