#include "verify/reachability.hpp"

#include <algorithm>

namespace cortado::verifier {
namespace {

/// A lane costs about as much as this part of a search along one edge, for every row.
constexpr std::uint64_t kEdgePerLane = 16;

/// Room for rows to begin with.
constexpr std::size_t kFirstBlocks = 1U << 12;

/// Lanes of all rows together.
constexpr std::uint64_t kMaxCells = 1U << 25;

Edges reversed(const Edges& edges) {
  Edges result;
  result.start.assign(edges.start.size(), 0);
  for (const std::uint32_t neighbour : edges.neighbours) ++result.start[neighbour + 1];
  for (std::size_t p = 1; p < result.start.size(); ++p) result.start[p] += result.start[p - 1];
  result.neighbours.resize(edges.neighbours.size());
  std::vector<std::uint32_t> fill(result.start.begin(), result.start.end() - 1);
  for (std::uint32_t p = 0; p + 1 < edges.start.size(); ++p) {
    for (std::uint32_t e = edges.start[p]; e < edges.start[p + 1]; ++e) {
      result.neighbours[fill[edges.neighbours[e]]++] = p;
    }
  }
  return result;
}

}  // namespace

Reachability::Reachability(const Unrolled& unrolled, const Execution& execution, Edges sources)
    : unrolled_(unrolled), execution_(execution), sources_(std::move(sources)) {
  add_chains();
  choose_lanes();
  used_blocks_ = row_blocks_;
  rows_.resize(std::min<std::size_t>(row_blocks_ * (sources_.neighbours.size() + 1), kFirstBlocks) + row_blocks_);
  clocks_.resize(kIterations * sources_.neighbours.size());
}

void Reachability::add_chains() {
  chains_.reserve(unrolled_.chain_count() + unrolled_.program().signals.size());
  chain_of_.resize(unrolled_.points());
  const auto add = [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t p = begin; p < end; ++p) chain_of_[p] = static_cast<std::uint32_t>(chains_.size());
    chains_.push_back({begin, end, kNoLane});
  };
  for (std::uint32_t c = 0; c < unrolled_.chain_count(); ++c) {
    add(unrolled_.first_step(c), unrolled_.first_step(c) + unrolled_.step_count(c));
  }
  const auto steps = static_cast<std::uint32_t>(unrolled_.steps().size());
  for (std::uint32_t s = 0; s < unrolled_.program().signals.size(); ++s) {
    add(steps + unrolled_.first_threshold(s), steps + unrolled_.first_threshold(s + 1));
  }
}

void Reachability::choose_lanes() {
  std::vector<std::uint64_t> worth(chains_.size(), 0);
  for (const std::uint32_t source : sources_.neighbours) ++worth[chain_of_[source]];
  std::vector<std::uint32_t> busy;
  for (std::uint32_t c = 0; c < unrolled_.chain_count(); ++c) {
    worth[c] *= unrolled_.step_count(c) * kEdgePerLane;
    if (host_ == kNoLane && unrolled_.is_kind(c, QueueKind::host) && unrolled_.step_count(c) > 0) {
      host_ = c;
      worth[c] = ~0ULL;
    }
    if (worth[c] > sources_.neighbours.size()) busy.push_back(c);
  }
  const std::size_t most = kMaxCells / (kIterations * sources_.neighbours.size() + 1) + 1;
  if (busy.size() > most) {
    std::ranges::nth_element(busy, busy.begin() + static_cast<std::ptrdiff_t>(most - 1), std::ranges::greater{},
                             [&](std::uint32_t c) { return worth[c]; });
    busy.resize(most);
  }
  for (std::uint32_t lane = 0; lane < busy.size(); ++lane) chains_[busy[lane]].lane = lane;
  row_blocks_ = static_cast<std::uint32_t>(std::max<std::size_t>((busy.size() + kBlock - 1) / kBlock, 1));
}

bool Reachability::reaches(Node from, Node to) const {
  ++work_;
  if (from == kNoNode || to == kNoNode) return false;
  const Chain& own = chain(from);
  if (&own == &chain(to)) return from <= to;
  if (execution_.position[from] > execution_.position[to]) return false;
  advance(execution_.position[to]);
  if (own.lane == kNoLane) return search(from, to);
  return last(clock_at(to), own.lane) > static_cast<std::int32_t>(from);
}

bool Reachability::separates(std::span<const Node> before, std::span<const Node> after) const {
  if (host_ == kNoLane) return false;
  const Chain& host = chains_[host_];
  // Behind the last step of the host that comes before each node. A single lane needs no rows.
  std::vector<Node> behind(unrolled_.node_count(), 0);
  for (const Node node : execution_.order) {
    const std::uint32_t point = unrolled_.point(node);
    const std::uint32_t iteration = unrolled_.iteration(node);
    const Chain& own = chains_[chain_of_[point]];
    Node last = 0;
    if (point > own.begin) {
      last = behind[node - 1];
    } else if (iteration > 0) {
      last = behind[own.end - 1];
    }
    for (std::uint32_t e = sources_.start[point]; e < sources_.start[point + 1]; ++e) {
      last = std::max(last, behind[unrolled_.node(sources_.neighbours[e], iteration)]);
    }
    behind[node] = &own == &host ? node + 1 : last;
  }
  work_ += behind.size();
  Node least = unrolled_.node(host.end, kIterations - 1);
  for (const Node node : after) least = std::min(least, behind[node]);
  return least > host.begin && std::ranges::all_of(before, [&](Node node) { return reaches(node, least - 1); });
}

Reachability::Clock Reachability::clock_behind(const Chain& chain, std::uint32_t end, std::uint32_t iteration) const {
  const std::uint32_t begin = sources_.start[chain.begin];
  if (end > begin) return clocks_[iteration * sources_.neighbours.size() + end - 1];
  const std::uint32_t last = sources_.start[chain.end];
  return iteration > 0 && last > begin ? clocks_[last - 1] : Clock{};
}

Reachability::Clock Reachability::clock_at(Node node) const {
  const std::uint32_t point = unrolled_.point(node);
  return clock_behind(chains_[chain_of_[point]], sources_.start[point + 1], unrolled_.iteration(node));
}

std::int32_t Reachability::last(const Clock& clock, std::uint32_t lane) const {
  const std::int32_t of_row = rows_[clock.row + lane / kBlock][lane % kBlock];
  return clock.lane == lane ? std::max(of_row, clock.last) : of_row;
}

void Reachability::advance(std::uint32_t position) const {
  for (; done_ <= position; ++done_) {
    const std::uint32_t point = unrolled_.point(execution_.order[done_]);
    if (sources_.start[point] < sources_.start[point + 1]) tick(execution_.order[done_]);
  }
}

void Reachability::tick(Node node) const {
  const std::uint32_t point = unrolled_.point(node);
  const std::uint32_t iteration = unrolled_.iteration(node);
  const Chain& own = chains_[chain_of_[point]];
  const std::uint32_t end = sources_.start[point + 1];
  Clock clock = clock_behind(own, sources_.start[point], iteration);
  bool fresh = false;
  for (std::uint32_t e = sources_.start[point]; e < end; ++e) {
    const Node source = unrolled_.node(sources_.neighbours[e], iteration);
    Clock other = clock_at(source);
    const std::uint32_t lane = chain(source).lane;
    if (lane != kNoLane) other = {other.row, lane, static_cast<std::int32_t>(source + 1)};
    join(own, clock, other, fresh);
  }
  clocks_[iteration * sources_.neighbours.size() + end - 1] = clock;
}

void Reachability::join(const Chain& own, Clock& clock, const Clock& other, bool& fresh) const {
  // Who knows of a node knows all that the node did. A clock that was handed on is one of its lane.
  const bool nothing_new = other.lane == kNoLane ? other.row == 0 || other.row == clock.row
                                                 : other.lane == own.lane || last(clock, other.lane) >= other.last;
  if (nothing_new) return;
  const bool nothing_else =
      clock.lane == kNoLane ? clock.row == 0 || clock.row == other.row : last(other, clock.lane) >= clock.last;
  if (nothing_else && (own.lane == kNoLane || other.lane == kNoLane)) {
    clock = other;
    fresh = false;
    return;
  }
  // The lane of a chain that has one must be free for the chain itself.
  const std::uint32_t row = fresh ? clock.row : used_blocks_;
  if (!fresh) used_blocks_ += row_blocks_;
  if (used_blocks_ > rows_.size()) rows_.resize(std::size_t{2} * used_blocks_);
  const Block* lanes = rows_.data() + clock.row;
  const Block* others = rows_.data() + other.row;
  Block* joined = rows_.data() + row;
  for (const Block* end = lanes + row_blocks_; lanes != end; ++lanes, ++others, ++joined) {
    *joined = *lanes > *others ? *lanes : *others;
  }
  for (const auto& [lane, last] : {std::pair(clock.lane, clock.last), std::pair(other.lane, other.last)}) {
    if (lane == kNoLane) continue;
    Block& block = rows_[row + lane / kBlock];
    block[lane % kBlock] = std::max(block[lane % kBlock], last);
  }
  clock = {row, kNoLane, 0};
  fresh = true;
  work_ += row_blocks_;
}

bool Reachability::search(Node from, Node to) const {
  if (targets_.neighbours.empty()) targets_ = reversed(sources_);
  seen_.resize(chains_.size());
  ++searches_;
  const Clock goal = clock_at(to);
  const std::uint32_t latest = execution_.position[to];
  const auto found = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t iteration) {
    for (std::uint32_t e = begin; e < end; ++e) {
      ++work_;
      const Node node = unrolled_.node(targets_.neighbours[e], iteration);
      if (execution_.position[node] > latest) continue;
      const Chain& own = chain(node);
      if (&own == &chain(to)) {
        if (node <= to) return true;
      } else if (own.lane != kNoLane) {
        if (last(goal, own.lane) > static_cast<std::int32_t>(node)) return true;
      } else {
        Seen& seen = seen_[chain_of_[unrolled_.point(node)]];
        if (seen.search == searches_ && seen.first <= node) continue;
        seen = {searches_, node};
        open_.push_back(node);
      }
    }
    return false;
  };
  open_.assign(1, from);
  while (!open_.empty()) {
    const Node node = open_.back();
    open_.pop_back();
    const Chain& own = chain(node);
    const std::uint32_t end = targets_.start[own.end];
    for (std::uint32_t k = unrolled_.iteration(node); k < kIterations; ++k) {
      const std::uint32_t first = k == unrolled_.iteration(node) ? unrolled_.point(node) : own.begin;
      if (found(targets_.start[first], end, k)) return true;
    }
  }
  return false;
}

}  // namespace cortado::verifier
