// verify.race: two accesses to the same bytes, at least one of them a write, must be ordered.
//
// The steps are visited in the order of one execution. For every byte, the last write and the reads since then are
// kept; a new access is compared only with those. That is enough: if all compared pairs are ordered, so are all pairs,
// because order is transitive. Two steps of the second iteration are ordered if the same steps are in the first, since
// both iterations have the same graph. Where a step of a host separates the iterations, as barriers do, the second one
// is not examined any further: of what comes before that step, only the callers' new inputs can collide with what the
// first iteration still uses. If there is a race, everything is examined again in the order of the execution, which is
// how it is reported.
//
// Updates of tracked bytes with op add are not compared with those of the same iteration: together they are one write,
// and each of them is compared with what came before the first. Once the tracker has fired, its raise stands for the
// write: updates of the next iteration must come after it, or the tracker would count them for this one; anything else
// must come after it or after every single update.
#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/small_vector.hpp"
#include "verify/execution.hpp"
#include "verify/happens_before.hpp"
#include "verify/interval_map.hpp"
#include "verify/naming.hpp"
#include "verify/node_pool.hpp"
#include "verify/region_owners.hpp"
#include "verify/regions.hpp"
#include "verify/rule.hpp"
#include "verify/strips.hpp"

namespace cortado::verifier {
namespace {

/// Lists of nodes that only grow. Those that begin alike share memory.
class NodeLists {
 public:
  using List = std::uint32_t;
  static constexpr List kEmpty = ~0U;

  /// Always the same list as long as the node is the same.
  List only(Node node) {
    if (only_ == kEmpty || links_[only_].node != node) only_ = add({node, kEmpty});
    return only_;
  }

  List plus(List list, Node node) { return list == kEmpty ? only(node) : add({node, list}); }

  Node last(List list) const { return links_[list].node; }

  /// Calls visit(node) from the first one to the last.
  template <class Visitor>
  void for_each(List list, Visitor&& visit) {
    if (list == kEmpty) return;
    if (links_[list].before == kEmpty) return visit(links_[list].node);
    const std::size_t begin = path_.size();
    for (; list != kEmpty; list = links_[list].before) path_.push_back(links_[list].node);
    for (std::size_t i = path_.size(); i-- > begin;) visit(path_[i]);
    path_.resize(begin);
  }

 private:
  struct Link {
    Node node = kNoNode;
    List before = kEmpty;
  };

  List add(Link link) {
    links_.push_back(link);
    return static_cast<List>(links_.size() - 1);
  }

  std::vector<Link> links_;
  List only_ = kEmpty;
  std::vector<Node> path_;  // of for_each
};

/// Who last touched some bytes.
struct Touched {
  using List = NodeLists::List;
  List writes = NodeLists::kEmpty;  // several: updates that need no order among themselves; or a tracker that has fired
  List writes_before = NodeLists::kEmpty;  // what the updates in `writes` must come after
  List reads_before = NodeLists::kEmpty;
  SmallVector<Node, 4> reads{};

  const Touched& advanced_by(std::uint64_t) const { return *this; }
  bool continues(const Touched& other, std::uint64_t) const {
    return writes == other.writes && reads == other.reads && writes_before == other.writes_before &&
           reads_before == other.reads_before;
  }
};

/// Two accesses that must be ordered; `first` came first in the execution.
struct Conflict {
  Node first = kNoNode;
  Node second = kNoNode;
  BufferId buffer;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t tracker = kNoOwner;  // of these bytes
  bool written = false;              // by the first
  bool overwritten = false;          // by the second
};

/// Finds the conflicts whose accesses are not ordered.
class ConflictFinder {
 public:
  ConflictFinder(const Unrolled& unrolled, const HappensBefore& order)
      : unrolled_(unrolled), order_(order), owners_(find_accesses()) {
    touched_.resize(owners_.buffers());
    for (std::uint32_t b = 0; b < touched_.size(); ++b)
      touched_[b].assign(owners_.strips({b}).count(), IntervalMap<Touched>(&pool_));
  }

  std::vector<Conflict> of_both_iterations(const Execution& execution) && {
    for (const Node node : execution.order) {
      if (unrolled_.is_step(node)) touch(node);
    }
    return std::move(conflicts_);
  }

  /// Conflicts within the first iteration, and between it and the callers' inputs of the second.
  std::vector<Conflict> of_first_iteration(const Execution& execution) && {
    std::vector<Node> new_inputs;
    for (const Node node : execution.order) {
      if (!unrolled_.is_step(node)) continue;
      if (unrolled_.iteration(node) == 0) {
        touch(node);
      } else if (unrolled_.step(node).kind == StepKind::caller_fill) {
        new_inputs.push_back(node);
      }
    }
    for (const Node node : new_inputs) touch(node);
    return std::move(conflicts_);
  }

 private:
  void touch(Node node) {
    const std::uint32_t step = unrolled_.point(node);
    const std::uint32_t begin = first_access_[step];
    const std::uint32_t end = first_access_[step + 1];
    bool update = false;
    if (!unrolled_.program().trackers.empty()) {
      const std::uint32_t queue = unrolled_.steps()[step].queue;
      if (unrolled_.is_tracker(queue)) return fire(node, unrolled_.tracker(queue));
      update = unrolled_.is_update(unrolled_.steps()[step]);
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      if (kinds_[i] != AccessKind::write) read(node, regions_[i], update && kinds_[i] == AccessKind::read_write);
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      if (kinds_[i] != AccessKind::read) write(node, regions_[i], update && kinds_[i] == AccessKind::read_write);
    }
  }

  RegionOwners find_accesses() {
    std::vector<Region> tracked;
    for (const Tracker& tracker : unrolled_.program().trackers) tracked.push_back(tracker.region);
    first_access_.reserve(unrolled_.steps().size() + 1);
    const auto likely =
        2 * static_cast<std::size_t>(std::ranges::count(unrolled_.steps(), StepKind::work, &Step::kind));
    regions_.reserve(likely);
    kinds_.reserve(likely);
    for (const Step& step : unrolled_.steps()) {
      first_access_.push_back(static_cast<std::uint32_t>(regions_.size()));
      unrolled_.for_each_access(step, [&](const Region& region, AccessKind kind) {
        regions_.push_back(region);
        kinds_.push_back(kind);
      });
    }
    first_access_.push_back(static_cast<std::uint32_t>(regions_.size()));
    return {tracked, regions_};
  }

  /// `adds`: this is the read half of an update, which does not count on tracked bytes.
  void read(Node node, const Region& region, bool adds) {
    owners_.visit(region, [&](const Strips::Cell& cell, std::uint32_t tracker) {
      if (adds && tracker != kNoOwner) return;
      const Second second{node, tracker, true, false};
      auto& map = touched_[region.buffer.value][cell.strip];
      map.update(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, Touched& touched) {
        compare(touched.writes, second, region.buffer, {cell.strip, begin, end});
        add_read(touched.reads, node);
      });
    });
  }

  /// `adds`: this is an update that adds; it matters on tracked bytes only.
  void write(Node node, const Region& region, bool adds) {
    owners_.visit(region, [&](const Strips::Cell& cell, std::uint32_t tracker) {
      auto& map = touched_[region.buffer.value][cell.strip];
      const Second overwrites{node, tracker, true, true};
      const Second after_read{node, tracker, false, true};
      if (!adds || tracker == kNoOwner) {
        const auto compare_all = [&](std::uint64_t begin, std::uint64_t end, const Touched* touched) {
          if (touched == nullptr) return;
          const Strips::Cell part{cell.strip, begin, end};
          compare(touched->writes, overwrites, region.buffer, part);
          for (const Node other : last_reads(touched->reads)) compare_one(other, after_read, region.buffer, part);
        };
        map.replace(cell.begin, cell.end, Touched{lists_.only(node)}, compare_all);
        return;
      }
      map.update(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, Touched& touched) {
        const Strips::Cell part{cell.strip, begin, end};
        const bool joins = is_same_write(touched, node);
        compare(joins ? touched.writes_before : touched.writes, overwrites, region.buffer, part);
        const std::span<const Node> reads = last_reads(touched.reads);
        for (const Node other : reads) compare_one(other, after_read, region.buffer, part);
        if (joins) {
          compare(touched.reads_before, after_read, region.buffer, part);
        } else {
          touched.writes_before = std::exchange(touched.writes, NodeLists::kEmpty);
          touched.reads_before = NodeLists::kEmpty;
        }
        for (const Node other : reads) touched.reads_before = lists_.plus(touched.reads_before, other);
        touched.reads.clear();
        touched.writes = lists_.plus(touched.writes, node);
      });
    });
  }

  /// All updates have arrived: from here on the tracker stands for them.
  void fire(Node node, std::uint32_t tracker) {
    const Region& region = unrolled_.program().trackers[tracker].region;
    owners_.visit(region, [&](const Strips::Cell& cell, std::uint32_t) {
      auto& map = touched_[region.buffer.value][cell.strip];
      map.update(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, Touched& touched) {
        lists_.for_each(touched.writes, [&](Node update) {
          if (unrolled_.iteration(update) <= unrolled_.iteration(node)) return;
          // An update of the next iteration that came too early.
          compare_one(node, {update, tracker, true, true}, region.buffer, {cell.strip, begin, end});
        });
        touched.writes = lists_.only(node);
        touched.writes_before = NodeLists::kEmpty;
        touched.reads_before = NodeLists::kEmpty;
      });
    });
  }

  /// Whether the last write consists of updates of this iteration, under a tracker that has not fired.
  bool is_same_write(const Touched& touched, Node node) const {
    if (touched.writes == NodeLists::kEmpty) return false;
    const Node write = lists_.last(touched.writes);  // all of them are of one kind
    return !unrolled_.is_tracker(unrolled_.step(write).queue) &&
           unrolled_.iteration(write) == unrolled_.iteration(node);
  }

  /// The second of two accesses, and what both do.
  struct Second {
    Node node = kNoNode;
    std::uint32_t tracker = kNoOwner;
    bool written = false;
    bool overwritten = false;
    friend bool operator==(const Second&, const Second&) = default;
  };

  void compare(Touched::List others, const Second& second, BufferId buffer, const Strips::Cell& cell) {
    lists_.for_each(others, [&](Node other) { compare_one(other, second, buffer, cell); });
  }

  void compare_one(Node first, const Second& second, BufferId buffer, const Strips::Cell& cell) {
    if (first == second.node) return;
    if (unrolled_.iteration(first) > 0 && unrolled_.iteration(second.node) > 0) return;
    const bool again = first == last_.first && second == last_.second && buffer == last_.buffer;
    if (again && last_.ordered) return;
    if (!again) last_ = {first, second, buffer, order_.finished_before(first, second.node)};
    if (last_.ordered) return;
    const auto run = owners_.strips(buffer).first_run(cell);
    if (!again) {
      const auto& [node, tracker, written, overwritten] = second;
      conflicts_.push_back({first, node, buffer, run.first, run.second, tracker, written, overwritten});
    } else if (conflicts_.back().end == run.first) {
      conflicts_.back().end = run.second;  // adjacent pieces touched by the same two steps are one conflict
    }
  }

  using Reads = decltype(Touched::reads);

  // Only the last read of a chain counts, and those that may not have finished before it. The others are dropped at
  // once while there are few reads. Of many, as with hundreds of ranks, they are dropped now and then, and before reads
  // are compared: the time for looking at all of them at each new one grows with the square of the ranks.
  static constexpr std::size_t kFewReads = 16;

  void add_read(Reads& reads, Node node) {
    if (reads.size() < kFewReads) {
      erase_if(reads, [&](Node other) { return other == node || known_before(other, node); });
    } else if (reads.back() == node) {
      return;
    } else if (std::has_single_bit(reads.size())) {
      const std::span<const Node> last = last_reads(reads);
      std::ranges::copy(last, reads.begin());
      reads.truncate(last.size());
    }
    reads.push_back(node);
  }

  /// The reads that count, in their order. Valid until the next call.
  std::span<const Node> last_reads(const Reads& reads) {
    if (reads.size() < kFewReads) return {reads.begin(), reads.end()};
    last_of_chain_.resize(unrolled_.chain_count(), kNoNode);
    last_reads_.assign(reads.begin(), reads.end());
    for (auto read = last_reads_.rbegin(); read != last_reads_.rend(); ++read) {
      Node& last = last_of_chain_[unrolled_.step(*read).chain];
      if (last == kNoNode) {
        last = *read;
      } else if (unrolled_.completion(*read) <= last) {
        *read = kNoNode;
      }
    }
    std::erase(last_reads_, kNoNode);
    for (const Node read : reads) last_of_chain_[unrolled_.step(read).chain] = kNoNode;
    return last_reads_;
  }

  /// Order within one chain, which needs no search.
  bool known_before(Node first, Node second) const {
    return unrolled_.step(first).chain == unrolled_.step(second).chain && unrolled_.completion(first) <= second;
  }

  const Unrolled& unrolled_;
  const HappensBefore& order_;
  std::vector<Region> regions_;  // that steps access
  std::vector<AccessKind> kinds_;
  std::vector<std::uint32_t> first_access_;  // by step; one more entry than steps
  struct Last {
    Node first = kNoNode;
    Second second;
    BufferId buffer;
    bool ordered = false;
  };
  Last last_;  // two accesses compared
  std::vector<Conflict> conflicts_;
  RegionOwners owners_;  // trackers
  NodeLists lists_;
  std::vector<Node> last_reads_;                            // of last_reads
  std::vector<Node> last_of_chain_;                         // scratch space of last_reads
  NodePool pool_;                                           // of:
  std::vector<std::vector<IntervalMap<Touched>>> touched_;  // by buffer and strip
};

/// The order in which people think of two steps: the earlier iteration first; within one iteration, the caller's writes
/// first and its reads last. The execution may have seen them the other way round, as nothing orders them.
Conflict in_reading_order(const Unrolled& unrolled, Conflict race) {
  const auto key = [&](Node node) {
    const StepKind kind = unrolled.step(node).kind;
    const int place = kind == StepKind::caller_fill ? 0 : (kind == StepKind::caller_read ? 2 : 1);
    return std::pair(unrolled.iteration(node), place);
  };
  if (key(race.second) < key(race.first)) {
    std::swap(race.first, race.second);
    std::swap(race.written, race.overwritten);
  }
  return race;
}

/// A step that reads tracked bytes while updates of the iteration may be missing should have waited for the tracker:
/// that is reported as one race and not as one with every update.
Conflict with_tracker(const Unrolled& unrolled, Conflict race) {
  const std::uint32_t iteration = unrolled.iteration(race.first);
  const Node reader = race.overwritten ? race.first : race.second;
  const bool update_and_read = race.tracker != kNoOwner && race.written != race.overwritten &&
                               iteration == unrolled.iteration(race.second) &&
                               unrolled.step(reader).kind == StepKind::work;
  if (!update_and_read) return race;
  race.first = unrolled.fired(race.tracker, iteration);
  race.second = reader;
  race.written = true;
  race.overwritten = false;
  return race;
}

/// Another way to prove that the first is finished before the second: by the trackers of what the first has written.
bool is_proved_by_trackers(const Unrolled& unrolled, const HappensBefore& order, const Conflict& c) {
  const Step& first = unrolled.step(c.first);
  const std::uint32_t iteration = unrolled.iteration(c.first);
  const auto fired = [&](std::uint32_t tracker) {
    return order.starts_before(unrolled.fired(tracker, iteration), c.second);
  };
  if (unrolled.is_tracker(first.queue)) {
    const auto& updaters = unrolled.updaters(c.tracker);
    return !c.overwritten && !updaters.empty() && std::ranges::all_of(updaters, [&](std::uint32_t update) {
      return order.finished_before(unrolled.node(update, iteration), c.second);
    });
  }
  if (c.written && c.tracker != kNoOwner) return fired(c.tracker);
  // What it has read is written once all its trackers have fired.
  const auto& [trackers, all_tracked] = unrolled.updates(first);
  return all_tracked && !trackers.empty() && std::ranges::all_of(trackers, fired);
}

std::vector<Conflict> races(const Unrolled& unrolled, const HappensBefore& order, std::vector<Conflict> unordered) {
  std::erase_if(unordered, [&](const Conflict& c) { return is_proved_by_trackers(unrolled, order, c); });
  for (Conflict& race : unordered) race = with_tracker(unrolled, in_reading_order(unrolled, race));
  return unordered;
}

class RaceText {
 public:
  explicit RaceText(const Unrolled& unrolled) : unrolled_(unrolled), program_(unrolled.program()) {}

  void report(const Conflict& race, Findings& findings) const {
    const Step& first = unrolled_.step(race.first);
    const Step& second = unrolled_.step(race.second);
    const bool next = unrolled_.iteration(race.first) != unrolled_.iteration(race.second);
    const std::string bytes = byte_range(program_, race.buffer, race.begin, race.end);
    const std::uint32_t rank = program_.buffer(race.buffer).rank.value;
    const Place place = is_caller(first) ? unrolled_.place(second) : unrolled_.place(first);
    if (second.kind == StepKind::caller_fill) {
      findings.add(place,
                   fmt::format("the caller of rank {} may overwrite the input {} for the next iteration while {} still "
                               "uses it",
                               rank, bytes, described(first)),
                   "make the caller's host queue wait for a signal after this command");
    } else if (second.kind == StepKind::caller_read) {
      findings.add(place,
                   fmt::format("the caller of rank {} may read the output {} before {} has written it", rank, bytes,
                               described(first)),
                   "make the caller's host queue wait for a signal after this command");
    } else if (first.kind == StepKind::caller_read) {
      findings.add(place,
                   fmt::format("{}{} may overwrite the output {} while the caller of rank {} still reads it",
                               described(second), next ? " of the next iteration" : "", bytes, rank),
                   "make this queue wait until the caller's host queue has begun the next iteration");
    } else if (first.kind == StepKind::caller_fill) {
      findings.add(place,
                   fmt::format("{}{} may use the input {} before the caller of rank {} has written it",
                               described(second), next ? " of the next iteration" : "", bytes, rank),
                   "make the host queue of that rank submit or trigger this queue, or make this queue wait for a "
                   "signal from it");
    } else if (unrolled_.is_tracker(first.queue)) {
      report_tracked(race, bytes, findings);
    } else {
      findings.add(place,
                   fmt::format("{} and {}{} touch {} of rank {}, one of them writes, and nothing orders them",
                               described(first), described(second), next ? " of the next iteration" : "", bytes, rank),
                   race.tracker == kNoOwner ? "add a signal after the first and a wait before the second"
                                            : wait_for(race.tracker));
    }
  }

 private:
  static bool is_caller(const Step& step) {
    return step.kind == StepKind::caller_fill || step.kind == StepKind::caller_read;
  }

  /// The second access comes too early for the tracker that is the first.
  void report_tracked(const Conflict& race, const std::string& bytes, Findings& findings) const {
    const Step& second = unrolled_.step(race.second);
    const bool next = unrolled_.iteration(race.first) != unrolled_.iteration(race.second);
    findings.add(unrolled_.place(second),
                 fmt::format("{}{} may {} {} before {} has received all updates{}", described(second),
                             next ? " of the next iteration" : "", race.overwritten ? "update" : "read", bytes,
                             tracker_name(program_, race.tracker), next ? " of this one" : ""),
                 wait_for(race.tracker));
  }

  std::string wait_for(std::uint32_t tracker) const {
    return fmt::format("wait for {}, the signal of tracker {}",
                       program_.signals[program_.trackers[tracker].signal.value].name, program_.trackers[tracker].name);
  }

  std::string described(const Step& step) const {
    if (unrolled_.is_tracker(step.queue)) return unrolled_.who(step);
    return fmt::format("{} ({})", unrolled_.who(step),
                       to_string(program_, program_.queues[step.queue].commands[step.command]));
  }

  const Unrolled& unrolled_;
  const Program& program_;
};

/// Whether a step of the first host queue comes after everything that the first iteration does, and before everything
/// that the second one does except the callers' new inputs. Trackers, whose updates have an order of their own, are not
/// considered.
bool are_apart(const Unrolled& unrolled, const HappensBefore& order) {
  if (!unrolled.program().trackers.empty()) return false;
  std::vector<Node> last;   // of each chain, what finishes last in the first iteration
  std::vector<Node> first;  // and what starts first in the second
  for (std::uint32_t chain = 0; chain < unrolled.chain_count(); ++chain) {
    std::optional<Node> finished;
    Node started = kNoNode;
    const std::uint32_t begin = unrolled.first_step(chain);
    for (std::uint32_t s = begin; s < begin + unrolled.step_count(chain); ++s) {
      const StepKind kind = unrolled.steps()[s].kind;
      if (kind != StepKind::work && kind != StepKind::caller_fill && kind != StepKind::caller_read) continue;
      finished = std::max(finished.value_or(0), unrolled.completion(unrolled.node(s, 0)));
      if (kind != StepKind::caller_fill) started = std::min(started, unrolled.node(s, 1));
    }
    if (finished) last.push_back(*finished);
    if (started != kNoNode) first.push_back(started);
  }
  return order.separates(last, first);
}

}  // namespace

void check_race(Subject& subject, Findings& findings) {
  const Unrolled& unrolled = subject.unrolled();
  const HappensBefore& order = subject.happens_before();
  if (are_apart(unrolled, order) &&
      races(unrolled, order, ConflictFinder(unrolled, order).of_first_iteration(subject.execution())).empty()) {
    return;
  }
  std::vector<Conflict> found =
      races(unrolled, order, ConflictFinder(unrolled, order).of_both_iterations(subject.execution()));
  // A pair that races in the first iteration also does so in the second: report it once, and races within one iteration
  // first.
  const auto crosses = [&](const Conflict& race) {
    return unrolled.iteration(race.first) != unrolled.iteration(race.second);
  };
  std::ranges::stable_sort(found, {}, crosses);
  const RaceText text(unrolled);
  std::set<std::tuple<const Step*, const Step*, bool>> told;
  for (const Conflict& race : found) {
    if (findings.full()) return;
    const bool fresh = told.emplace(&unrolled.step(race.first), &unrolled.step(race.second), crosses(race)).second;
    if (fresh) text.report(race, findings);
  }
}

}  // namespace cortado::verifier
