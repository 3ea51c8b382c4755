// The program of one rank: its host, and the queues that copy for it. Its kernels are in rank_gemm.cpp.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "ir/visit.hpp"
#include "sim/fast/rank_run.hpp"
#include "verify/packet_space.hpp"

namespace cortado::sim {

RankRun::RankRun(const Program& program, bool closed, const Machine& machine, Sharing sharing)
    : OneGpu(program, rank_of(program), machine, sharing),
      program_(program),
      // An engine that arrives late need not be woken, so the lower bound excludes the wake-up time.
      wake_(sharing == Sharing::ignored ? Nanoseconds{} : timing_.engine.wake),
      // The lower bound does not wait for queues that are only roughly alike.
      lanes_count_(closed || sharing == Sharing::modelled),
      units_(program, machine, nobody_),
      trackers_(program, machine),
      visible_(program.signals.size(), false) {
  submit();
}

Result<Nanoseconds> RankRun::run() {
  events_.run([this](const Event& event) { handle(event); });
  if (kernels_ != nullptr && command_ < kernels_->commands.size()) {
    return fail(About::strategy, "sim.stall", fmt::format("queue {} is stuck at command {}", kernels_->name, command_),
                "waiting kernels may hold all compute units: limit them to fewer, or let DMA engines copy");
  }
  SimTime last = kernels_end_ + to_sim_time(timing_.cores.flag);
  for (const Lane& lane : lanes_) {
    if (lanes_count_) last = std::max(last, lane.end);
  }
  const Nanoseconds time = to_nanoseconds(last + to_sim_time(timing_.host.poll));
  // Tiles that start later than others may find fewer competitors for caches and memory, and end earlier than here: a
  // list schedule is not monotonic. Observed: 0.3 %.
  constexpr double kOfTiles = 0.99;
  return sharing_ == Sharing::ignored && gemm_has_groups_
             ? Nanoseconds{static_cast<std::int64_t>(static_cast<double>(time.value) * kOfTiles)}
             : time;
}

RankId RankRun::rank_of(const Program& program) {
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::host) return *queue.rank;
  }
  CORTADO_CHECK(false, "the program of a rank has a host");
  return {};
}

// --- The host submits one queue after the other ----------------------------------------------------------------------

void RankRun::submit() {
  SimTime now{};
  for (const Queue& host : program_.queues) {
    if (host.kind != QueueKind::host) continue;
    for (const Command& command : host.commands) {
      if (const auto* submit = std::get_if<Submit>(&command)) now = launch(program_.queue(submit->queue), now);
    }
  }
}

SimTime RankRun::launch(const Queue& queue, SimTime now) {
  const bool stream = queue.kind == QueueKind::compute && queue.kernel.empty();
  return stream ? launch_kernels(queue, now) : launch_copies(queue, now);
}

SimTime RankRun::launch_kernels(const Queue& queue, SimTime now) {
  kernels_ = &queue;
  now = now + to_sim_time(timing_.cores.launch);
  step_at(kKernels, std::max(copies_begin_, now + to_sim_time(first_start(queue, machine_))));
  return now;
}

SimTime RankRun::launch_copies(const Queue& queue, SimTime now) {
  const auto index = static_cast<std::uint32_t>(lanes_.size());
  const bool first_part = std::ranges::none_of(lanes_, &Lane::on_units);
  Lane& lane = lanes_.emplace_back(Lane{&queue});
  const auto copy = std::ranges::find_if(queue.commands,
                                         [](const Command& command) { return std::holds_alternative<Copy>(command); });
  if (lane.on_units()) {
    if (first_part) now = now + to_sim_time(timing_.cores.launch);
    copies_begin_ = now + to_sim_time(first_start(queue, machine_));
    step_at(index, copies_begin_);
    if (copy == queue.commands.end()) return now;
    lane.uses = uses_by_cores(std::get<Copy>(*copy));
    lane.full_speed = resources_.rate_of_units(gpu_, *copy, queue.compute_units.value_or(machine_.compute_units));
    return now;
  }
  const auto packets = static_cast<std::int64_t>(written_packets(queue, machine_.features));
  now = now + to_sim_time(timing_.host.submit) + to_sim_time({packets * timing_.host.packet.value});
  step_at(index, now + to_sim_time(timing_.engine.fetch));
  if (copy != queue.commands.end()) lane.uses = uses_by_engine(queue, std::get<Copy>(*copy));
  return now;
}

// --- Events ----------------------------------------------------------------------------------------------------------

void RankRun::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::step:
      return event.index == kKernels ? step_kernels() : step_lane(event.index);
    case EventKind::copy_ready:
      return move_bytes(event.index);
    case EventKind::signal_visible:
      return show({event.index});
    case EventKind::transfer_end: {
      const std::uint32_t owner = end(event);
      if (owner == kKernels) return end_kernel();
      if (owner >= kTiles) return end_tiles(owner - kTiles);
      return owner >= kStores ? end_stores(owner - kStores) : end_bytes(owner);
    }
    case EventKind::settle:
      return transfers_.settle();
    default:
      CORTADO_CHECK(false, "a rank has no such events");
  }
}

void RankRun::raise(SignalId signal, Nanoseconds later) {
  events_.post(events_.now() + to_sim_time(later), EventClass::end, {EventKind::signal_visible, signal.value});
}

void RankRun::show(SignalId signal) {
  visible_[signal.value] = true;
  if (kernels_wait_) step_kernels();
  release_tiles();
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (!lane.waits || std::get<Wait>(lane.queue->commands[lane.command]).signal != signal) continue;
    lane.waits = false;
    ++lane.command;
    step_at(i, events_.now() + to_sim_time(lane.on_units() ? Nanoseconds{} : wake_));
  }
}

// --- Copies, by engines or by a kernel -------------------------------------------------------------------------------

void RankRun::step_lane(std::uint32_t index) {
  Lane& lane = lanes_[index];
  lane.end = events_.now();
  // A kernel holds its units until its last part is finished.
  if (lane.on_units() && !std::exchange(lane.begun, true) && parts_at_work_++ == 0) {
    change_copy_units(units_.most(units_.tenant_of(static_cast<std::uint32_t>(lane.queue - program_.queues.data()))));
  }
  while (lane.command < lane.queue->commands.size()) {
    const auto* wait = std::get_if<Wait>(&lane.queue->commands[lane.command]);
    if (wait == nullptr) {
      ++lanes_at_work_;
      if (lane.on_units()) return move_bytes(index);
      events_.post(events_.now() + to_sim_time(timing_.engine.copy_start), EventClass::begin,
                   {EventKind::copy_ready, index});
      return;
    }
    if (!visible_[wait->signal.value]) {
      lane.waits = true;
      return;
    }
    ++lane.command;
  }
  if (lane.on_units() && --parts_at_work_ == 0) change_copy_units(0);
}

/// The copies up to the next signal.
void RankRun::move_bytes(std::uint32_t index) {
  Lane& lane = lanes_[index];
  double bytes = 0;
  double first = 0;
  for (; const auto* copy = std::get_if<Copy>(&lane.queue->commands[lane.command]); ++lane.command) {
    bytes += static_cast<double>(copy->dst.bytes().value);
    if (first == 0) first = bytes;
  }
  const double at_once = lane.on_units() ? first : timing_.engine.copies_in_flight * first;
  lane.streaming = 2 * std::min(bytes, at_once);
  streaming_ += lane.streaming;
  lane.moves = true;
  const double weight = lane.on_units() ? resources_.weight_of_link() : 1;
  lane.flow = begin(bytes, lane.uses, {.cap = speed_of(lane), .weight = weight}, index);
}

/// Copies by compute units lose speed beside a GEMM.
double RankRun::speed_of(const Lane& lane) const {
  const bool slowed = lane.on_units() && model_ && sharing_ == Sharing::modelled;
  return lane.full_speed * (slowed ? timing_.cores.beside_products : 1);
}

void RankRun::end_bytes(std::uint32_t index) {
  Lane& lane = lanes_[index];
  lane.moves = false;
  streaming_ -= lane.streaming;
  --lanes_at_work_;
  const bool fused = lane.queue->packing == Packing::fused;
  const Nanoseconds sync = fused ? machine_.features.fused_packets->sync : timing_.engine.sync;
  // The signal is for another GPU, wherever it resides: the rank stands for both.
  raise(std::get<Signal>(lane.queue->commands[lane.command++]).signal, lane.on_units() ? timing_.cores.flag : sync);
  if (lane.on_units()) return step_lane(index);
  step_at(index, events_.now() + to_sim_time(sync));
}

void RankRun::change_copy_units(std::uint32_t units) {
  copy_units_ = units;
  if (gemm_ == nullptr) return;
  price_tiles_again();
  grant_tiles();
}

Result<Nanoseconds> time_of_rank(const Program& program, bool closed, const Machine& machine, Sharing sharing) {
  return RankRun(program, closed, machine, sharing).run();
}

}  // namespace cortado::sim
