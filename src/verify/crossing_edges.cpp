#include "verify/crossing_edges.hpp"

#include <algorithm>

#include "base/small_vector.hpp"

namespace cortado::verifier {
namespace {

/// A signal with more pairs of raises than this is not examined pair by pair; fewer orderings are then derived from its
/// raises than would hold.
constexpr std::size_t kMaxPairs = 1U << 22;

/// Most signals are raised once.
using Raises = SmallVector<std::uint32_t, 2>;

/// A crossing of a signal that several queues raise, and the raise steps still assumed to come before it.
struct Candidate {
  std::uint32_t threshold = 0;
  std::vector<std::uint32_t> before;
};

class Derivation {
 public:
  Derivation(const Unrolled& unrolled, const Execution& execution, std::vector<Edge> plain)
      : unrolled_(unrolled),
        execution_(execution),
        edges_(std::move(plain)),
        raises_(unrolled.program().signals.size()) {
    for (std::uint32_t s = 0; s < unrolled.steps().size(); ++s) {
      if (unrolled.steps()[s].kind == StepKind::raise) raises_[unrolled.steps()[s].target].push_back(s);
    }
    for (std::uint32_t signal = 0; signal < raises_.size(); ++signal) start(signal);
  }

  std::unique_ptr<Reachability> run() {
    while (true) {
      std::vector<Edge> edges = edges_;
      for (const Candidate& candidate : candidates_) add_last_of_queues(candidate, edges);
      auto order = std::make_unique<Reachability>(unrolled_, execution_, edges);
      if (!drop_unjustified(*order)) return order;
    }
  }

 private:
  const Step& step(std::uint32_t index) const { return unrolled_.steps()[index]; }
  Node crossing(const Candidate& c) const { return unrolled_.crossing(c.threshold, 0); }
  const Raises& raises(const Candidate& c) const { return raises_[unrolled_.thresholds()[c.threshold].signal.value]; }
  bool came_first(Node first, Node second) const { return execution_.position[first] < execution_.position[second]; }

  void add_edge(std::uint32_t raise, std::uint32_t threshold, std::vector<Edge>& edges) const {
    for (std::uint32_t k = 0; k < kIterations; ++k) {
      edges.emplace_back(unrolled_.node(raise, k), unrolled_.crossing(threshold, k));
    }
  }

  void start(std::uint32_t signal) {
    const auto& all = raises_[signal];
    if (all.empty()) return;
    const bool one_queue =
        step(all.front()).chain == step(all[all.size() - 1]).chain;  // steps are stored chain by chain
    for (std::uint32_t t = unrolled_.first_threshold(signal); t < unrolled_.first_threshold(signal + 1); ++t) {
      if (one_queue) {
        add_edge(reaching(all, unrolled_.thresholds()[t].value), t, edges_);
        continue;
      }
      Candidate candidate{t, {}};
      for (const std::uint32_t raise : all) {
        const bool before = came_first(unrolled_.node(raise, 0), unrolled_.crossing(t, 0)) &&
                            came_first(unrolled_.node(raise, 1), unrolled_.crossing(t, 1));
        if (before) candidate.before.push_back(raise);
      }
      candidates_.push_back(std::move(candidate));
    }
  }

  /// Of the ordered raises of one queue, the one that brings the counter up to the value.
  std::uint32_t reaching(const Raises& all, std::uint64_t value) const {
    std::uint64_t counter = 0;
    for (const std::uint32_t raise : all) {
      counter = step(raise).op == SignalOp::add ? counter + step(raise).amount : step(raise).amount;
      if (counter >= value) return raise;
    }
    return all[all.size() - 1];
  }

  /// Adding the last raise of each queue is enough: its earlier raises come before that one anyway.
  void add_last_of_queues(const Candidate& candidate, std::vector<Edge>& edges) const {
    const auto& before = candidate.before;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool last = i + 1 == before.size() || step(before[i]).chain != step(before[i + 1]).chain;
      if (last) add_edge(before[i], candidate.threshold, edges);
    }
  }

  /// What may raise the counter before the crossing.
  struct Early {
    std::uint64_t sum = 0;            // of this iteration
    std::vector<std::uint32_t> now;   // raise steps of this iteration
    std::vector<std::uint32_t> next;  // raise steps of the next iteration
  };

  /// True if any candidate was dropped.
  bool drop_unjustified(const Reachability& order) {
    std::vector<Early> early = find_early(order);
    // Raises that the sum alone does not justify; for these the raises that come after them must be subtracted.
    struct Doubt {
      std::size_t candidate;
      std::uint32_t raise;
      std::size_t first_query;
    };
    std::vector<Doubt> doubts;
    std::vector<Query> queries;
    bool dropped = false;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      Candidate& candidate = candidates_[c];
      const std::uint64_t value = unrolled_.thresholds()[candidate.threshold].value;
      const std::size_t pairs = candidate.before.size() * (early[c].now.size() + early[c].next.size());
      std::erase_if(candidate.before, [&](std::uint32_t raise) {
        if (early[c].next.empty() && early[c].sum - step(raise).amount < value) return false;
        if (pairs > kMaxPairs) return dropped = true;
        doubts.push_back({c, raise, queries.size()});
        const Node from = unrolled_.node(raise, 0);
        for (const std::uint32_t y : early[c].now) queries.push_back({from, unrolled_.node(y, 0), false});
        for (const std::uint32_t y : early[c].next) queries.push_back({from, unrolled_.node(y, 1), false});
        return false;
      });
    }
    order.answer(queries);
    for (const Doubt& doubt : doubts) {
      if (justified(early[doubt.candidate], std::span(queries).subspan(doubt.first_query),
                    unrolled_.thresholds()[candidates_[doubt.candidate].threshold].value)) {
        continue;
      }
      std::erase(candidates_[doubt.candidate].before, doubt.raise);
      dropped = true;
    }
    return dropped;
  }

  std::vector<Early> find_early(const Reachability& order) const {
    // For each candidate: queries in the order of `now`, then `next`.
    std::vector<Query> queries;
    for (const Candidate& candidate : candidates_) {
      for (std::uint32_t k = 0; k < kIterations; ++k) {
        for (const std::uint32_t y : raises(candidate)) {
          queries.push_back({crossing(candidate), unrolled_.node(y, k), false});
        }
      }
    }
    order.answer(queries);
    std::vector<Early> early(candidates_.size());
    auto query = queries.begin();
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      for (const std::uint32_t y : raises(candidates_[c])) {
        if ((query++)->holds) continue;
        early[c].now.push_back(y);
        early[c].sum += step(y).amount;
      }
      for (const std::uint32_t y : raises(candidates_[c])) {
        if (!(query++)->holds) early[c].next.push_back(y);
      }
    }
    return early;
  }

  /// `after` says for all of early.now, then early.next, whether they come after the raise (or are the raise itself).
  bool justified(const Early& early, std::span<const Query> after, std::uint64_t value) const {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    for (const std::uint32_t y : early.now) {
      if (!after[i++].holds) sum += step(y).amount;
    }
    for (std::size_t n = 0; n < early.next.size(); ++n) {
      if (!after[i++].holds) return false;
    }
    return sum < value;
  }

  const Unrolled& unrolled_;
  const Execution& execution_;
  std::vector<Edge> edges_;     // plain ones, and those of signals raised by only one queue
  std::vector<Raises> raises_;  // by signal: its raise steps, queue by queue
  std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Reachability> order_with_crossings(const Unrolled& unrolled, const Execution& execution,
                                                   std::vector<Edge> plain) {
  return Derivation(unrolled, execution, std::move(plain)).run();
}

}  // namespace cortado::verifier
