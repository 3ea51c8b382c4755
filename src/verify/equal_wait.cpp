// verify.equal_wait: a wait for equality hangs for ever once its counter has passed the value. It is safe only if all
// raises that may come before it add up to exactly that value; the others must come after it.
#include <fmt/format.h>

#include "cortado/program.hpp"

#include "verify/happens_before.hpp"
#include "verify/naming.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {
namespace {

bool is_equal_wait(const Program& program, const Step& step) {
  if (step.kind != StepKind::wait) return false;
  const auto* wait = std::get_if<Wait>(&program.queues[step.queue].commands[step.command]);
  return wait != nullptr && wait->compare == Compare::eq;  // tiles wait for "at least"
}

}  // namespace

void check_equal_wait(Subject& subject, Findings& findings) {
  const Program& program = subject.program();
  const Unrolled& unrolled = subject.unrolled();
  std::vector<std::uint32_t> waits;
  for (std::uint32_t s = 0; s < unrolled.steps().size(); ++s) {
    if (is_equal_wait(program, unrolled.steps()[s])) waits.push_back(s);
  }
  if (waits.empty()) return;

  std::vector<std::vector<std::uint32_t>> raises(program.signals.size());
  for (std::uint32_t s = 0; s < unrolled.steps().size(); ++s) {
    if (unrolled.steps()[s].kind == StepKind::raise) raises[unrolled.steps()[s].target].push_back(s);
  }
  for (const std::uint32_t wait : waits) {
    if (findings.full()) return;
    const Step& step = unrolled.steps()[wait];
    const Threshold& threshold = unrolled.thresholds()[step.target];
    const std::uint32_t signal = threshold.signal.value;
    std::vector<Node> early;  // what may come before the wait
    for (std::uint32_t k = 0; k < kIterations; ++k) {
      for (const std::uint32_t raise : raises[signal]) {
        const Node node = unrolled.node(raise, k);
        if (!subject.happens_before().starts_before(unrolled.node(wait, 0), node)) early.push_back(node);
      }
    }
    std::uint64_t counter = 0;
    for (const Node node : early) {
      const Step& raise = unrolled.step(node);
      const std::uint64_t base = unrolled.iteration(node) * unrolled.advances()[signal];
      counter = raise.op == SignalOp::add ? counter + raise.amount : base + raise.amount;
      if (counter <= threshold.value) continue;
      findings.add(Spot(program, QueueId{step.queue}, step.command),
                   fmt::format("waits for {} == {}, but {}{} may raise it to {} before the wait sees it",
                               program.signals[signal].name, threshold.value, unrolled.who(raise),
                               unrolled.iteration(node) == 0 ? "" : " of the next iteration", counter),
                   "compare with ge, or make that signal wait until this queue has moved on");
      break;
    }
  }
}

}  // namespace cortado::verifier
