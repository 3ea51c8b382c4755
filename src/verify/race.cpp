// verify.race: two accesses to the same bytes, one of them a write, must be ordered.
//
// The steps are visited in the order of one execution. For every byte the last write and the reads since then are kept;
// a new access is compared with those only. That is enough: if all compared pairs are ordered, so are all pairs,
// because order is transitive. The pairs are collected first and asked for all at once.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cortado/ir/text.hpp"

#include "verify/execution.hpp"
#include "verify/happens_before.hpp"
#include "verify/interval_map.hpp"
#include "verify/naming.hpp"
#include "verify/rule.hpp"
#include "verify/strips.hpp"

namespace cortado::verifier {
namespace {

/// Who touched some bytes last.
struct Touched {
  Node write = kNoNode;
  std::vector<Node> reads{};

  const Touched& advanced_by(std::uint64_t) const { return *this; }
  bool continues(const Touched& other, std::uint64_t) const { return write == other.write && reads == other.reads; }
};

/// Two accesses that must be ordered; `first` came first in the execution.
struct Conflict {
  Node first = kNoNode;
  Node second = kNoNode;
  BufferId buffer;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class ConflictFinder {
 public:
  explicit ConflictFinder(const Unrolled& unrolled) : unrolled_(unrolled) {
    const auto& buffers = unrolled.program().buffers;
    std::vector<std::vector<Region>> regions(buffers.size());
    accesses_.reserve(unrolled.steps().size());
    for (const Step& step : unrolled.steps()) {
      accesses_.push_back(unrolled.accesses(step));
      for (const Access& access : accesses_.back()) regions[access.region.buffer.value].push_back(access.region);
    }
    strips_.reserve(buffers.size());
    for (const auto& list : regions) strips_.emplace_back(list);
    touched_.resize(buffers.size());
    for (std::size_t b = 0; b < buffers.size(); ++b) touched_[b].resize(strips_[b].count());
  }

  std::vector<Conflict> run(const Execution& execution) {
    for (const Node node : execution.order) {
      if (!unrolled_.is_step(node)) continue;
      const auto& accesses = accesses_[step_index(node)];
      for (const Access& access : accesses) {
        if (access.kind != AccessKind::write) read(node, access.region);
      }
      for (const Access& access : accesses) {
        if (access.kind != AccessKind::read) write(node, access.region);
      }
    }
    return std::move(conflicts_);
  }

 private:
  std::size_t step_index(Node node) const {
    return static_cast<std::size_t>(&unrolled_.step(node) - unrolled_.steps().data());
  }

  void read(Node node, const Region& region) {
    for (const Strips::Cell& cell : strips_[region.buffer.value].cells(region)) {
      auto& map = touched_[region.buffer.value][cell.strip];
      compare(map, node, region.buffer, cell, false);
      map.update(cell.begin, cell.end, [&](Touched& touched) {
        std::erase_if(touched.reads, [&](Node other) { return known_before(other, node); });
        touched.reads.push_back(node);
      });
    }
  }

  void write(Node node, const Region& region) {
    for (const Strips::Cell& cell : strips_[region.buffer.value].cells(region)) {
      auto& map = touched_[region.buffer.value][cell.strip];
      compare(map, node, region.buffer, cell, true);
      map.assign(cell.begin, cell.end, Touched{node});
    }
  }

  void compare(const IntervalMap<Touched>& map, Node node, BufferId buffer, const Strips::Cell& cell, bool with_reads) {
    map.visit(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, const Touched* touched) {
      if (touched == nullptr) return;
      const auto run = strips_[buffer.value].first_run({cell.strip, begin, end});
      const auto conflict = [&](Node other) {
        if (other == kNoNode || other == node) return;
        if (!conflicts_.empty()) {
          // Neighbouring pieces touched by the same two steps are one conflict.
          Conflict& last = conflicts_.back();
          if (last.first == other && last.second == node && last.buffer == buffer) {
            if (last.end == run.first) last.end = run.second;
            return;
          }
        }
        conflicts_.push_back({other, node, buffer, run.first, run.second});
      };
      conflict(touched->write);
      if (with_reads) std::ranges::for_each(touched->reads, conflict);
    });
  }

  /// Order within one queue, which needs no search.
  bool known_before(Node first, Node second) const {
    const Node done = unrolled_.completion(first);
    return unrolled_.step(first).queue == unrolled_.step(second).queue && done != kNoNode && done <= second;
  }

  const Unrolled& unrolled_;
  std::vector<std::vector<Access>> accesses_;               // of a step
  std::vector<Strips> strips_;                              // of a buffer
  std::vector<std::vector<IntervalMap<Touched>>> touched_;  // of a buffer and strip
  std::vector<Conflict> conflicts_;
};

/// The order in which people think of two steps: the earlier iteration first, and within one the caller's filling first
/// and its reading last. The execution may have met them the other way round, as nothing orders them.
Conflict in_reading_order(const Unrolled& unrolled, Conflict race) {
  const auto key = [&](Node node) {
    const StepKind kind = unrolled.step(node).kind;
    const int place = kind == StepKind::caller_fill ? 0 : (kind == StepKind::caller_read ? 2 : 1);
    return std::pair(unrolled.iteration(node), place);
  };
  if (key(race.second) < key(race.first)) std::swap(race.first, race.second);
  return race;
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
    const Place place = is_caller(first) ? place_of_step(second) : place_of_step(first);
    if (second.kind == StepKind::caller_fill) {
      findings.add(place,
                   fmt::format("the caller of rank {} may overwrite the input {} for the next iteration while {} still "
                               "uses it",
                               rank, bytes, described(first)),
                   "let the caller's host queue wait for a signal behind this command");
    } else if (second.kind == StepKind::caller_read) {
      findings.add(place,
                   fmt::format("the caller of rank {} may read the output {} before {} has written it", rank, bytes,
                               described(first)),
                   "let the caller's host queue wait for a signal behind this command");
    } else if (first.kind == StepKind::caller_read) {
      findings.add(place,
                   fmt::format("{}{} may overwrite the output {} while the caller of rank {} still reads it",
                               described(second), next ? " of the next iteration" : "", bytes, rank),
                   "let this queue wait until the caller's host queue has begun the next iteration");
    } else if (first.kind == StepKind::caller_fill) {
      findings.add(place,
                   fmt::format("{}{} may use the input {} before the caller of rank {} has written it",
                               described(second), next ? " of the next iteration" : "", bytes, rank),
                   "let the host queue of that rank submit or trigger this queue, or wait for a signal from it");
    } else {
      findings.add(place,
                   fmt::format("{} and {}{} touch {} of rank {}, one of them writes, and nothing orders them",
                               described(first), described(second), next ? " of the next iteration" : "", bytes, rank),
                   "add a signal behind the first and a wait before the second");
    }
  }

 private:
  static bool is_caller(const Step& step) {
    return step.kind == StepKind::caller_fill || step.kind == StepKind::caller_read;
  }

  Place place_of_step(const Step& step) const {
    if (is_caller(step)) return Spot(program_, QueueId{step.queue});
    return Spot(program_, QueueId{step.queue}, step.command);
  }

  std::string described(const Step& step) const {
    return fmt::format("{} ({})", where(program_, QueueId{step.queue}, step.command),
                       to_string(program_, program_.queues[step.queue].commands[step.command]));
  }

  const Unrolled& unrolled_;
  const Program& program_;
};

}  // namespace

void check_race(Subject& subject, Findings& findings) {
  const Unrolled& unrolled = subject.unrolled();
  const HappensBefore& order = subject.happens_before();
  const std::vector<Conflict> conflicts = ConflictFinder(unrolled).run(subject.execution());
  std::vector<Query> queries;
  queries.reserve(conflicts.size());
  for (const Conflict& conflict : conflicts) {
    queries.push_back(order.finished_before(conflict.first, conflict.second));
  }
  order.answer(queries);
  std::vector<Conflict> races;
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    if (!queries[i].holds) races.push_back(in_reading_order(unrolled, conflicts[i]));
  }
  // A pair that races in the first iteration does so in the second as well: tell it once, and what happens within one
  // iteration first.
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
