#include "verify/crossing_edges.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace cortado::verifier {
namespace {

/// A signal with more pairs of raises than this is not examined pair by pair; fewer orderings are then derived from its
/// raises than would hold.
constexpr std::size_t kMaxPairs = 1U << 22;

/// Raise steps of a signal, queue by queue.
using Raises = std::span<const std::uint32_t>;

/// A crossing of a signal that several queues raise, and the raise steps still assumed to come before it.
struct Candidate {
  std::uint32_t threshold = 0;
  std::vector<std::uint32_t> before;
};

class Derivation {
 public:
  Derivation(const Unrolled& unrolled, const Execution& execution, Edges plain)
      : unrolled_(unrolled), execution_(execution), edges_(std::move(plain)) {
    find_raises();
    for (std::uint32_t t = 0; t < unrolled.thresholds().size(); ++t) {
      const Raises all = raises(t);
      if (!all.empty() && !is_one_queue(all)) candidates_.push_back({t, came_before(t)});
    }
  }

  std::unique_ptr<Reachability> run() {
    while (true) {
      auto order = std::make_unique<Reachability>(unrolled_, execution_, all_edges());
      if (!drop_unjustified(*order)) return order;
    }
  }

 private:
  const Step& step(std::uint32_t index) const { return unrolled_.steps()[index]; }
  Node crossing(const Candidate& c) const { return unrolled_.crossing(c.threshold, 0); }
  bool came_first(Node first, Node second) const { return execution_.position[first] < execution_.position[second]; }
  Raises raises(std::uint32_t threshold) const {
    const std::uint32_t signal = unrolled_.thresholds()[threshold].signal.value;
    return {raises_.data() + first_raise_[signal], raises_.data() + first_raise_[signal + 1]};
  }
  /// Steps are stored chain by chain.
  bool is_one_queue(Raises all) const { return step(all.front()).chain == step(all.back()).chain; }

  void find_raises() {
    std::vector<std::uint32_t> behind(unrolled_.program().signals.size() + 2, 0);
    for (const Step& s : unrolled_.steps()) {
      if (s.kind == StepKind::raise) ++behind[s.target + 2];
    }
    for (std::size_t s = 1; s < behind.size(); ++s) behind[s] += behind[s - 1];
    raises_.resize(behind.back());
    for (std::uint32_t s = 0; s < unrolled_.steps().size(); ++s) {
      if (step(s).kind == StepKind::raise) raises_[behind[step(s).target + 1]++] = s;
    }
    first_raise_ = std::move(behind);
  }

  std::vector<std::uint32_t> came_before(std::uint32_t threshold) const {
    std::vector<std::uint32_t> before;
    for (const std::uint32_t raise : raises(threshold)) {
      const bool always = came_first(unrolled_.node(raise, 0), unrolled_.crossing(threshold, 0)) &&
                          came_first(unrolled_.node(raise, 1), unrolled_.crossing(threshold, 1));
      if (always) before.push_back(raise);
    }
    return before;
  }

  /// The plain ones and those of all crossings.
  Edges all_edges() const {
    Edges edges = edges_;
    auto candidate = candidates_.begin();
    for (std::uint32_t t = 0; t < unrolled_.thresholds().size(); ++t) {
      const Raises all = raises(t);
      if (candidate != candidates_.end() && candidate->threshold == t) {
        add_last_of_queues((candidate++)->before, edges);
      } else if (!all.empty()) {
        edges.neighbours.push_back(reaching(all, unrolled_.thresholds()[t].value));
      }
      edges.end_point();
    }
    return edges;
  }

  /// Of the ordered raises of one queue, the one that brings the counter up to the value.
  std::uint32_t reaching(Raises all, std::uint64_t value) const {
    std::uint64_t counter = 0;
    for (const std::uint32_t raise : all) {
      counter = step(raise).op == SignalOp::add ? counter + step(raise).amount : step(raise).amount;
      if (counter >= value) return raise;
    }
    return all.back();
  }

  /// Adding the last raise of each queue is enough: its earlier raises come before that one anyway.
  void add_last_of_queues(const std::vector<std::uint32_t>& before, Edges& edges) const {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool last = i + 1 == before.size() || step(before[i]).chain != step(before[i + 1]).chain;
      if (last) edges.neighbours.push_back(before[i]);
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
    bool dropped = false;
    for (Candidate& candidate : candidates_) {
      const Early early = find_early(candidate, order);
      const std::uint64_t value = unrolled_.thresholds()[candidate.threshold].value;
      const std::size_t pairs = candidate.before.size() * (early.now.size() + early.next.size());
      std::erase_if(candidate.before, [&](std::uint32_t raise) {
        // For raises that the sum alone does not justify, those that come after them must be subtracted.
        if (early.next.empty() && early.sum - step(raise).amount < value) return false;
        if (pairs <= kMaxPairs && is_justified(early, unrolled_.node(raise, 0), value, order)) return false;
        return dropped = true;
      });
    }
    return dropped;
  }

  Early find_early(const Candidate& candidate, const Reachability& order) const {
    Early early;
    for (const std::uint32_t y : raises(candidate.threshold)) {
      if (!order.reaches(crossing(candidate), unrolled_.node(y, 0))) {
        early.now.push_back(y);
        early.sum += step(y).amount;
      }
      if (!order.reaches(crossing(candidate), unrolled_.node(y, 1))) early.next.push_back(y);
    }
    return early;
  }

  /// Whether the counter stays below the value without the raise and those that come after it.
  bool is_justified(const Early& early, Node raise, std::uint64_t value, const Reachability& order) const {
    const auto comes_after = [&](std::uint32_t y, std::uint32_t k) {
      return order.reaches(raise, unrolled_.node(y, k));
    };
    if (!std::ranges::all_of(early.next, [&](std::uint32_t y) { return comes_after(y, 1); })) return false;
    std::uint64_t sum = 0;
    for (const std::uint32_t y : early.now) {
      if (!comes_after(y, 0)) sum += step(y).amount;
    }
    return sum < value;
  }

  const Unrolled& unrolled_;
  const Execution& execution_;
  Edges edges_;                             // plain ones
  std::vector<std::uint32_t> raises_;       // raise steps, signal by signal
  std::vector<std::uint32_t> first_raise_;  // by signal; at least one more entry than signals
  std::vector<Candidate> candidates_;       // by threshold
};

}  // namespace

std::unique_ptr<Reachability> order_with_crossings(const Unrolled& unrolled, const Execution& execution, Edges plain) {
  return Derivation(unrolled, execution, std::move(plain)).run();
}

}  // namespace cortado::verifier
