// Two consecutive iterations of a program as a graph of steps.
//
// A step is a command, or a part of one: a Gemm that raises signals becomes a sequence of tile groups with a raise
// after each. The caller (rule 4 of cortado/program.hpp) is one step before the first command of its host queue and
// one after the last. A tracker (rule 7) is a queue of its own, numbered after those of the program, with one step:
// its raise, which happens once all its updates have arrived. Tiles that wait start in any order that their waits
// allow, so each group of tiles of such a Gemm is a chain of its own, numbered after those of the trackers: the waits
// of the group and its work. The queue of the Gemm submits all of them, joins them in production order, and raises
// tile signals in between. Two iterations are enough: whatever orders a step before one of the next iteration orders
// it before the same step of all later ones, because a queue starts its commands in order.
//
// A wait for 0 is over when the previous iteration has brought the counter to where this one starts. At the start of a
// dma queue, it is the same as a wait for all that an iteration adds at the end of the queue: the commands of an
// iteration directly follow those of the one before, and in the first iteration nothing waits. So it is a step there.
//
// A point is a step or, numbered behind all steps, a threshold: a value v of a signal s that is waited for. A node is a
// point in an iteration k, and has the number k * points + point. The node of a threshold is a crossing, "the counter
// of signal s has reached k*D(s) + v", which lies between the raises that cause it and the waits that it releases. The
// points of a queue are consecutive, and so are the thresholds of a signal: in such a chain, nodes happen in the order
// of their numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "ir/visit.hpp"
#include "verify/callers.hpp"
#include "verify/tile_groups.hpp"

namespace cortado::verifier {

using Node = std::uint32_t;
inline constexpr Node kNoNode = ~0U;
inline constexpr std::uint32_t kIterations = 2;

enum class StepKind : std::uint8_t {
  work,
  wait,
  raise,
  submit,
  join,  ///< waits until a group of tiles has finished
  stamp,
  caller_fill,
  caller_read
};

struct Step {
  StepKind kind = StepKind::work;
  SignalOp op = SignalOp::add;  ///< of a raise
  std::uint32_t queue = 0;      ///< numbers beyond those of the program's queues are trackers
  std::uint32_t chain = 0;      ///< the queue, or the chain of a group of tiles
  std::uint32_t command = 0;    ///< index in the queue; meaningless for the caller's and the trackers' steps
  std::uint32_t part = 0;       ///< of a Gemm: index of the tile group
  std::uint32_t target = 0;     ///< wait: threshold; raise: signal; submit, join: chain
  std::uint64_t amount = 0;     ///< raise: what it adds or sets
};

/// A value of a signal that some wait needs, relative to the start of the iteration; never 0.
struct Threshold {
  SignalId signal;
  std::uint64_t value = 0;
};

/// How many waits the dma queue starts with; 0 for other queues. Those for 0 become steps at its end. They may stand
/// behind others: a queue that waits for several counters, each of which only grows, may do so in any order.
std::size_t first_waits(const Queue& queue);

class Unrolled {
 public:
  explicit Unrolled(const Program& program);

  const Program& program() const { return program_; }

  // Steps of one iteration, chain by chain.
  const std::vector<Step>& steps() const { return steps_; }
  std::uint32_t first_step(std::uint32_t chain) const { return first_step_[chain]; }
  std::uint32_t step_count(std::uint32_t chain) const { return first_step_[chain + 1] - first_step_[chain]; }
  /// Queues, trackers and groups of tiles.
  std::uint32_t chain_count() const { return first_tile_chain() + static_cast<std::uint32_t>(tile_chains_.size()); }
  bool is_tracker(std::uint32_t chain) const { return chain >= program_.queues.size() && !is_tiles(chain); }
  bool is_tiles(std::uint32_t chain) const { return chain >= first_tile_chain(); }
  bool is_kind(std::uint32_t chain, QueueKind kind) const {
    return chain < program_.queues.size() && program_.queues[chain].kind == kind;
  }
  /// The group of tiles before this one in the production order of the same Gemm.
  std::optional<std::uint32_t> tiles_before(std::uint32_t chain) const {
    if (tile_chains_[chain - first_tile_chain()].part == 0) return std::nullopt;
    return chain - 1;
  }

  /// Of a work step of a Gemm: the tiles that it makes.
  TileRange tiles(const Step& step, const Gemm& gemm) const {
    return is_tiles(step.chain) ? tile_ranges_[step.chain - first_tile_chain()] : tile_group(gemm, step.part);
  }

  std::uint32_t points() const { return points_; }
  std::uint32_t node_count() const { return kIterations * points_; }
  std::uint32_t point(Node node) const { return node < points_ ? node : node - points_; }
  std::uint32_t iteration(Node node) const { return node < points_ ? 0 : 1; }
  Node node(std::uint32_t point, std::uint32_t iteration) const { return iteration * points_ + point; }
  const Step& step(Node node) const { return steps_[point(node)]; }
  bool is_step(Node node) const { return point(node) < steps_.size(); }

  /// The chain node from which on the step's bytes are final: usually the step itself; for a copy of a dma queue, the
  /// next Signal or Timestamp of the queue; for tiles of a Gemm with an output map, the raise after them or what
  /// follows the Gemm. kNoNode if there is none in these two iterations.
  Node completion(Node node) const {
    const Node of_first = completion_[point(node)];
    if (iteration(node) == 0) return of_first;
    return of_first < points_ ? of_first + points_ : kNoNode;
  }

  // Trackers.
  std::uint32_t tracker(std::uint32_t queue) const {
    return queue - static_cast<std::uint32_t>(program_.queues.size());
  }
  std::uint32_t tracker_queue(std::uint32_t tracker) const {
    return tracker + static_cast<std::uint32_t>(program_.queues.size());
  }
  /// The raise of a tracker: all its updates of the iteration have arrived.
  Node fired(std::uint32_t tracker, std::uint32_t iteration) const {
    return node(first_step_[tracker_queue(tracker)], iteration);
  }
  /// True if the writes of this step are updates of the tracked bytes that they touch.
  bool is_update(const Step& step) const;
  struct Updates {
    std::vector<std::uint32_t> trackers{};  ///< that the step updates, ascending
    bool all_tracked = false;               ///< every byte that the step writes is tracked
  };
  const Updates& updates(const Step& step) const { return updates_[updates_.size() > 1 ? step_index(step) : 0]; }
  /// The steps that update a tracker.
  const std::vector<std::uint32_t>& updaters(std::uint32_t tracker) const { return updaters_[tracker]; }

  // Crossings.
  const std::vector<Threshold>& thresholds() const { return thresholds_; }
  std::uint32_t first_threshold(std::uint32_t signal) const { return first_threshold_[signal]; }
  Node crossing(std::uint32_t threshold, std::uint32_t iteration) const {
    return node(static_cast<std::uint32_t>(steps_.size()) + threshold, iteration);
  }
  /// D(s) for every signal.
  const std::vector<std::uint64_t>& advances() const { return advances_; }

  std::size_t step_index(const Step& step) const { return static_cast<std::size_t>(&step - steps_.data()); }

  /// Who takes the step: "rank 0, queue dma0.14, command 2" or a tracker; and the place that errors point to.
  std::string who(const Step& step) const;
  Place place(const Step& step) const;

  /// True for a step at the end of its queue that is a wait at the start of the next iteration.
  bool is_of_next_iteration(const Step& step) const;

  /// What a step reads and writes.
  Accesses accesses(const Step& step) const;
  /// The same one by one: visit(const Region&, AccessKind).
  template <class Visitor>
  void for_each_access(const Step& step, Visitor&& visit) const {
    if (step.kind == StepKind::work && is_whole(step)) {
      cortado::for_each_access(program_.queues[step.queue].commands[step.command], visit);
    } else if (step.kind == StepKind::work) {
      for (const Access& access : part_accesses(step)) visit(access.region, access.kind);
    } else if (step.kind == StepKind::caller_fill) {
      for (const Region& region : callers_[step.queue].inputs) visit(region, AccessKind::write);
    } else if (step.kind == StepKind::caller_read) {
      for (const Region& region : callers_[step.queue].outputs) visit(region, AccessKind::read);
    }
  }

 private:
  void find_thresholds();
  void add_queue(std::uint32_t queue);
  void add_gemm(Step step, const Gemm& gemm);
  void add_waiting_gemm(Step step, const Gemm& gemm);
  void add_trackers();
  void add_tile_chains();
  std::uint32_t threshold_of(SignalId signal, std::uint64_t value) const;
  std::uint32_t first_tile_chain() const {
    return static_cast<std::uint32_t>(program_.queues.size() + program_.trackers.size());
  }
  void find_updates();
  void find_completions();
  /// Whether a work step touches all that its command names.
  bool is_whole(const Step& step) const;
  Accesses part_accesses(const Step& step) const;

  const Program& program_;
  std::vector<std::uint64_t> advances_;
  std::vector<CallerRegions> callers_;          // by queue
  std::vector<Threshold> thresholds_;           // by signal, then value
  std::vector<std::uint32_t> first_threshold_;  // by signal; one more entry than signals
  std::vector<Step> steps_;
  std::vector<Step> tile_chains_;          // the work step of each
  std::vector<TileRange> tile_ranges_;     // its tiles
  std::vector<std::uint32_t> first_step_;  // by chain; one more entry than chains
  std::uint32_t points_ = 0;
  std::vector<Node> completion_;                      // by step, of the first iteration
  std::vector<Updates> updates_;                      // by step; a single entry for all if there are no trackers
  std::vector<std::vector<std::uint32_t>> updaters_;  // by tracker
};

}  // namespace cortado::verifier
