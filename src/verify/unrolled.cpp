#include "verify/unrolled.hpp"

#include <algorithm>
#include <iterator>

#include "ir/tiles.hpp"
#include "verify/naming.hpp"
#include "verify/region_owners.hpp"
#include "verify/tile_groups.hpp"

namespace cortado::verifier {

std::size_t first_waits(const Queue& queue) {
  if (queue.kind != QueueKind::dma) return 0;
  const auto at_least = [](const Command& command) {
    const auto* wait = std::get_if<Wait>(&command);
    return wait != nullptr && wait->compare == Compare::ge;
  };
  return static_cast<std::size_t>(std::ranges::find_if_not(queue.commands, at_least) - queue.commands.begin());
}

bool Unrolled::is_of_next_iteration(const Step& step) const {
  if (step.kind != StepKind::wait) return false;
  const Queue& queue = program_.queues[step.queue];
  const auto* wait = std::get_if<Wait>(&queue.commands[step.command]);
  return wait != nullptr && wait->value == 0 && step.command < first_waits(queue);
}

Unrolled::Unrolled(const Program& program)
    : program_(program), advances_(signal_advances(program)), callers_(caller_regions(program)) {
  find_thresholds();
  first_step_.reserve(program.queues.size() + 1);
  std::size_t commands = 0;
  for (const Queue& queue : program.queues) commands += queue.commands.size();
  steps_.reserve(commands + std::size_t{2} * program.ranks);
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) add_queue(q);
  add_trackers();
  add_tile_chains();
  first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
  points_ = static_cast<std::uint32_t>(steps_.size() + thresholds_.size());
  find_completions();
  find_updates();
}

void Unrolled::find_thresholds() {
  std::vector<Threshold> waited;
  std::vector<std::uint32_t> behind(program_.signals.size() + 1, 0);  // by signal: the end of its thresholds
  for (const Queue& queue : program_.queues) {
    for (const Command& command : queue.commands) {
      for_each_wait(command, [&](SignalId signal, std::uint64_t value) {
        waited.push_back({signal, value > 0 ? value : advances_[signal.value]});
        ++behind[signal.value + 1];
      });
    }
  }
  for (std::size_t s = 1; s < behind.size(); ++s) behind[s] += behind[s - 1];
  thresholds_.resize(waited.size());
  for (const Threshold& t : waited) thresholds_[behind[t.signal.value]++] = t;
  // Now that every signal has its own, they are put in order, each value once.
  first_threshold_.reserve(behind.size());
  auto end = thresholds_.begin();
  auto begin = thresholds_.begin();
  for (std::size_t s = 0; s < program_.signals.size(); ++s) {
    first_threshold_.push_back(static_cast<std::uint32_t>(end - thresholds_.begin()));
    const auto own_end = thresholds_.begin() + behind[s];
    if (own_end - begin > 1) std::sort(begin, own_end, [](auto& a, auto& b) { return a.value < b.value; });
    for (const auto own = end; begin != own_end; ++begin) {
      if (end == own || std::prev(end)->value != begin->value) *end++ = *begin;
    }
  }
  first_threshold_.push_back(static_cast<std::uint32_t>(end - thresholds_.begin()));
  thresholds_.erase(end, thresholds_.end());
}

std::uint32_t Unrolled::threshold_of(SignalId signal, std::uint64_t value) const {
  const auto begin = thresholds_.begin() + first_threshold_[signal.value];
  const auto end = thresholds_.begin() + first_threshold_[signal.value + 1];
  return static_cast<std::uint32_t>(std::ranges::lower_bound(begin, end, value, {}, &Threshold::value) -
                                    thresholds_.begin());
}

void Unrolled::add_queue(std::uint32_t queue) {
  first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
  const auto caller_step = [&](StepKind kind) {
    Step step;
    step.kind = kind;
    step.queue = step.chain = queue;
    steps_.push_back(step);
  };
  if (!callers_[queue].inputs.empty()) caller_step(StepKind::caller_fill);
  const auto& commands = program_.queues[queue].commands;
  const std::size_t first = first_waits(program_.queues[queue]);
  std::vector<Step> of_next;
  for (std::uint32_t c = 0; c < commands.size(); ++c) {
    Step step;
    step.queue = step.chain = queue;
    step.command = c;
    match(
        commands[c],
        [&](const Wait& wait) {
          step.kind = StepKind::wait;
          step.target = threshold_of(wait.signal, wait.value > 0 ? wait.value : advances_[wait.signal.value]);
        },
        [&](const Signal& signal) {
          step.kind = StepKind::raise;
          step.op = signal.op;
          step.target = signal.signal.value;
          step.amount = signal.value;
        },
        [&](const Trigger& trigger) {
          step.kind = StepKind::raise;
          step.target = trigger.signal.value;
          step.amount = trigger.value;
        },
        [&](const Submit& submit) {
          step.kind = StepKind::submit;
          step.target = submit.queue.value;
        },
        [&](const Timestamp&) { step.kind = StepKind::stamp; }, [](const auto&) {});
    if (const auto* gemm = std::get_if<Gemm>(&commands[c])) {
      add_gemm(step, *gemm);
    } else {
      const bool for_zero = c < first && std::get<Wait>(commands[c]).value == 0;
      (for_zero ? of_next : steps_).push_back(step);
    }
  }
  steps_.insert(steps_.end(), of_next.begin(), of_next.end());
  if (!callers_[queue].outputs.empty()) caller_step(StepKind::caller_read);
}

/// Without an output map, a raise follows each group of tiles. With one, the raises follow all groups, because trackers
/// say more than raises do: a group may be finished while an earlier one is not, so no group may come after the raise
/// of another.
void Unrolled::add_gemm(Step step, const Gemm& gemm) {
  if (!gemm.waits.empty()) return add_waiting_gemm(step, gemm);
  std::vector<Step> raises;
  for (step.part = 0; step.part <= gemm.raises.size(); ++step.part) {
    const TileRange tiles = tile_group(gemm, step.part);
    if (tiles.begin < tiles.end) steps_.push_back(step);
    if (step.part == gemm.raises.size()) break;
    Step raised = step;
    raised.kind = StepKind::raise;
    raised.target = gemm.raises[step.part].signal.value;
    raised.amount = gemm.raises[step.part].value;
    (gemm.outputs.empty() ? steps_ : raises).push_back(raised);
  }
  steps_.insert(steps_.end(), raises.begin(), raises.end());
}

void Unrolled::add_waiting_gemm(Step step, const Gemm& gemm) {
  const std::vector<TileRange> groups = tile_groups(gemm);
  const std::uint32_t first = chain_count();
  for (step.part = 0; step.part < groups.size(); ++step.part) {
    Step work = step;
    work.chain = chain_count();
    tile_chains_.push_back(work);
    tile_ranges_.push_back(groups[step.part]);
    Step submit = step;
    submit.kind = StepKind::submit;
    submit.target = work.chain;
    steps_.push_back(submit);
  }
  auto raise = gemm.raises.begin();
  for (step.part = 0; step.part < groups.size(); ++step.part) {
    Step join = step;
    join.kind = StepKind::join;
    join.target = first + step.part;
    steps_.push_back(join);
    for (; raise != gemm.raises.end() && raise->tiles <= groups[step.part].end; ++raise) {
      Step raised = step;
      raised.kind = StepKind::raise;
      raised.target = raise->signal.value;
      raised.amount = raise->value;
      steps_.push_back(raised);
    }
  }
}

void Unrolled::add_tile_chains() {
  for (const Step& work : tile_chains_) {
    first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
    const Gemm& gemm = std::get<Gemm>(program_.queues[work.queue].commands[work.command]);
    for (const TileWait& wait : waits_of_tile(gemm, tiles(work, gemm).begin)) {
      Step held = work;
      held.kind = StepKind::wait;
      held.target = threshold_of(wait.signal, wait.value);
      steps_.push_back(held);
    }
    steps_.push_back(work);
  }
}

void Unrolled::add_trackers() {
  for (const Tracker& tracker : program_.trackers) {
    Step step;
    step.kind = StepKind::raise;
    step.queue = step.chain = static_cast<std::uint32_t>(first_step_.size());
    step.target = tracker.signal.value;
    step.amount = tracker.value;
    first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
    steps_.push_back(step);
  }
}

bool Unrolled::is_update(const Step& step) const {
  if (step.kind != StepKind::work) return false;
  const Command& command = program_.queues[step.queue].commands[step.command];
  if (const auto* gemm = std::get_if<Gemm>(&command)) return !gemm->outputs.empty();
  return std::holds_alternative<Copy>(command) && is_kind(step.queue, QueueKind::dma);
}

void Unrolled::find_updates() {
  updates_.resize(1);
  if (program_.trackers.empty()) return;
  updates_.resize(steps_.size());
  updaters_.resize(program_.trackers.size());
  std::vector<Region> tracked;
  for (const Tracker& tracker : program_.trackers) tracked.push_back(tracker.region);
  std::vector<Region> written;
  std::vector<std::size_t> end_written;  // by step
  for (const Step& step : steps_) {
    if (is_update(step)) {
      for (const Access& access : accesses(step)) {
        if (access.kind != AccessKind::read) written.push_back(access.region);
      }
    }
    end_written.push_back(written.size());
  }
  const RegionOwners owners(tracked, written);
  for (std::uint32_t s = 0; s < steps_.size(); ++s) {
    const std::size_t begin = s == 0 ? 0 : end_written[s - 1];
    auto& [trackers, all_tracked] = updates_[s];
    all_tracked = begin < end_written[s];
    for (std::size_t i = begin; i < end_written[s]; ++i) {
      owners.visit(written[i], [&](const Strips::Cell&, std::uint32_t tracker) {
        if (tracker == kNoOwner) {
          all_tracked = false;
        } else {
          trackers.push_back(tracker);
        }
      });
    }
    std::ranges::sort(trackers);
    const auto doubles = std::ranges::unique(trackers);
    trackers.erase(doubles.begin(), doubles.end());
    for (const std::uint32_t tracker : trackers) updaters_[tracker].push_back(s);
  }
}

void Unrolled::find_completions() {
  completion_.resize(steps_.size());
  for (std::uint32_t q = 0; q < chain_count(); ++q) {
    const bool dma = is_kind(q, QueueKind::dma);
    const auto begin = first_step_[q];
    const auto end = first_step_[q + 1];
    const auto stops = [&](std::uint32_t s) {
      return steps_[s].kind == StepKind::raise || steps_[s].kind == StepKind::stamp;
    };
    Node barrier = kNoNode;  // of copies: the next one, which may be the first one of the next iteration
    for (std::uint32_t s = begin; dma && s < end && barrier == kNoNode; ++s) {
      if (stops(s)) barrier = node(s, 1);
    }
    std::uint32_t behind = end;  // what follows the command
    for (std::uint32_t s = end; s-- > begin;) {
      const Step& step = steps_[s];
      if (s + 1 == end || steps_[s + 1].command != step.command) behind = s + 1;
      completion_[s] = s;
      if (dma) {
        if (stops(s)) barrier = s;
        if (step.kind == StepKind::work) completion_[s] = barrier;
      } else if (step.kind == StepKind::work && !is_tiles(q) && is_update(step)) {
        const auto& raises = std::get<Gemm>(program_.queues[q].commands[step.command]).raises;
        if (step.part < raises.size()) {
          completion_[s] = behind - static_cast<std::uint32_t>(raises.size()) + step.part;
        } else {
          completion_[s] = behind == end ? node(begin, 1) : behind;
        }
      }
    }
  }
}

std::string Unrolled::who(const Step& step) const {
  if (is_tracker(step.queue)) return tracker_name(program_, tracker(step.queue));
  return where(program_, QueueId{step.queue}, step.command);
}

Place Unrolled::place(const Step& step) const {
  if (is_tracker(step.queue)) return Spot::tracker(program_, tracker(step.queue));
  if (step.kind == StepKind::caller_fill || step.kind == StepKind::caller_read) {
    return Spot(program_, QueueId{step.queue});
  }
  return Spot(program_, QueueId{step.queue}, step.command);
}

Accesses Unrolled::accesses(const Step& step) const {
  Accesses all;
  for_each_access(step, [&](const Region& region, AccessKind kind) { all.push_back({region, kind}); });
  return all;
}

bool Unrolled::is_whole(const Step& step) const {
  const Command& command = program_.queues[step.queue].commands[step.command];
  if (const auto* gemm = std::get_if<Gemm>(&command)) {
    return gemm->waits.empty() && gemm->raises.empty() && gemm->outputs.empty();
  }
  const auto* kernel = std::get_if<Kernel>(&command);
  return kernel == nullptr || kernel->op == KernelOp::reduce;
}

Accesses Unrolled::part_accesses(const Step& step) const {
  const Command& command = program_.queues[step.queue].commands[step.command];
  if (const auto* gemm = std::get_if<Gemm>(&command)) return tile_accesses(*gemm, tiles(step, *gemm));
  return row_accesses(std::get<Kernel>(command));
}

}  // namespace cortado::verifier
