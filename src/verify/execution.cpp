#include "verify/execution.hpp"

#include <algorithm>
#include <array>

namespace cortado::verifier {
namespace {

class Runner {
 public:
  explicit Runner(const Unrolled& unrolled) : unrolled_(unrolled), program_(unrolled.program()) {
    const std::uint32_t chains = unrolled.chain_count();
    result_.total_steps = kIterations * static_cast<std::uint32_t>(unrolled.steps().size());
    result_.position.assign(unrolled.node_count(), Execution::kNever);
    result_.order.reserve(unrolled.node_count());
    result_.submits.assign(chains, 0);
    result_.counters.assign(program_.signals.size(), 0);
    result_.stands_at.resize(chains);
    for (std::uint32_t c = 0; c < chains; ++c) {
      result_.stands_at[c] = unrolled.step_count(c) == 0 ? kNoNode : unrolled.node(unrolled.first_step(c), 0);
    }
    next_crossing_.resize(program_.signals.size());
    for (std::uint32_t s = 0; s < program_.signals.size(); ++s) next_crossing_[s].fill(unrolled.first_threshold(s));
    waiting_.resize(kIterations * unrolled.thresholds().size());
    missing_.resize(program_.trackers.size());
    for (std::uint32_t t = 0; t < missing_.size(); ++t) {
      missing_[t].fill(static_cast<std::uint32_t>(unrolled.updaters(t).size()));
    }
  }

  Execution run() {
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
      if (unrolled_.is_kind(q, QueueKind::host)) ready_.push_back(q);
    }
    for (std::size_t i = 0; i < ready_.size(); ++i) run_chain(ready_[i]);
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  void run_chain(std::uint32_t chain) {
    Node& at = result_.stands_at[chain];
    const bool submitted = !unrolled_.is_tracker(chain) && !unrolled_.is_kind(chain, QueueKind::host);
    const bool tiles = unrolled_.is_tiles(chain);
    while (at != kNoNode) {
      const std::uint32_t iteration = unrolled_.iteration(at);
      if (submitted && result_.submits[chain] <= iteration) return;  // its Submit will make it ready
      if (tiles && !earlier_tiles_done(chain, iteration)) return;    // their end will make it ready
      const Node first = unrolled_.node(unrolled_.first_step(chain), iteration);
      for (const Node end = first + unrolled_.step_count(chain); at < end; ++at) {
        if (!run_step(at, iteration)) return;
      }
      at = iteration + 1 < kIterations ? first + unrolled_.points() : kNoNode;
      if (tiles) tiles_done(chain);
    }
  }

  bool earlier_tiles_done(std::uint32_t chain, std::uint32_t iteration) const {
    const auto before = unrolled_.tiles_before(chain);
    return !before || is_through(*before, iteration);
  }

  /// Whether the chain has finished the iteration.
  bool is_through(std::uint32_t chain, std::uint32_t iteration) const {
    const Node at = result_.stands_at[chain];
    return at == kNoNode || unrolled_.iteration(at) > iteration;
  }

  void tiles_done(std::uint32_t chain) {
    ready_.push_back(unrolled_.steps()[unrolled_.first_step(chain)].queue);
    const std::uint32_t next = chain + 1;
    if (next < unrolled_.chain_count() && unrolled_.tiles_before(next)) ready_.push_back(next);
  }

  bool run_step(Node node, std::uint32_t iteration) {
    const Step& step = unrolled_.step(node);
    if (step.kind == StepKind::wait && !result_.happened(unrolled_.crossing(step.target, iteration))) {
      wait(step, iteration);
      return false;
    }
    if (step.kind == StepKind::join && !is_through(step.target, iteration)) return false;
    if (!missing_.empty() && unrolled_.is_tracker(step.queue) &&
        missing_[unrolled_.tracker(step.queue)][iteration] > 0) {
      return false;
    }
    happen(node);
    ++result_.complete_steps;
    if (!missing_.empty()) {
      for (const std::uint32_t tracker : unrolled_.updates(step).trackers) {
        if (--missing_[tracker][iteration] == 0) ready_.push_back(unrolled_.tracker_queue(tracker));
      }
    }
    if (step.kind == StepKind::raise) raise(step, iteration);
    if (step.kind == StepKind::submit) {
      ++result_.submits[step.target];
      ready_.push_back(step.target);
    }
    return true;
  }

  /// A list of chains in waiters_.
  struct Waiting {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  struct Waiter {
    std::uint32_t chain = 0;
    std::uint32_t next = kNone;
  };

  Waiting& waiting(std::uint32_t threshold, std::uint32_t iteration) {
    return waiting_[kIterations * threshold + iteration];
  }

  void wait(const Step& step, std::uint32_t iteration) {
    auto& [first, last] = waiting(step.target, iteration);
    const auto added = static_cast<std::uint32_t>(waiters_.size());
    waiters_.push_back({step.chain, kNone});
    (first == kNone ? first : waiters_[last].next) = added;
    last = added;
  }

  void raise(const Step& step, std::uint32_t iteration) {
    const std::uint64_t advance = unrolled_.advances()[step.target];
    std::uint64_t& counter = result_.counters[step.target];
    if (step.op == SignalOp::add) {
      counter += step.amount;
    } else {
      counter = std::max(counter, iteration * advance + step.amount);
    }
    for (std::uint32_t k = 0; k < kIterations; ++k) {
      std::uint32_t& next = next_crossing_[step.target][k];
      const std::uint32_t end = unrolled_.first_threshold(step.target + 1);
      for (; next < end && counter >= k * advance + unrolled_.thresholds()[next].value; ++next) {
        happen(unrolled_.crossing(next, k));
        for (std::uint32_t w = waiting(next, k).first; w != kNone; w = waiters_[w].next) {
          ready_.push_back(waiters_[w].chain);
        }
      }
    }
  }

  void happen(Node node) {
    result_.position[node] = static_cast<std::uint32_t>(result_.order.size());
    result_.order.push_back(node);
  }

  const Unrolled& unrolled_;
  const Program& program_;
  Execution result_;
  std::vector<std::uint32_t> ready_;                                   // chains, in the order of their turns
  std::vector<std::array<std::uint32_t, kIterations>> next_crossing_;  // by signal, for each iteration
  std::vector<Waiting> waiting_;                                       // by threshold and iteration
  std::vector<Waiter> waiters_;
  std::vector<std::array<std::uint32_t, kIterations>> missing_;  // by tracker: steps that have yet to update it
};

}  // namespace

Execution execute(const Unrolled& unrolled) {
  return Runner(unrolled).run();
}

}  // namespace cortado::verifier
