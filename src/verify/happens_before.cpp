#include "verify/happens_before.hpp"

#include "verify/crossing_edges.hpp"

namespace cortado::verifier {
namespace {

std::vector<Edge> plain_edges(const Unrolled& unrolled) {
  std::vector<Edge> edges;
  for (std::uint32_t s = 0; s < unrolled.steps().size(); ++s) {
    const Step& step = unrolled.steps()[s];
    for (std::uint32_t k = 0; k < kIterations; ++k) {
      const Node node = unrolled.node(s, k);
      if (step.kind == StepKind::wait) edges.emplace_back(unrolled.crossing(step.target, k), node);
      if (step.kind == StepKind::submit && unrolled.step_count(step.target) > 0) {
        edges.emplace_back(node, unrolled.node(unrolled.first_step(step.target), k));
      }
      if (step.kind == StepKind::join) {
        const std::uint32_t last = unrolled.first_step(step.target) + unrolled.step_count(step.target) - 1;
        edges.emplace_back(unrolled.node(last, k), node);
      }
      for (const std::uint32_t tracker : unrolled.updates(step).trackers) {
        edges.emplace_back(node, unrolled.fired(tracker, k));
      }
    }
  }
  for (std::uint32_t signal = 0; signal < unrolled.program().signals.size(); ++signal) {
    Node last = kNoNode;
    for (std::uint32_t k = 0; k < kIterations; ++k) {
      for (std::uint32_t t = unrolled.first_threshold(signal); t < unrolled.first_threshold(signal + 1); ++t) {
        if (last != kNoNode) edges.emplace_back(last, unrolled.crossing(t, k));
        last = unrolled.crossing(t, k);
      }
    }
  }
  return edges;
}

}  // namespace

HappensBefore::HappensBefore(const Unrolled& unrolled, const Execution& execution)
    : unrolled_(unrolled), reachability_(order_with_crossings(unrolled, execution, plain_edges(unrolled))) {}

}  // namespace cortado::verifier
