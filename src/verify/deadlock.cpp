// verify.deadlock: names every waiter that can never continue, what it waits for, and who should have signalled.
#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "verify/execution.hpp"
#include "verify/naming.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {
namespace {

/// Culprits beyond this number are only counted.
constexpr std::size_t kNamedCulprits = 4;

const char* iteration_note(std::uint32_t iteration) {
  return iteration == 0 ? "" : iteration == 1 ? " (second iteration)" : " (third iteration)";
}

class Reporter {
 public:
  Reporter(const Unrolled& unrolled, const Execution& execution)
      : unrolled_(unrolled), execution_(execution), program_(unrolled.program()) {
    submitter_.assign(unrolled.chain_count(), kNoNode);
    raisers_.resize(program_.signals.size());
    for (std::uint32_t s = 0; s < unrolled.steps().size(); ++s) {
      const Step& step = unrolled.steps()[s];
      if (step.kind == StepKind::submit) submitter_[step.target] = s;
      if (step.kind == StepKind::raise) raisers_[step.target].push_back(s);
    }
  }

  void waiter(std::uint32_t queue, Findings& findings) const {
    const Node node = execution_.stands_at[queue];
    const Step& step = unrolled_.step(node);
    const std::uint32_t iteration = unrolled_.iteration(node);
    const Threshold& threshold = unrolled_.thresholds()[step.target];
    const std::uint32_t signal = threshold.signal.value;
    const std::uint64_t advance = unrolled_.advances()[signal];
    const std::string& name = program_.signals[signal].name;
    std::string message = fmt::format(
        "waits forever for {} >= {}{}: it stays at {}", name, iteration * advance + threshold.value,
        iteration_note(iteration + (unrolled_.is_of_next_iteration(step) ? 1 : 0)), execution_.counters[signal]);
    std::string hint;
    if (raisers_[signal].empty()) {
      message += "; no command raises it";
      hint = "add a signal to " + name + " or drop the wait";
    } else if (threshold.value > advance) {
      message += fmt::format("; one iteration raises it by only {}: {}", advance, culprits(signal, iteration, false));
      hint = fmt::format("wait for at most {}", advance);
    } else {
      message += "; should have been raised by " + culprits(signal, iteration, true);
      hint = unrolled_.is_tiles(queue)
                 ? "tiles start in the order they are produced, and one that waits holds its compute unit: put first "
                   "what others wait for"
                 : "break the cycle of waits, or let the signals come from queues that do not wait for this one";
    }
    findings.add(Spot(program_, QueueId{step.queue}, step.command), std::move(message), std::move(hint));
  }

 private:
  /// The raises of the signal; with `late_only`, those of this iteration that did not run, and why.
  std::string culprits(std::uint32_t signal, std::uint32_t iteration, bool late_only) const {
    std::vector<std::string> names;
    std::size_t more = 0;
    for (const std::uint32_t step : raisers_[signal]) {
      const Node node = unrolled_.node(step, iteration);
      if (late_only && execution_.happened(node)) continue;
      if (names.size() == kNamedCulprits) {
        ++more;
        continue;
      }
      names.push_back(unrolled_.who(unrolled_.steps()[step]) + (late_only ? ", which " + reason(node) : std::string()));
    }
    std::string text = join(names, "; ");
    if (more > 0) text += fmt::format(" and {} more", more);
    return text;
  }

  /// Why a node never ran: its queue is stuck in a wait, or was not submitted because a host queue is stuck in one; or
  /// it is a tracker that lacks an update for one of these reasons.
  std::string reason(Node node) const {
    const std::uint32_t chain = unrolled_.step(node).chain;
    if (unrolled_.is_tracker(chain)) return "lacks the update by " + missing_update(chain);
    const Node at = execution_.stands_at[chain];
    const Step& blocked = unrolled_.step(at);
    const bool host = unrolled_.is_kind(chain, QueueKind::host);
    if (!host && execution_.submits[chain] <= unrolled_.iteration(at)) {
      const Step& submit = unrolled_.steps()[submitter_[chain]];
      return fmt::format("never ran because {} ({}) was not reached", unrolled_.who(submit),
                         to_string(program_, program_.queues[submit.queue].commands[submit.command]));
    }
    return fmt::format("never ran because its own queue waits at command {} ({})", blocked.command,
                       to_string(program_, program_.queues[blocked.queue].commands[blocked.command]));
  }

  /// The first update that the tracker did not receive, and why.
  std::string missing_update(std::uint32_t queue) const {
    const Node at = execution_.stands_at[queue];
    for (const std::uint32_t step : unrolled_.updaters(unrolled_.tracker(queue))) {
      const Node update = unrolled_.node(step, unrolled_.iteration(at));
      if (!execution_.happened(update)) return unrolled_.who(unrolled_.steps()[step]) + ", which " + reason(update);
    }
    return {};
  }

  const Unrolled& unrolled_;
  const Execution& execution_;
  const Program& program_;
  std::vector<std::uint32_t> submitter_;             // by queue: its submit step
  std::vector<std::vector<std::uint32_t>> raisers_;  // by signal: its raise steps
};

}  // namespace

void check_deadlock(Subject& subject, Findings& findings) {
  const Execution& execution = subject.execution();
  if (execution.complete()) return;
  const Unrolled& unrolled = subject.unrolled();
  const Reporter reporter(unrolled, execution);
  for (std::uint32_t q = 0; q < unrolled.chain_count(); ++q) {
    const Node at = execution.stands_at[q];
    if (at == kNoNode || unrolled.step(at).kind != StepKind::wait) continue;  // trackers, joins
    if (const auto before = unrolled.is_tiles(q) ? unrolled.tiles_before(q) : std::nullopt) {
      // Tiles behind other tiles that wait for ever are not the cause.
      const Node earlier = execution.stands_at[*before];
      if (earlier != kNoNode && unrolled.iteration(earlier) <= unrolled.iteration(at)) continue;
    }
    const bool started = unrolled.is_kind(q, QueueKind::host) || execution.submits[q] > unrolled.iteration(at);
    if (started) reporter.waiter(q, findings);
  }
}

}  // namespace cortado::verifier
