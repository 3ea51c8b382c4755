// The order that a program guarantees: which step is finished before which other one starts, in every execution.
//
// Plain edges: the chain of a queue or group of tiles, a Submit to the first step of what it submits, the last step of
// a group of tiles to the step that joins it, an update to the raise of its tracker, a crossing to its waits, and a
// crossing to the next higher one of the same signal. Edges from raises to crossings are derived: see
// crossing_edges.hpp.
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

  /// Chain order, that is starts: `from` starts, then `to`.
  void answer(std::span<Query> queries) const { reachability_->answer(queries); }

  /// The query whether a step is finished before another one starts.
  Query finished_before(Node first, Node second) const { return {unrolled_.completion(first), second, false}; }

  /// All of `before` are finished before a step of the queue, and all of `after` start behind it.
  bool separates(std::uint32_t queue, std::span<const Node> before, std::span<const Node> after) const {
    std::vector<Node> finished;
    finished.reserve(before.size());
    for (const Node node : before) finished.push_back(unrolled_.completion(node));
    return reachability_->separates(queue, finished, after);
  }

  /// Nodes and pairs looked at so far by the last round of derivation and the queries since.
  std::uint64_t work() const { return reachability_->work(); }

 private:
  const Unrolled& unrolled_;
  std::unique_ptr<Reachability> reachability_;
};

}  // namespace cortado::verifier
