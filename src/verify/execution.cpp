#include "verify/execution.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "base/small_vector.hpp"

namespace cortado::verifier {
namespace {

class Runner {
 public:
  explicit Runner(const Unrolled& unrolled) : unrolled_(unrolled), program_(unrolled.program()) {
    const std::uint32_t queues = unrolled.chain_count();
    result_.total_steps = unrolled.step_nodes();
    result_.position.assign(unrolled.node_count(), Execution::kNever);
    result_.order.reserve(unrolled.node_count());
    result_.submits.assign(queues, 0);
    result_.counters.assign(program_.signals.size(), 0);
    result_.stands_at.resize(queues);
    for (std::uint32_t q = 0; q < queues; ++q) result_.stands_at[q] = unrolled.first_node(q);
    next_crossing_.resize(program_.signals.size());
    for (std::uint32_t s = 0; s < program_.signals.size(); ++s) next_crossing_[s].fill(unrolled.first_threshold(s));
    waiting_.resize(unrolled.node_count() - unrolled.step_nodes());
    missing_.resize(program_.trackers.size());
    for (std::uint32_t t = 0; t < missing_.size(); ++t) {
      missing_[t].fill(static_cast<std::uint32_t>(unrolled.updaters(t).size()));
    }
  }

  Execution run() {
    for (std::uint32_t q = 0; q < unrolled_.chain_count(); ++q) {
      if (unrolled_.is_kind(q, QueueKind::host)) ready_.push_back(q);
    }
    while (!ready_.empty()) {
      const std::uint32_t queue = ready_.front();
      ready_.pop_front();
      run_queue(queue);
    }
    return std::move(result_);
  }

 private:
  void run_queue(std::uint32_t queue) {
    Node& at = result_.stands_at[queue];
    const Node end = unrolled_.end_node(queue);
    const bool submitted = !unrolled_.is_tracker(queue) && !unrolled_.is_kind(queue, QueueKind::host);
    const bool tiles = unrolled_.is_tiles(queue);
    while (at < end) {
      const std::uint32_t iteration = unrolled_.iteration(at);
      if (submitted && result_.submits[queue] <= iteration) return;  // its Submit will make it ready
      if (tiles && !earlier_tiles_done(queue, iteration)) return;    // their end will make it ready
      if (!run_step(at, iteration)) return;
      ++at;
      if (tiles && (at == end || unrolled_.iteration(at) != iteration)) tiles_done(queue);
    }
  }

  bool earlier_tiles_done(std::uint32_t chain, std::uint32_t iteration) const {
    const auto before = unrolled_.tiles_before(chain);
    return !before || is_through(*before, iteration);
  }

  /// Whether the chain has finished the iteration.
  bool is_through(std::uint32_t chain, std::uint32_t iteration) const {
    const Node at = result_.stands_at[chain];
    return at == unrolled_.end_node(chain) || unrolled_.iteration(at) > iteration;
  }

  void tiles_done(std::uint32_t chain) {
    ready_.push_back(unrolled_.step(unrolled_.first_node(chain)).queue);
    const std::uint32_t next = chain + 1;
    if (next < unrolled_.chain_count() && unrolled_.tiles_before(next)) ready_.push_back(next);
  }

  bool run_step(Node node, std::uint32_t iteration) {
    const Step& step = unrolled_.step(node);
    if (step.kind == StepKind::wait) {
      const Node crossing = unrolled_.crossing(step.target, iteration);
      if (!result_.happened(crossing)) {
        waiting_[crossing - unrolled_.step_nodes()].push_back(step.chain);
        return false;
      }
    }
    if (step.kind == StepKind::join && !is_through(step.target, iteration)) return false;
    if (unrolled_.is_tracker(step.queue) && missing_[unrolled_.tracker(step.queue)][iteration] > 0) return false;
    happen(node);
    ++result_.complete_steps;
    for (const std::uint32_t tracker : unrolled_.updates(step).trackers) {
      if (--missing_[tracker][iteration] == 0) ready_.push_back(unrolled_.tracker_queue(tracker));
    }
    if (step.kind == StepKind::raise) raise(step, iteration);
    if (step.kind == StepKind::submit) {
      ++result_.submits[step.target];
      ready_.push_back(step.target);
    }
    return true;
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
        const Node crossing = unrolled_.crossing(next, k);
        happen(crossing);
        auto& queues = waiting_[crossing - unrolled_.step_nodes()];
        ready_.insert(ready_.end(), queues.begin(), queues.end());
        queues.clear();
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
  std::deque<std::uint32_t> ready_;
  std::vector<std::array<std::uint32_t, kIterations>> next_crossing_;  // by signal, for each iteration
  std::vector<SmallVector<std::uint32_t, 2>> waiting_;                 // queues held by a crossing
  std::vector<std::array<std::uint32_t, kIterations>> missing_;        // by tracker: steps that have yet to update it
};

}  // namespace

Execution execute(const Unrolled& unrolled) {
  return Runner(unrolled).run();
}

}  // namespace cortado::verifier
