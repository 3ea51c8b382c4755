// auto: of everything that can be done, what the cost model says is fastest.
//
// Candidates, besides the ways of all strategies: every variant of the collective on DMA engines, prelaunched or
// not, beside the GEMM on all compute units and on all but one of each die; and the collective on k compute units,
// for every k that c3-rp tries, launched first with priority, beside the GEMM on the others or on all, which it then
// gets back when the collective is done.
//
// Wins wherever the model is right: it is never predicted to be slower than another one. Loses what the model does
// not know, and may choose prelaunch, which needs a caller who can submit ahead. Ours; not a published heuristic.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "plan/c3/way.hpp"
#include "plan/choose.hpp"

namespace cortado::plan {
namespace {

/// What candidates have in common; the reason given for a choice compares it with the best of another kind.
enum class Kind { serial, on_cores, on_engines };

struct Candidate {
  OverlapWay way;
  Kind kind;
  Nanoseconds time;
};

Kind kind_of(const OverlapWay& way) {
  if (way.order == LaunchOrder::serial) return Kind::serial;
  return way.on_cores() ? Kind::on_cores : Kind::on_engines;
}

std::vector<OverlapWay> ways_on_engines(const Question& question) {
  const CollectiveRequest& first = question.problem.collective();
  ChoiceRequest choice{.base = first, .in_place = first.in_place, .among = {kDmaVariants}};
  choice.base.prelaunch = true;
  const auto candidates = list_candidates(choice);
  std::vector<OverlapWay> ways;
  if (!candidates) return ways;
  for (const CollectiveRequest& candidate : *candidates) {
    const auto collectives = on_engines(question, candidate.variant, candidate.prelaunch);
    if (!collectives) continue;
    for (const std::uint32_t units : {0U, question.units_but_one_a_die()}) {
      ways.push_back(beside_engines(*collectives, units, {}));
    }
  }
  return ways;
}

std::vector<OverlapWay> ways_of_partitions(const Question& question) {
  std::vector<OverlapWay> ways;
  const auto partitions = list_partitions(question);
  if (!partitions) return ways;
  for (const Partition& partition : *partitions) {
    for (const std::uint32_t units : {0U, partition.gemm_units}) {
      ways.push_back({.order = LaunchOrder::collective_first,
                      .collectives = partition.collectives.requests,
                      .gemm_units = units,
                      .tuned = true,
                      .priority = 1});
    }
  }
  return ways;
}

std::vector<OverlapWay> list_ways(const Question& question) {
  std::vector<OverlapWay> ways;
  if (auto way = serial_way(question)) ways.push_back(*std::move(way));
  for (const WayStrategy& strategy : way_strategies()) {
    if (auto way = strategy.decide(question)) ways.push_back(*std::move(way));
  }
  for (auto* more : {&ways_on_engines, &ways_of_partitions}) {
    for (OverlapWay& way : more(question)) ways.push_back(std::move(way));
  }
  return ways;
}

/// "bcst prelaunch on DMA engines, the GEMM on 304 CUs"
std::string describe(const OverlapWay& way, const Question& question) {
  const std::string collective = way_names(way.collectives);
  if (way.order == LaunchOrder::serial) return fmt::format("{} after the GEMM", collective);
  const auto units = [&](std::uint32_t given) { return given == 0 ? question.units() : given; };
  const std::string where =
      way.on_cores() ? fmt::format("{} CUs", units(way.collective().compute_units)) : "DMA engines";
  return fmt::format("{} on {}, the GEMM on {} CUs", collective, where, units(way.gemm_units));
}

std::string reason(const Candidate& best, const Candidate* other, const Question& question) {
  std::string why = describe(best.way, question);
  if (other != nullptr && best.time.value > 0) {
    const double ratio = static_cast<double>(other->time.value) / static_cast<double>(best.time.value);
    why += fmt::format(": {:.1f} % faster than {}", 100 * (ratio - 1), describe(other->way, question));
  }
  return why;
}

}  // namespace

Result<OverlapWay> fastest_way(const Question& question) {
  std::vector<Candidate> candidates;
  std::optional<Diagnostic> refused;
  for (OverlapWay& way : list_ways(question)) {
    const auto time = question.cost.together(question.problem, way);
    if (time) {
      candidates.push_back({way, kind_of(way), *time});
    } else if (!refused) {
      refused = time.error();
    }
  }
  if (candidates.empty()) {
    if (refused) return fail(*std::move(refused));
    return fail(About::strategy, "c3.variant",
                fmt::format("no variant of {} works", question.problem.collective().collective),
                "see cortado list variants");
  }
  // Of equally fast ones the first: the strategies, in their order, before what is ours.
  const auto faster = [](const Candidate& a, const Candidate& b) { return a.time < b.time; };
  std::stable_sort(candidates.begin(), candidates.end(), faster);
  const Candidate& best = candidates.front();
  const auto other = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& candidate) { return candidate.kind != best.kind; });
  OverlapWay way = best.way;
  way.why = reason(best, other == candidates.end() ? nullptr : &*other, question);
  return way;
}

}  // namespace cortado::plan
