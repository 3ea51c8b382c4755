#include "verify/unrolled.hpp"

#include <algorithm>
#include <tuple>

#include "verify/tile_groups.hpp"

namespace cortado::verifier {
Unrolled::Unrolled(const Program& program)
    : program_(program), advances_(signal_advances(program)), callers_(caller_regions(program)) {
  find_thresholds();
  first_step_.reserve(program.queues.size() + 1);
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) add_queue(q);
  first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
  step_of_.resize(step_nodes());
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const std::uint32_t count = step_count(q);
    for (std::uint32_t i = 0; i < kIterations * count; ++i) step_of_[first_node(q) + i] = first_step_[q] + i % count;
  }
  find_completions();
}

void Unrolled::find_thresholds() {
  for (const Queue& queue : program_.queues) {
    for (const Command& command : queue.commands) {
      if (const auto* wait = std::get_if<Wait>(&command)) thresholds_.push_back({wait->signal, wait->value});
    }
  }
  const auto key = [](const Threshold& t) { return std::tuple(t.signal, t.value); };
  std::ranges::sort(thresholds_, {}, key);
  const auto doubles = std::ranges::unique(thresholds_, {}, key);
  thresholds_.erase(doubles.begin(), doubles.end());
  first_threshold_.assign(program_.signals.size() + 1, 0);
  for (const Threshold& t : thresholds_) ++first_threshold_[t.signal.value + 1];
  for (std::size_t s = 0; s < program_.signals.size(); ++s) first_threshold_[s + 1] += first_threshold_[s];
}

void Unrolled::add_queue(std::uint32_t queue) {
  first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
  const auto caller_step = [&](StepKind kind) {
    Step step;
    step.kind = kind;
    step.queue = queue;
    steps_.push_back(step);
  };
  if (!callers_[queue].inputs.empty()) caller_step(StepKind::caller_fill);
  const auto& commands = program_.queues[queue].commands;
  for (std::uint32_t c = 0; c < commands.size(); ++c) {
    Step step;
    step.queue = queue;
    step.command = c;
    match(
        commands[c],
        [&](const Wait& wait) {
          step.kind = StepKind::wait;
          const auto begin = thresholds_.begin() + first_threshold_[wait.signal.value];
          const auto end = thresholds_.begin() + first_threshold_[wait.signal.value + 1];
          const auto found = std::ranges::lower_bound(begin, end, wait.value, {}, &Threshold::value);
          step.target = static_cast<std::uint32_t>(found - thresholds_.begin());
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
      steps_.push_back(step);
    }
  }
  if (!callers_[queue].outputs.empty()) caller_step(StepKind::caller_read);
}

void Unrolled::add_gemm(Step step, const Gemm& gemm) {
  for (step.part = 0; step.part <= gemm.raises.size(); ++step.part) {
    const TileRange tiles = tile_group(gemm, step.part);
    if (tiles.begin < tiles.end) {
      step.kind = StepKind::work;
      steps_.push_back(step);
    }
    if (step.part == gemm.raises.size()) break;
    const TileSignal& raise = gemm.raises[step.part];
    Step raised = step;
    raised.kind = StepKind::raise;
    raised.target = raise.signal.value;
    raised.amount = raise.value;
    steps_.push_back(raised);
  }
}

void Unrolled::find_completions() {
  completion_.resize(step_nodes());
  for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
    const bool dma = program_.queues[q].kind == QueueKind::dma;
    Node barrier = kNoNode;
    for (Node n = end_node(q); n-- > first_node(q);) {
      const StepKind kind = step(n).kind;
      if (kind == StepKind::raise || kind == StepKind::stamp) barrier = n;
      completion_[n] = dma && kind == StepKind::work ? barrier : n;
    }
  }
}

std::vector<Access> Unrolled::accesses(const Step& step) const {
  const auto all = [](const std::vector<Region>& regions, AccessKind kind) {
    std::vector<Access> result;
    for (const Region& region : regions) result.push_back({region, kind});
    return result;
  };
  if (step.kind == StepKind::caller_fill) return all(callers_[step.queue].inputs, AccessKind::write);
  if (step.kind == StepKind::caller_read) return all(callers_[step.queue].outputs, AccessKind::read);
  if (step.kind != StepKind::work) return {};
  const Command& command = program_.queues[step.queue].commands[step.command];
  if (const auto* gemm = std::get_if<Gemm>(&command)) return tile_accesses(*gemm, tile_group(*gemm, step.part));
  if (const auto* kernel = std::get_if<Kernel>(&command)) return row_accesses(*kernel);
  return cortado::accesses(command);
}

}  // namespace cortado::verifier
