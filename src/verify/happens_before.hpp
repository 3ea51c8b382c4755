// The order that a program guarantees: which step finishes before which other step starts, in every execution.
//
// Plain edges: the chain of a queue or group of tiles; from a Submit to the first step of what it submits; from the
// last step of a group of tiles to the step that joins it; from an update to the raise of its tracker; from a crossing
// to its waits; and from a crossing to the next higher one of the same signal. Edges from raises to crossings are
// derived: see crossing_edges.hpp.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "verify/execution.hpp"
#include "verify/reachability.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {

class HappensBefore {
 public:
  /// The execution must be complete.
  HappensBefore(const Unrolled& unrolled, const Execution& execution);

  /// Chain order, that is, the order of starts: `from` starts before `to`.
  void answer(std::span<Query> queries) const { reachability_->answer(queries); }

  /// The query whether one step finishes before another starts.
  Query finished_before(Node first, Node second) const { return {unrolled_.completion(first), second, false}; }

  /// True if some step of the queue comes after all of `before` have finished and before any of `after` starts.
  bool separates(std::uint32_t queue, std::span<const Node> before, std::span<const Node> after) const {
    std::vector<Node> finished;
    finished.reserve(before.size());
    for (const Node node : before) finished.push_back(unrolled_.completion(node));
    return reachability_->separates(queue, finished, after);
  }

  /// Nodes and pairs examined by the last round of derivation and by the queries since.
  std::uint64_t work() const { return reachability_->work(); }

 private:
  const Unrolled& unrolled_;
  std::unique_ptr<Reachability> reachability_;
};

}  // namespace cortado::verifier
