// auto: of everything that can be done, what the cost model says is fastest.
//
// Candidates, besides the ways of all other policies: every variant of the collective on DMA engines, prelaunched or
// not, beside the product on all compute units and on all but one of each die; and the collective on k compute units,
// for every k that c3-rp tries, launched first with priority, beside the product on the others or on all, which it then
// gets back when the collective is done.
//
// Wins wherever the model is right: it is never predicted to be slower than another policy. Loses what the model does
// not know, and may choose prelaunch, which needs a caller who can submit ahead. Ours; not a published heuristic.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cortado/plan/choose.hpp"

#include "plan/c3/policy.hpp"

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
  ChoiceRequest choice{
      .base = question.request.collective, .in_place = question.request.collective.in_place, .among = {kDmaVariants}};
  choice.base.prelaunch = true;
  const auto collectives = list_candidates(choice);
  std::vector<OverlapWay> ways;
  if (!collectives) return ways;
  for (const CollectiveRequest& collective : *collectives) {
    if (!check_plannable(collective, question.machine)) continue;
    for (const std::uint32_t units : {0U, question.units_but_one_a_die()}) {
      ways.push_back(beside_engines(collective, units, {}));
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
                      .collective = partition.collective.request,
                      .gemm_units = units,
                      .tuned = true,
                      .priority = 1});
    }
  }
  return ways;
}

std::vector<OverlapWay> list_ways(const Question& question) {
  std::vector<OverlapWay> ways;
  for (const Policy& policy : fixed_policies()) {
    if (auto way = policy.decide(question)) ways.push_back(*std::move(way));
  }
  for (auto* more : {&ways_on_engines, &ways_of_partitions}) {
    for (OverlapWay& way : more(question)) ways.push_back(std::move(way));
  }
  return ways;
}

/// "bcst prelaunch on DMA engines, the product on 304 compute units"
std::string describe(const OverlapWay& way, const Question& question) {
  const std::string collective = way_name(way.collective);
  if (way.order == LaunchOrder::serial) return fmt::format("{} after the product", collective);
  const auto units = [&](std::uint32_t given) { return given == 0 ? question.units() : given; };
  const std::string where =
      way.on_cores() ? fmt::format("{} compute units", units(way.collective.compute_units)) : "DMA engines";
  return fmt::format("{} on {}, the product on {} compute units", collective, where, units(way.gemm_units));
}

std::string reason(const Candidate& best, const Candidate* other, const Question& question) {
  std::string why = describe(best.way, question);
  if (other != nullptr && best.time.value > 0) {
    const double ratio = static_cast<double>(other->time.value) / static_cast<double>(best.time.value);
    why += fmt::format(": {:.1f} % faster than {}", 100 * (ratio - 1), describe(other->way, question));
  }
  return why;
}

Result<OverlapWay> decide_auto(const Question& question) {
  std::vector<Candidate> candidates;
  std::optional<Diagnostic> refused;
  for (OverlapWay& way : list_ways(question)) {
    const auto time = question.cost.together(question.request, way);
    if (time) {
      candidates.push_back({way, kind_of(way), *time});
    } else if (!refused) {
      refused = time.error();
    }
  }
  if (candidates.empty()) {
    if (refused) return fail(*std::move(refused));
    return fail(About::strategy, "c3.variant",
                fmt::format("no variant of {} fits", question.request.collective.collective),
                "cortado list variants has them all");
  }
  // Of equally fast ones the first: the policies, in their order, before what is ours.
  const auto faster = [](const Candidate& a, const Candidate& b) { return a.time < b.time; };
  std::stable_sort(candidates.begin(), candidates.end(), faster);
  const Candidate& best = candidates.front();
  const auto other = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& candidate) { return candidate.kind != best.kind; });
  OverlapWay way = best.way;
  way.why = reason(best, other == candidates.end() ? nullptr : &*other, question);
  return way;
}

}  // namespace

Policy auto_policy() {
  return {.info = {.name = "auto",
                   .summary = "what the cost model says is fastest, over all policies and variants",
                   .wins = "always, as far as the model is right",
                   .loses = "by what the model does not know; may want a caller who submits ahead (prelaunch)"},
          .decide = decide_auto};
}

}  // namespace cortado::plan
