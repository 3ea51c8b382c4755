// verify.race: two accesses to the same bytes, at least one of them a write, must be ordered.
//
// The steps are visited in the order of one execution. For every byte, the last write and the reads since then are
// kept; a new access is compared only with those. That is enough: if all compared pairs are ordered, so are all pairs,
// because order is transitive. The pairs are collected first and queried all at once. Two steps of the second iteration
// are ordered if the same steps are in the first, since both iterations have the same graph. Where a step of a host
// separates the iterations, as barriers do, the second one is not examined any further: of what comes before that step,
// only the callers' new inputs can collide with what the first iteration still uses. If there is a race, everything is
// examined again in the order of the execution, which is how it is reported.
//
// Updates of tracked bytes with op add are not compared with those of the same iteration: together they are one write,
// and each of them is compared with what came before the first. Once the tracker has fired, its raise stands for the
// write: updates of the next iteration must come after it, or the tracker would count them for this one; anything else
// must come after it or after every single update.
#include <algorithm>
#include <iterator>
#include <ranges>
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
#include "verify/region_owners.hpp"
#include "verify/regions.hpp"
#include "verify/rule.hpp"
#include "verify/strips.hpp"

namespace cortado::verifier {
namespace {

/// A step that has read some bytes, stored together with its chain: most readers are compared by chain only.
struct Reader {
  Node node = kNoNode;
  std::uint32_t chain = 0;
  friend bool operator==(const Reader&, const Reader&) = default;
};

auto nodes_of(const SmallVector<Reader, 1>& readers) {
  return std::views::transform(std::span(readers.begin(), readers.end()), &Reader::node);
}

/// Who last touched some bytes.
struct Touched {
  SmallVector<Node, 1>
      writes{};  // more than one: updates that need no order among themselves; or a tracker that has fired
  SmallVector<Reader, 1> reads{};
  std::vector<Node> writes_before{};  // what the updates in `writes` must come after
  std::vector<Node> reads_before{};

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

class ConflictFinder {
 public:
  explicit ConflictFinder(const Unrolled& unrolled) : unrolled_(unrolled), owners_(find_accesses()) {
    touched_.resize(owners_.buffers());
    for (std::uint32_t b = 0; b < touched_.size(); ++b) touched_[b].resize(owners_.strips({b}).count());
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
    const Step& step = unrolled_.step(node);
    if (unrolled_.is_tracker(step.queue)) return fire(node, unrolled_.tracker(step.queue));
    const std::size_t index = unrolled_.step_index(step);
    const std::span accesses(accesses_.data() + first_access_[index], accesses_.data() + first_access_[index + 1]);
    if (accesses.empty()) return;
    const bool update = !unrolled_.program().trackers.empty() && unrolled_.is_update(step);
    for (const Access& access : accesses) {
      if (access.kind != AccessKind::write) read(node, access.region, update && access.kind == AccessKind::read_write);
    }
    for (const Access& access : accesses) {
      if (access.kind != AccessKind::read) write(node, access.region, update && access.kind == AccessKind::read_write);
    }
  }

  RegionOwners find_accesses() {
    std::vector<Region> tracked;
    for (const Tracker& tracker : unrolled_.program().trackers) tracked.push_back(tracker.region);
    first_access_.reserve(unrolled_.steps().size() + 1);
    accesses_.reserve(2 * static_cast<std::size_t>(std::ranges::count(unrolled_.steps(), StepKind::work, &Step::kind)));
    for (const Step& step : unrolled_.steps()) {
      first_access_.push_back(static_cast<std::uint32_t>(accesses_.size()));
      std::ranges::copy(unrolled_.accesses(step), std::back_inserter(accesses_));
    }
    first_access_.push_back(static_cast<std::uint32_t>(accesses_.size()));
    std::vector<Region> touched;  // the others have one strip, whatever they are
    std::uint32_t buffers = 0;
    for (const auto& [region, kind] : accesses_) {
      if (region.buffer.value < buffers && joined(region).rows == 1) continue;
      buffers = std::max(buffers, region.buffer.value + 1);
      touched.push_back(region);
    }
    conflicts_.reserve(2 * accesses_.size());  // growing it would touch twice the memory
    return {tracked, touched};
  }

  /// `adds`: this is the read half of an update, which does not count on tracked bytes.
  void read(Node node, const Region& region, bool adds) {
    owners_.visit(region, [&](const Strips::Cell& cell, std::uint32_t tracker) {
      if (adds && tracker != kNoOwner) return;
      const std::uint32_t chain = unrolled_.step(node).chain;
      auto& map = touched_[region.buffer.value][cell.strip];
      map.update(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, Touched& touched) {
        compare(touched.writes, {node, tracker, true, false}, region.buffer, {cell.strip, begin, end});
        erase_if(touched.reads, [&](const Reader& other) {
          return other.chain == chain && (other.node == node || known_before(other.node, node));
        });
        touched.reads.push_back({node, chain});
      });
    });
  }

  /// `adds`: this is an update that adds; it matters on tracked bytes only.
  void write(Node node, const Region& region, bool adds) {
    owners_.visit(region, [&](const Strips::Cell& cell, std::uint32_t tracker) {
      auto& map = touched_[region.buffer.value][cell.strip];
      const bool may_join = adds && tracker != kNoOwner;
      map.visit(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, const Touched* touched) {
        if (touched == nullptr) return;
        const Strips::Cell part{cell.strip, begin, end};
        const bool joins = may_join && is_same_write(*touched, node);
        const Second overwrites{node, tracker, true, true};
        if (joins) {
          compare(touched->writes_before, overwrites, region.buffer, part);
        } else {
          compare(touched->writes, overwrites, region.buffer, part);
        }
        compare(nodes_of(touched->reads), {node, tracker, false, true}, region.buffer, part);
        if (joins) compare(touched->reads_before, {node, tracker, false, true}, region.buffer, part);
      });
      if (!may_join) {
        map.assign(cell.begin, cell.end, Touched{{node}});
        return;
      }
      map.update(cell.begin, cell.end, [&](std::uint64_t, std::uint64_t, Touched& touched) {
        if (!is_same_write(touched, node)) {
          touched.writes_before.assign(touched.writes.begin(), touched.writes.end());
          touched.writes.clear();
          touched.reads_before.clear();
        }
        std::ranges::copy(nodes_of(touched.reads), std::back_inserter(touched.reads_before));
        touched.reads.clear();
        touched.writes.push_back(node);
      });
    });
  }

  /// All updates have arrived: from here on the tracker stands for them.
  void fire(Node node, std::uint32_t tracker) {
    const Region& region = unrolled_.program().trackers[tracker].region;
    owners_.visit(region, [&](const Strips::Cell& cell, std::uint32_t) {
      auto& map = touched_[region.buffer.value][cell.strip];
      map.visit(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, const Touched* touched) {
        if (touched == nullptr) return;
        for (const Node update : touched->writes) {
          if (unrolled_.iteration(update) <= unrolled_.iteration(node)) continue;
          // An update of the next iteration that came too early.
          conflict(node, {update, tracker, true, true}, region.buffer, {cell.strip, begin, end});
        }
      });
      map.update(cell.begin, cell.end, [&](std::uint64_t, std::uint64_t, Touched& touched) {
        touched.writes = {node};
        touched.writes_before.clear();
        touched.reads_before.clear();
      });
    });
  }

  /// Whether the last write consists of updates of this iteration, under a tracker that has not fired.
  bool is_same_write(const Touched& touched, Node node) const {
    return !touched.writes.empty() && !unrolled_.is_tracker(unrolled_.step(touched.writes[0]).queue) &&
           unrolled_.iteration(touched.writes[0]) == unrolled_.iteration(node);
  }

  /// The second of two accesses, and what both do.
  struct Second {
    Node node = kNoNode;
    std::uint32_t tracker = kNoOwner;
    bool written = false;
    bool overwritten = false;
  };

  template <class Nodes>
  void compare(const Nodes& others, const Second& second, BufferId buffer, const Strips::Cell& cell) {
    for (const Node other : others) {
      if (other != second.node) conflict(other, second, buffer, cell);
    }
  }

  void conflict(Node first, const Second& second, BufferId buffer, const Strips::Cell& cell) {
    if (unrolled_.iteration(first) > 0 && unrolled_.iteration(second.node) > 0) return;
    const auto run = owners_.strips(buffer).first_run(cell);
    const auto& [node, tracker, written, overwritten] = second;
    if (!conflicts_.empty()) {
      // Adjacent pieces touched by the same two steps are one conflict.
      Conflict& last = conflicts_.back();
      if (last.first == first && last.second == node && last.buffer == buffer && last.tracker == tracker &&
          last.written == written && last.overwritten == overwritten) {
        if (last.end == run.first) last.end = run.second;
        return;
      }
    }
    conflicts_.push_back({first, node, buffer, run.first, run.second, tracker, written, overwritten});
  }

  /// Order within one chain, which needs no search.
  bool known_before(Node first, Node second) const {
    const Node done = unrolled_.completion(first);
    return done != kNoNode && done <= second;
  }

  const Unrolled& unrolled_;
  std::vector<Access> accesses_;             // of all steps
  std::vector<std::uint32_t> first_access_;  // by step; one more entry than steps
  std::vector<Conflict> conflicts_;
  RegionOwners owners_;                                     // trackers
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

/// Keeps the conflicts whose accesses are not ordered.
class OrderCheck {
 public:
  OrderCheck(const Unrolled& unrolled, const HappensBefore& order) : unrolled_(unrolled), order_(order) {}

  std::vector<Conflict> races(const std::vector<Conflict>& conflicts) const {
    std::vector<Query> queries;
    queries.reserve(conflicts.size());
    for (const Conflict& conflict : conflicts) {
      queries.push_back(order_.finished_before(conflict.first, conflict.second));
    }
    order_.answer(queries);
    std::vector<Conflict> doubtful;
    for (std::size_t i = 0; i < conflicts.size(); ++i) {
      if (!queries[i].holds) doubtful.push_back(conflicts[i]);
    }
    return without_proof_by_trackers(doubtful);
  }

 private:
  /// Another way to prove that the first is finished before the second: all of these queries must hold; empty if there
  /// is none.
  std::vector<Query> other_proof(const Conflict& c) const {
    const Step& first = unrolled_.step(c.first);
    const std::uint32_t iteration = unrolled_.iteration(c.first);
    std::vector<Query> queries;
    if (unrolled_.is_tracker(first.queue)) {
      if (c.overwritten) return {};
      for (const std::uint32_t update : unrolled_.updaters(c.tracker)) {
        queries.push_back(order_.finished_before(unrolled_.node(update, iteration), c.second));
      }
    } else if (c.written && c.tracker != kNoOwner) {
      queries.push_back({unrolled_.fired(c.tracker, iteration), c.second, false});
    } else if (unrolled_.updates(first).all_tracked) {
      // What it has read is written once all its trackers have fired.
      for (const std::uint32_t tracker : unrolled_.updates(first).trackers) {
        queries.push_back({unrolled_.fired(tracker, iteration), c.second, false});
      }
    }
    return queries;
  }

  std::vector<Conflict> without_proof_by_trackers(const std::vector<Conflict>& doubtful) const {
    std::vector<Query> queries;
    std::vector<std::size_t> ends;  // by conflict: end of its queries
    for (const Conflict& conflict : doubtful) {
      const std::vector<Query> proof = other_proof(conflict);
      queries.insert(queries.end(), proof.begin(), proof.end());
      ends.push_back(queries.size());
    }
    order_.answer(queries);
    std::vector<Conflict> races;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < doubtful.size(); begin = ends[i], ++i) {
      const std::span proof(queries.data() + begin, ends[i] - begin);
      const bool proved = !proof.empty() && std::ranges::all_of(proof, &Query::holds);
      if (!proved) races.push_back(with_tracker(unrolled_, in_reading_order(unrolled_, doubtful[i])));
    }
    return races;
  }

  const Unrolled& unrolled_;
  const HappensBefore& order_;
};

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
  const Program& program = unrolled.program();
  const auto host = std::ranges::find(program.queues, QueueKind::host, &Queue::kind);
  if (host == program.queues.end() || !program.trackers.empty()) return false;
  std::vector<Node> first;
  std::vector<Node> second;
  for (std::uint32_t s = 0; s < unrolled.steps().size(); ++s) {
    const StepKind kind = unrolled.steps()[s].kind;
    if (kind != StepKind::work && kind != StepKind::caller_fill && kind != StepKind::caller_read) continue;
    first.push_back(unrolled.node(s, 0));
    if (kind != StepKind::caller_fill) second.push_back(unrolled.node(s, 1));
  }
  return order.separates(static_cast<std::uint32_t>(host - program.queues.begin()), first, second);
}

}  // namespace

void check_race(Subject& subject, Findings& findings) {
  const Unrolled& unrolled = subject.unrolled();
  const HappensBefore& order = subject.happens_before();
  const OrderCheck check(unrolled, order);
  if (are_apart(unrolled, order) &&
      check.races(ConflictFinder(unrolled).of_first_iteration(subject.execution())).empty()) {
    return;
  }
  std::vector<Conflict> races = check.races(ConflictFinder(unrolled).of_both_iterations(subject.execution()));
  // A pair that races in the first iteration also does so in the second: report it once, and races within one iteration
  // first.
  const auto crosses = [&](const Conflict& race) {
    return unrolled.iteration(race.first) != unrolled.iteration(race.second);
  };
  std::ranges::stable_sort(races, {}, crosses);
  const RaceText text(unrolled);
  std::set<std::tuple<const Step*, const Step*, bool>> told;
  for (const Conflict& race : races) {
    if (findings.full()) return;
    const bool fresh = told.emplace(&unrolled.step(race.first), &unrolled.step(race.second), crosses(race)).second;
    if (fresh) text.report(race, findings);
  }
}

}  // namespace cortado::verifier
