// Which nodes of an unrolled program can be reached from which, for many pairs at once.
//
// Method. A path either touches one of the busy queues ("hubs": usually host queues with thousands of submits and
// waits) or it does not.
//   - For one hub, two passes over the nodes in execution order give, for every node, the first position of the hub
//     that it reaches and the last position of the hub that reaches it. A path from u to v through the hub exists iff
//     first(u) <= last(v). One pass handles eight hubs.
//   - Before any hubs, a look at a few nodes finds the short paths; but if there are many pairs, a single hub is
//     cheaper.
//   - Paths without a hub are found by a search that stays out of hubs; such paths are short. Between one set of eight
//     hubs and the next, a search also runs through whatever has not been covered yet, as long as it costs less than
//     the next eight hubs.
// The cost is (hubs / 8) * (nodes + pairs) plus the searches; no table of pairs is ever built.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "verify/execution.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {

struct Query {
  Node from = kNoNode;
  Node to = kNoNode;
  bool holds = false;  ///< answer: `to` is `from` or comes after it on some path
};

using Edge = std::pair<Node, Node>;

class Reachability {
 public:
  /// `edges` connect queues and crossings; the chains of the queues are added here. All edges must agree with the order
  /// of the execution.
  Reachability(const Unrolled& unrolled, const Execution& execution, std::span<const Edge> edges);

  void answer(std::span<Query> queries) const;

  /// True if some step of the queue comes after all of `before` and before all of `after`.
  bool separates(std::uint32_t queue, std::span<const Node> before, std::span<const Node> after) const;

  /// Nodes and pairs examined so far: a measure of cost that does not depend on the machine.
  std::uint64_t work() const { return work_; }

 private:
  struct Lists {  // neighbours of node i: targets[start[i]] .. targets[start[i + 1] - 1]; nodes are positions
    std::vector<std::uint32_t> start;
    std::vector<std::uint32_t> targets;
    std::span<const std::uint32_t> of(std::uint32_t i) const {
      return {targets.data() + start[i], targets.data() + start[i + 1]};
    }
  };

  static Lists make_lists(std::uint32_t nodes, std::span<const Edge> edges, bool backward);
  void choose_hubs(std::span<const Edge> edges);
  bool is_near(std::uint32_t from, std::uint32_t to) const;
  void answer_nearby(std::vector<Query*>& open) const;
  /// For every node: the first position of a hub that it reaches, and 1 + the last one that reaches it. One lane per
  /// hub.
  template <std::size_t Lanes>
  struct HubTables {
    std::vector<std::array<std::int32_t, Lanes>> first;  // signed: vector instructions compare these
    std::vector<std::array<std::int32_t, Lanes>> last;
  };
  template <std::size_t Lanes>
  void fill(std::span<const std::uint32_t> hubs, HubTables<Lanes>& tables) const;
  template <std::size_t Lanes>
  void answer_by_hubs(std::span<const std::uint32_t> hubs, HubTables<Lanes>& tables, std::vector<Query*>& open) const;
  struct Search {
    std::vector<std::uint32_t> seen;    ///< by position: the round in which it was last seen
    std::vector<std::uint32_t> wanted;  ///< by position: the round in which it is a goal
    std::vector<bool> answered;         ///< by position: paths through it have already been covered
    std::vector<std::uint32_t> stack{};
    std::uint32_t round = 0;
  };
  void leave_out(std::span<const std::uint32_t> hubs, Search& search) const;  ///< their paths have been covered
  /// Visits at most `most` nodes. `open` keeps the queries for which that was not enough.
  void answer_by_search(std::vector<Query*>& open, Search& search, std::uint64_t most) const;

  const Unrolled& unrolled_;
  const Execution& execution_;
  Lists next_;      // by position in the execution
  Lists previous_;  // the same edges backward
  std::vector<std::uint32_t> hubs_;
  mutable std::uint64_t work_ = 0;
};

}  // namespace cortado::verifier
