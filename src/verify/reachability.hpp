// Which nodes of an unrolled program can be reached from which.
//
// Method. Every chain (of a queue, a tracker, a group of tiles, or a signal's crossings) is ordered, so all that
// reaches a node is known if, for every chain, the last of its nodes that does is: a vector clock, with a lane for each
// chain. Clocks are computed in the order of the execution and only as far as anybody asks. A clock differs from the
// one before it in its chain only at a point that edges lead to, and there often just by what a single lane adds to
// another clock, so few rows of lanes are ever stored.
//
// Large programs have thousands of queues with a few commands each, which would need thousands of lanes. Only chains
// with many steps and edges get one. From any other chain, a search follows the edges until it comes to a lane, which
// is a step or two: usually, such queues work for busy ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "verify/execution.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {

/// Edges between points of one iteration; they are the same in every iteration.
struct Edges {
  std::vector<std::uint32_t> start{0};      ///< by point; one more entry than points
  std::vector<std::uint32_t> neighbours{};  ///< of point p: from start[p] to start[p + 1] - 1

  /// What has been added since the last call are the neighbours of the next point.
  void end_point() { start.push_back(static_cast<std::uint32_t>(neighbours.size())); }
};

class Reachability {
 public:
  /// `sources` connect queues and crossings: the neighbours of a point come right before it. The order of chains is
  /// added here. All edges must agree with the order of the execution, which must be complete.
  Reachability(const Unrolled& unrolled, const Execution& execution, Edges sources);

  /// True if `to` is `from` or comes after it on some path; false for kNoNode.
  bool reaches(Node from, Node to) const;

  /// True if some step of the first host queue comes after all of `before` and before all of `after`.
  bool separates(std::span<const Node> before, std::span<const Node> after) const;

  /// Rows, edges and pairs examined so far: a measure of cost that does not depend on the machine.
  std::uint64_t work() const { return work_; }

 private:
  static constexpr std::uint32_t kNoLane = ~0U;
  static constexpr std::size_t kBlock = 8;
  /// Lanes side by side; signed, because vector instructions compare these.
  using Block [[gnu::vector_size(kBlock * sizeof(std::int32_t))]] = std::int32_t;

  struct Chain {
    std::uint32_t begin = 0;  ///< points
    std::uint32_t end = 0;
    std::uint32_t lane = kNoLane;
  };

  /// A clock: a row of lanes, in which one lane is later than the row says.
  struct Clock {
    std::uint32_t row = 0;  ///< its first block
    std::uint32_t lane = kNoLane;
    std::int32_t last = 0;  ///< of the lane, as in rows
  };

  void add_chains();
  void choose_lanes();
  const Chain& chain(Node node) const { return chains_[chain_of_[unrolled_.point(node)]]; }
  /// The clock of a chain behind all edges before `end` that lead to it in the iteration.
  Clock clock_behind(const Chain& chain, std::uint32_t end, std::uint32_t iteration) const;
  Clock clock_at(Node node) const;
  std::int32_t last(const Clock& clock, std::uint32_t lane) const;
  void advance(std::uint32_t position) const;
  void tick(Node node) const;
  /// Adds to the clock of a node of chain `own` what reaches one of its sources. `fresh`: nobody else uses its row.
  void join(const Chain& own, Clock& clock, const Clock& other, bool& fresh) const;
  bool search(Node from, Node to) const;

  const Unrolled& unrolled_;
  const Execution& execution_;
  Edges sources_;
  mutable Edges targets_;                // the same edges forward, once a search needs them
  std::vector<std::uint32_t> chain_of_;  // by point
  std::vector<Chain> chains_;            // those of the program, then those of the signals
  std::uint32_t host_ = kNoLane;         // the first host queue
  std::uint32_t row_blocks_ = 1;
  mutable std::uint32_t used_blocks_ = 0;
  mutable std::vector<Block> rows_;    // 1 + the last node, by lane; the first row is empty
  mutable std::vector<Clock> clocks_;  // by iteration and edge: the clock of a point is that of its last edge
  mutable std::uint32_t done_ = 0;     // positions of the execution
  struct Seen {
    std::uint32_t search = 0;
    Node first = kNoNode;
  };
  mutable std::vector<Seen> seen_;  // by chain: from where on the search has seen it
  mutable std::vector<Node> open_;  // of the search
  mutable std::uint32_t searches_ = 0;
  mutable std::uint64_t work_ = 0;
};

}  // namespace cortado::verifier
