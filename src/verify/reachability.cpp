#include "verify/reachability.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace cortado::verifier {
namespace {

constexpr std::size_t kLanes = 8;

/// Queues with fewer edges to other queues than this are cheap to search through.
constexpr std::uint32_t kHubEdges = 32;

/// This many nodes are examined before anything else: a wait is usually a few steps after the raise that releases it.
constexpr std::size_t kNear = 16;

constexpr std::int32_t kUnreached = std::numeric_limits<std::int32_t>::max();

}  // namespace

Reachability::Reachability(const Unrolled& unrolled, const Execution& execution, std::span<const Edge> edges)
    : unrolled_(unrolled), execution_(execution) {
  std::vector<Edge> placed;  // between positions
  placed.reserve(edges.size() + unrolled.step_nodes());
  for (const auto& [from, to] : edges) placed.emplace_back(execution.position[from], execution.position[to]);
  for (std::uint32_t q = 0; q < unrolled.chain_count(); ++q) {
    for (Node n = unrolled.first_node(q); n + 1 < unrolled.end_node(q); ++n) {
      placed.emplace_back(execution.position[n], execution.position[n + 1]);
    }
  }
  next_ = make_lists(unrolled.node_count(), placed, false);
  previous_ = make_lists(unrolled.node_count(), placed, true);
  choose_hubs(edges);
}

Reachability::Lists Reachability::make_lists(std::uint32_t nodes, std::span<const Edge> edges, bool backward) {
  Lists lists;
  lists.start.assign(nodes + 1, 0);
  for (const auto& [from, to] : edges) ++lists.start[(backward ? to : from) + 1];
  for (std::uint32_t i = 0; i < nodes; ++i) lists.start[i + 1] += lists.start[i];
  lists.targets.resize(edges.size());
  std::vector<std::uint32_t> fill(lists.start.begin(), lists.start.end() - 1);
  for (const auto& [from, to] : edges) lists.targets[fill[backward ? to : from]++] = backward ? from : to;
  return lists;
}

void Reachability::choose_hubs(std::span<const Edge> edges) {
  std::vector<std::uint32_t> degree(unrolled_.chain_count(), 0);
  for (const auto& [from, to] : edges) {
    if (unrolled_.is_step(from)) ++degree[unrolled_.step(from).chain];
    if (unrolled_.is_step(to)) ++degree[unrolled_.step(to).chain];
  }
  for (std::uint32_t q = 0; q < unrolled_.chain_count(); ++q) {
    if (degree[q] < kHubEdges) continue;
    // Host queues first: most paths to the next iteration go through them.
    hubs_.insert(unrolled_.is_kind(q, QueueKind::host) ? hubs_.begin() : hubs_.end(), q);
  }
}

void Reachability::answer(std::span<Query> queries) const {
  std::vector<Query*> open;
  for (Query& query : queries) {
    query.holds = false;
    if (query.from == kNoNode || query.to == kNoNode) continue;
    const bool one_chain = unrolled_.is_step(query.from) && unrolled_.is_step(query.to) &&
                           unrolled_.step(query.from).chain == unrolled_.step(query.to).chain;
    if (query.from == query.to || one_chain) {
      query.holds = query.from <= query.to;
    } else if (execution_.position[query.from] < execution_.position[query.to]) {
      open.push_back(&query);
    }
  }
  work_ += queries.size();
  const bool hub_first = hubs_.size() == 1 && open.size() * kNear > unrolled_.node_count();
  if (!hub_first) answer_nearby(open);
  if (open.empty()) return;
  Search search{std::vector<std::uint32_t>(unrolled_.node_count(), 0),
                std::vector<std::uint32_t>(unrolled_.node_count(), 0),
                std::vector<bool>(unrolled_.node_count(), false)};
  if (hubs_.size() == 1) {
    HubTables<1> tables;
    answer_by_hubs(hubs_, tables, open);
    leave_out(hubs_, search);
  } else {
    HubTables<kLanes> tables;
    for (std::size_t i = 0; i < hubs_.size() && !open.empty(); i += kLanes) {
      const auto some = std::span(hubs_).subspan(i, std::min(kLanes, hubs_.size() - i));
      answer_by_hubs(some, tables, open);
      leave_out(some, search);
      answer_by_search(open, search, unrolled_.node_count());  // costs no more than the next hubs
    }
  }
  if (hub_first) answer_nearby(open);
  answer_by_search(open, search, std::numeric_limits<std::uint64_t>::max());
}

bool Reachability::separates(std::uint32_t queue, std::span<const Node> before, std::span<const Node> after) const {
  HubTables<1> tables;
  fill(std::span(&queue, 1), tables);
  work_ += before.size() + after.size();
  std::int32_t reached = 0;  // the step of the queue that all of `before` reach
  for (const Node node : before) {
    if (node == kNoNode) return false;
    reached = std::max(reached, tables.first[execution_.position[node]][0]);
  }
  return std::ranges::all_of(after, [&](Node node) { return reached < tables.last[execution_.position[node]][0]; });
}

void Reachability::answer_nearby(std::vector<Query*>& open) const {
  std::erase_if(open, [&](Query* query) {
    return query->holds = is_near(execution_.position[query->from], execution_.position[query->to]);
  });
}

bool Reachability::is_near(std::uint32_t from, std::uint32_t to) const {
  std::array<std::uint32_t, kNear> seen{from};
  std::size_t count = 1;
  for (std::size_t i = 0; i < count; ++i) {
    ++work_;
    for (const std::uint32_t target : next_.of(seen[i])) {
      if (target == to) return true;
      if (count == kNear) return false;
      if (target < to) seen[count++] = target;
    }
  }
  return false;
}

template <std::size_t Lanes>
void Reachability::fill(std::span<const std::uint32_t> hubs, HubTables<Lanes>& tables) const {
  using Row = std::array<std::int32_t, Lanes>;
  const std::uint32_t nodes = unrolled_.node_count();
  auto& [first, last] = tables;
  Row unreached;
  unreached.fill(kUnreached);
  first.assign(nodes, unreached);
  last.assign(nodes, Row{});
  const auto place_hubs = [&](std::vector<Row>& table, std::uint32_t shift) {
    for (std::size_t lane = 0; lane < hubs.size(); ++lane) {
      const Node begin = unrolled_.first_node(hubs[lane]);
      for (Node n = begin; n < unrolled_.end_node(hubs[lane]); ++n) {
        table[execution_.position[n]][lane] = static_cast<std::int32_t>(n - begin + shift);
      }
    }
  };
  place_hubs(first, 0);
  // Each node has its own row, so that lanes are computed side by side.
  for (std::uint32_t i = nodes; i-- > 0;) {
    Row least = first[i];
    for (const std::uint32_t target : next_.of(i)) {
      const Row other = first[target];
      for (std::size_t lane = 0; lane < Lanes; ++lane) least[lane] = std::min(least[lane], other[lane]);
    }
    first[i] = least;
  }
  place_hubs(last, 1);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    Row most = last[i];
    for (const std::uint32_t source : previous_.of(i)) {
      const Row other = last[source];
      for (std::size_t lane = 0; lane < Lanes; ++lane) most[lane] = std::max(most[lane], other[lane]);
    }
    last[i] = most;
  }
  work_ += nodes;
}

template <std::size_t Lanes>
void Reachability::answer_by_hubs(std::span<const std::uint32_t> hubs, HubTables<Lanes>& tables,
                                  std::vector<Query*>& open) const {
  fill(hubs, tables);
  work_ += open.size();
  std::erase_if(open, [&](Query* query) {
    const auto& from = tables.first[execution_.position[query->from]];
    const auto& to = tables.last[execution_.position[query->to]];
    for (std::size_t lane = 0; lane < Lanes; ++lane) query->holds = query->holds || from[lane] < to[lane];
    return query->holds;
  });
}

void Reachability::leave_out(std::span<const std::uint32_t> hubs, Search& search) const {
  for (const std::uint32_t hub : hubs) {
    for (Node n = unrolled_.first_node(hub); n < unrolled_.end_node(hub); ++n) {
      search.answered[execution_.position[n]] = true;
    }
  }
}

void Reachability::answer_by_search(std::vector<Query*>& open, Search& search, std::uint64_t most) const {
  // One search answers all queries from the same node.
  std::ranges::sort(open, {}, [](const Query* query) { return query->from; });
  auto& [seen, wanted, answered, stack, round] = search;
  std::vector<Query*> left;
  std::uint64_t looked_at = 0;
  for (std::size_t begin = 0; begin < open.size();) {
    if (looked_at >= most) {
      left.insert(left.end(), open.begin() + static_cast<std::ptrdiff_t>(begin), open.end());
      break;
    }
    ++round;
    std::size_t end = begin;
    std::size_t goals = 0;
    std::uint32_t furthest = 0;
    for (; end < open.size() && open[end]->from == open[begin]->from; ++end) {
      const std::uint32_t to = execution_.position[open[end]->to];
      furthest = std::max(furthest, to);
      if (std::exchange(wanted[to], round) != round) ++goals;
    }
    stack.assign(1, execution_.position[open[begin]->from]);
    while (!stack.empty() && goals > 0 && looked_at < most) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      ++looked_at;
      if (answered[at]) continue;
      for (const std::uint32_t target : next_.of(at)) {
        if (target > furthest || seen[target] == round) continue;
        seen[target] = round;
        if (wanted[target] == round) --goals;
        stack.push_back(target);
      }
    }
    const bool through = stack.empty() || goals == 0;
    for (; begin < end; ++begin) {
      open[begin]->holds = seen[execution_.position[open[begin]->to]] == round;
      if (!open[begin]->holds && !through) left.push_back(open[begin]);
    }
  }
  work_ += looked_at;
  open = std::move(left);
}

}  // namespace cortado::verifier
