// The order that a program guarantees: which step finishes before which other step starts, in every execution.
//
// Chains: the steps of a queue or group of tiles, and the crossings of a signal. Plain edges: from a Submit to the
// first step of what it submits; from the last step of a group of tiles to the step that joins it; from an update to
// the raise of its tracker; and from a crossing to its waits. Edges from raises to crossings are derived: see
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

  /// The order of starts: `to` is `from` or starts after it.
  bool starts_before(Node from, Node to) const { return reachability_->reaches(from, to); }

  bool finished_before(Node first, Node second) const { return starts_before(unrolled_.completion(first), second); }

  /// True if some step of the first host queue comes after all of `before` and before all of `after`.
  bool separates(std::span<const Node> before, std::span<const Node> after) const {
    return reachability_->separates(before, after);
  }

  /// Rows, edges and pairs examined by the last round of derivation and by the queries since.
  std::uint64_t work() const { return reachability_->work(); }

 private:
  const Unrolled& unrolled_;
  std::unique_ptr<Reachability> reachability_;
};

}  // namespace cortado::verifier
