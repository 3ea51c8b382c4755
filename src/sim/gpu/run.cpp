#include "sim/gpu/run.hpp"

#include <algorithm>

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

constexpr std::uint64_t kCommandsBetweenReports = 256;

std::uint64_t commands_of(const Program& program) {
  std::uint64_t commands = 0;
  for (const Queue& queue : program.queues) commands += queue.commands.size();
  return commands;
}

std::optional<SimTime> sample_of(const SimulateOptions& options) {
  if (!options.power_samples) return std::nullopt;
  return to_sim_time(*options.power_samples);
}

}  // namespace

Run::Run(const CheckedProgram& program, const SimulateOptions& options)
    : program_(program.program()),
      machine_(program.machine()),
      timing_(*machine_.timing),
      options_(options),
      meter_(energies_of(machine_, options) == MachineResources::Energies::none
                 ? std::nullopt
                 : std::optional<PowerMeter>(std::in_place, *machine_.power, program_.ranks, sample_of(options))),
      fluid_(one_class(options.sharing)),
      resources_(machine_, program_, fluid_, energies_of(machine_, options)),
      node_memory_(timing_.memory, program_, fluid_),
      turns_(timing_.engine.threads, program_.queues.size()),
      units_(program_, machine_, meter_ ? &*meter_ : nullptr),
      transfers_(events_, fluid_, meter_ ? &*meter_ : nullptr),
      signals_(program_),
      trackers_(program_, machine_),
      arbitration_(timing_.memory.arbitration, options.arbitration, program_.ranks),
      recorder_(program, options),
      queues_(program_.queues.size()),
      submit_costs_(submit_costs(program_, timing_)),
      parts_at_work_(program_.queues.size(), 0),
      entry_waiters_(program_.ranks),
      commands_(commands_of(program_) * options.iterations) {
  if (meter_) iteration_energy_.emplace(program_, options.iterations);
  if (options.manage) {
    manager_.emplace(*options.manage, *machine_.power, program_.ranks, *meter_, options.power_samples.has_value());
    events_.schedule(manager_->interval(), EventClass::begin, {EventKind::control, 0});
  }
  if (std::any_of(program_.queues.begin(), program_.queues.end(), multiplies)) {
    products_.resize(program_.queues.size());
    products_on_gpu_.resize(program_.ranks, 0);
    streaming_.resize(program_.ranks, 0);
  }
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    if (program_.queues[i].kind != QueueKind::host) continue;
    queues_[i].submitted = options.iterations;
    step_at(i, {});
  }
}

Result<Simulated> Run::go() && {
  events_.run([this](const Event& event) { handle(event); });
  for (const QueueRun& queue : queues_) {
    if (queue.iteration < options_.iterations || queue.outstanding > 0) return fail(stall());
  }
  Simulated result;
  result.timeline = std::move(recorder_).finish();
  tell_energy(result);
  for (const QueueRun& queue : queues_) result.queue_ends.push_back(to_nanoseconds(queue.ended));
  result.traffic = traffic_;
  result.memory_bytes = traffic_.total();
  result.tracker_entries_peak = trackers_.entries_peak();
  result.tracker_wait_seconds = entries_waited_;
  result.unit_seconds = units_.unit_seconds();
  result.events = events_.processed();
  result.sharing_work = fluid_.work();
  return result;
}

void Run::handle(const Event& event) {
  if (event.kind != EventKind::control) last_ = events_.now();
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
    case EventKind::update_lands: {
      const Landing landing = landings_[event.index];
      free_landings_.push_back(event.index);
      update_tracker(landing.update, landing.span);
      break;
    }
    case EventKind::settle:
      transfers_.settle();
      if (manager_) {
        observe_use();
        correct_clocks();
      }
      break;
    case EventKind::control:
      manage_clocks();
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
  part_begins(index);
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
    queue.behind = false;
    ++queue.iteration;
    part_ends(index);
  }
  if (queue.iteration < queue.submitted) return true;
  queue.blocked = Blocked::submit;
  return false;
}

void Run::begin_command(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  if (queue.begun) return;
  queue.begun = true;
  if (options_.progress && ++commands_begun_ % kCommandsBetweenReports == 0) {
    options_.progress(commands_begun_, commands_);
  }
  queue.span = recorder_.begin(index, queue.command, queue.iteration, events_.now());
  if (meter_ && program_.queues[index].kind == QueueKind::dma) {
    meter_->spend(program_.queues[index].rank->value, EnergyPart::iod_packets, machine_.power->packet, events_.now());
  }
  if (queue.command == 0) recorder_.flow(queue.submit_span, queue.span);
}

void Run::end_command(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  recorder_.end(queue.span, events_.now());
  queue.ended = events_.now();
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

SimTime Run::flag_time(std::uint32_t index, SignalId signal) const {
  const bool local = program_.signals[signal.value].home == program_.queues[index].rank;
  return events_.now() + (local ? SimTime{} : by_units(*program_.queues[index].rank, timing_.cores.flag));
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

FlowId Run::begin_transfer(double amount, const UseList& uses, Transfers::Speed speed, Mover mover) {
  std::uint32_t owner = 0;
  if (free_movers_.empty()) {
    owner = static_cast<std::uint32_t>(movers_.size());
    movers_.push_back(mover);
  } else {
    owner = free_movers_.back();
    free_movers_.pop_back();
  }
  const double reads = amount * uses.memory_reads();
  const double writes = amount * uses.memory_writes();
  const bool produces = mover.kind != Mover::Kind::command;
  (produces ? traffic_.producer_reads : traffic_.collective_reads) += reads;
  (produces ? traffic_.producer_writes : traffic_.collective_writes) += writes;
  if (mover.command != nullptr) count_streaming(*mover.command, +1);
  mover.alive = true;
  mover.weight = speed.weight;
  if (arbitration_.favours_products()) speed.weight *= share_of(mover);
  mover.flow = transfers_.begin(amount, uses.view(), uses.draws(), speed, owner);
  movers_[owner] = mover;
  return mover.flow;
}

/// Stores count as such: what products wait for are their reads.
bool Run::is_communication(const Mover& mover) const {
  return mover.kind != Mover::Kind::workgroups;
}

double Run::share_of(const Mover& mover) const {
  if (!is_communication(mover)) return 1;
  if (mover.kind == Mover::Kind::stores) {
    return arbitration_.share(products_[mover.queue].stores->to(mover.lane).value);
  }
  double share = 1;
  for (const Access& access : accesses(*mover.command)) {
    share = std::min(share, arbitration_.share(program_.buffer(access.region.buffer).rank.value));
  }
  return share;
}

void Run::set_weight(FlowId flow, double weight) {
  Mover& mover = movers_[transfers_.owner(flow)];
  mover.weight = weight;
  transfers_.set_weight(flow, arbitration_.favours_products() ? weight * share_of(mover) : weight);
}

void Run::reweigh() {
  for (const Mover& mover : movers_) {
    if (mover.alive && is_communication(mover)) transfers_.set_weight(mover.flow, mover.weight * share_of(mover));
  }
}

void Run::end_transfer(FlowId flow) {
  const std::uint32_t owner = transfers_.finish(flow);
  movers_[owner].alive = false;
  const Mover mover = movers_[owner];
  free_movers_.push_back(owner);
  if (mover.command != nullptr) count_streaming(*mover.command, -1);
  if (mover.kind == Mover::Kind::workgroups) return end_workgroups(mover.queue, flow);
  if (mover.kind == Mover::Kind::stores) return end_stores(mover.queue, mover.lane);
  QueueRun& queue = queues_[mover.queue];
  if (program_.queues[mover.queue].kind == QueueKind::compute) return end_bytes(mover.queue);
  recorder_.end(mover.span, events_.now());
  queue.ended = events_.now();
  --queue.outstanding;
  std::erase(queue.moving, flow);
  if (const auto* copy = std::get_if<Copy>(mover.command)) land_copy(*copy, mover.span);
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
    if (queue.iteration >= options_.iterations && queue.outstanding == 0) continue;
    if (stuck.size() == 8) {
      ++more;
      continue;
    }
    const Queue& what = program_.queues[i];
    if (queue.entries_since) {
      stuck.push_back(
          fmt::format("queue {} waits for entries of tracker {}", what.name, program_.trackers[queue.entries_of].name));
      continue;
    }
    if (queue.blocked != Blocked::signal) {
      stuck.push_back(fmt::format("queue {} {}", what.name,
                                  queue.blocked == Blocked::units ? "gets no compute units" : "was not submitted"));
      continue;
    }
    const auto* wait = std::get_if<Wait>(&what.commands[queue.command]);
    stuck.push_back(fmt::format("queue {} at command {} ({}; the counter is {})", what.name, queue.command,
                                to_string(program_, what.commands[queue.command]),
                                wait != nullptr ? signals_.value(wait->signal) : 0));
  }
  std::string text = "the program cannot go on: " + join(stuck, "; ");
  if (more > 0) text += fmt::format("; and {} more", more);
  const bool entries =
      std::ranges::any_of(queues_, [](const QueueRun& queue) { return queue.entries_since.has_value(); });
  return {.code = "sim.stall",
          .message = text,
          .hint = entries
                      ? "trackers need more entries than the machine has: smaller chunks, or pieces in the order of "
                        "production"
                      : "verify it without skipped rules: the verifier names who should have signalled",
          .about = About::strategy};
}

}  // namespace cortado::sim
