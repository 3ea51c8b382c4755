#include "verify/happens_before.hpp"

#include "verify/crossing_edges.hpp"

namespace cortado::verifier {
namespace {

Edges plain_edges(const Unrolled& unrolled) {
  std::vector<std::uint32_t> submitters(unrolled.chain_count(), kNoNode);
  for (std::uint32_t s = 0; s < unrolled.steps().size(); ++s) {
    const Step& step = unrolled.steps()[s];
    if (step.kind == StepKind::submit) submitters[step.target] = s;
  }
  const auto steps = static_cast<std::uint32_t>(unrolled.steps().size());
  Edges edges;
  edges.start.reserve(unrolled.points() + 1);
  edges.neighbours.reserve(unrolled.points());
  for (std::uint32_t chain = 0; chain < unrolled.chain_count(); ++chain) {
    const std::uint32_t first = unrolled.first_step(chain);
    for (std::uint32_t s = first; s < first + unrolled.step_count(chain); ++s) {
      const Step& step = unrolled.steps()[s];
      if (s == first && submitters[chain] != kNoNode) edges.neighbours.push_back(submitters[chain]);
      if (step.kind == StepKind::wait) edges.neighbours.push_back(steps + step.target);
      if (step.kind == StepKind::join) {
        edges.neighbours.push_back(unrolled.first_step(step.target) + unrolled.step_count(step.target) - 1);
      }
      if (unrolled.is_tracker(chain)) {
        const auto& updaters = unrolled.updaters(unrolled.tracker(chain));
        edges.neighbours.insert(edges.neighbours.end(), updaters.begin(), updaters.end());
      }
      edges.end_point();
    }
  }
  return edges;
}

}  // namespace

HappensBefore::HappensBefore(const Unrolled& unrolled, const Execution& execution)
    : unrolled_(unrolled), reachability_(order_with_crossings(unrolled, execution, plain_edges(unrolled))) {}

}  // namespace cortado::verifier
