// Which node of an unrolled program can be reached from which, for many pairs at once.
//
// Method. A path either touches one of the busy queues ("hubs": host queues with thousands of submits and waits, as a
// rule) or it does not.
//   - For one hub, two passes over the nodes in execution order give, for every node, the first position of the hub it
//     reaches and the last position of the hub that reaches it. A path from u to v through the hub exists iff
//     first(u) <= last(v). Eight hubs are done in one pass.
//   - Short paths are found by looking at a few nodes, before hubs are asked; but many pairs are cheaper by a single
//   hub.
//   - Paths without a hub are looked for by a search that stays out of hubs; those are short. A search also comes
//     between eight hubs and the next eight, through whatever was not asked yet, as long as it costs less than those.
// The cost is (hubs / 8) * (nodes + pairs) plus the searches; no table of pairs is ever made.
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
  /// `edges` go between queues and crossings; the chains of the queues are added here. All edges agree with the order
  /// of the execution.
  Reachability(const Unrolled& unrolled, const Execution& execution, std::span<const Edge> edges);

  void answer(std::span<Query> queries) const;

  /// Some step of the queue comes after all of `before` and, on paths through it, before all of `after`.
  bool separates(std::uint32_t queue, std::span<const Node> before, std::span<const Node> after) const;

  /// Nodes and pairs looked at so far: a measure of cost that does not depend on the machine.
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
  /// Of every node: the first position of a hub that it reaches, and 1 + the last one that reaches it. A lane a hub.
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
    std::vector<std::uint32_t> seen;    ///< by position: the round in which it was seen
    std::vector<std::uint32_t> wanted;  ///< by position: the round in which it is a goal
    std::vector<bool> answered;         ///< by position: paths through it are answered already
    std::vector<std::uint32_t> stack{};
    std::uint32_t round = 0;
  };
  void leave_out(std::span<const std::uint32_t> hubs, Search& search) const;  ///< they are answered
  /// Looks at `most` nodes at most. `open` keeps the queries that it did not come to the end of.
  void answer_by_search(std::vector<Query*>& open, Search& search, std::uint64_t most) const;

  const Unrolled& unrolled_;
  const Execution& execution_;
  Lists next_;      // by position in the execution
  Lists previous_;  // the same edges backward
  std::vector<std::uint32_t> hubs_;
  mutable std::uint64_t work_ = 0;
};

}  // namespace cortado::verifier
