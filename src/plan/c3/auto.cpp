// auto: of everything that can be done, the fastest.
//
// Candidates, besides the ways of all strategies: every variant of the collective on DMA engines, prelaunched or
// not, beside the GEMM on all compute units and on all but one of each die; and the collective on k compute units,
// for every k that c3-rp tries, launched first with priority, beside the GEMM on the others or on all, which it then
// gets back when the collective is done.
//
// They are simulated in the order of their likely times, until none is below the best that was simulated:
// likely times leave out kernels that add, and submissions that delay each other, so they are rarely too long (of 3088
// ways of 120 random problems 5 % were, 1 % by more than 5 %) and often too short, by up to 60 %. The ways of
// strategies on compute units are simulated even if their likely times are too long by a third, as those of small
// problems may be.
//
// Never slower than the ways of strategies, as far as simulations tell. May choose prelaunch, which needs a caller who
// can submit ahead. Ours; not a published heuristic.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

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
  std::size_t place;  // in the list
  Nanoseconds likely;
  Nanoseconds time{};  // simulated
};

/// What is faster by less does not matter: it is level.
constexpr double kLevelMargin = 0.001;
/// What likely times of strategies on compute units are trusted to: at most this share of them, and so much.
constexpr double kStrategyMargin = 0.25;
constexpr double kStrategyErrorNs = 100e3;

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
  const auto add = [&](Result<OverlapWay> way, std::string_view strategy) {
    if (!way) return;
    ways.push_back(*std::move(way));
    ways.back().strategy = strategy;
  };
  add(serial_way(question), "serial");
  for (const WayStrategy& strategy : way_strategies()) add(strategy.decide(question), strategy.name);
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

/// Whether they are the same in all but name and reason.
bool same_way(const OverlapWay& a, const OverlapWay& b) {
  const auto same = [](const CollectiveRequest& one, const CollectiveRequest& other) {
    return one.variant == other.variant && one.prelaunch == other.prelaunch && one.compute_units == other.compute_units;
  };
  return a.order == b.order && a.gemm_units == b.gemm_units && a.tuned == b.tuned && a.priority == b.priority &&
         std::ranges::equal(a.collectives, b.collectives, same);
}

/// The candidates by their likely times.
Result<std::vector<Candidate>> list_likely(const Question& question) {
  std::vector<Candidate> candidates;
  std::optional<Diagnostic> refused;
  for (OverlapWay& way : list_ways(question)) {
    const auto known = [&](const Candidate& other) { return same_way(other.way, way); };
    if (std::ranges::any_of(candidates, known)) continue;
    const auto time = question.cost.together(question.problem, way);
    if (time) {
      candidates.push_back({way, kind_of(way), candidates.size(), *time});
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
  std::ranges::stable_sort(candidates, {}, &Candidate::likely);
  return candidates;
}

}  // namespace

Result<OverlapWay> fastest_way(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(std::vector<Candidate> candidates, list_likely(question));
  const Candidate* best = nullptr;   // of equally fast ones the first of the list: strategies, in their order, before
  const Candidate* other = nullptr;  // what is ours. This: the best of another kind, for the reason
  std::optional<Diagnostic> refused;
  const auto hopeless = [&](const Candidate& candidate) {
    const bool compares = other == nullptr && candidate.kind != best->kind;
    const auto likely = static_cast<double>(candidate.likely.value);
    const bool trusted = candidate.kind != Kind::on_cores || candidate.way.strategy.empty();
    const double least = trusted ? likely : likely - std::min(kStrategyMargin * likely, kStrategyErrorNs);
    return !compares && least > (1 - kLevelMargin) * static_cast<double>(best->time.value);
  };
  const auto before = [](const Candidate& a, const Candidate* b) {
    return b == nullptr || std::pair(a.time, a.place) < std::pair(b->time, b->place);
  };
  for (Candidate& candidate : candidates) {
    if (best != nullptr && hopeless(candidate)) continue;
    const auto time = question.cost.simulated_together(question.problem, candidate.way);
    if (!time) {
      if (!refused) refused = time.error();
      continue;
    }
    candidate.time = *time;
    if (before(candidate, best)) {
      if (best != nullptr && best->kind != candidate.kind) other = best;
      best = &candidate;
    } else if (candidate.kind != best->kind && before(candidate, other)) {
      other = &candidate;
    }
  }
  if (best == nullptr) return fail(*std::move(refused));
  OverlapWay way = best->way;
  way.why = reason(*best, other, question);
  return way;
}

}  // namespace cortado::plan
