#include "plan/c3/way.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/choose.hpp"
#include "plan/collective/variant.hpp"

namespace cortado {

bool OverlapWay::on_cores() const {
  if (collectives.empty()) return false;
  const auto variant = plan::find_variant(collective());
  return variant && (*variant)->info.on_cores;
}

Result<OverlapWay> choose_way(std::string_view strategy, const OverlapProblem& problem, const Machine& machine,
                              const CostModel& cost) {
  CORTADO_ASSIGN_OR_RETURN(const OverlapProblem checked, plan::check_overlap(problem, machine));
  const plan::Question question{checked, machine, cost};
  if (strategy == "auto") return plan::fastest_way(question);
  if (strategy == "serial") return plan::serial_way(question);
  const auto found = std::ranges::find(plan::way_strategies(), strategy, &plan::WayStrategy::name);
  if (found != plan::way_strategies().end()) return found->decide(question);
  return fail("overlap.strategy", fmt::format("{} is not a strategy of C3 or ConCCL", strategy),
              "see cortado list strategies");
}

Result<CollectiveRequest> library_collective(const CollectiveRequest& request, const Machine& machine,
                                             const CostModel& cost) {
  const OverlapProblem asked{.collectives = {request}};
  CORTADO_ASSIGN_OR_RETURN(std::vector<CollectiveRequest> library, plan::library_collectives({asked, machine, cost}));
  return std::move(library.front());
}

OverlapWay way_at_once(std::vector<CollectiveRequest> collectives) {
  OverlapWay on_cores{.order = LaunchOrder::gemm_first,
                      .collectives = std::move(collectives),
                      .why = "GEMM first, the collective on the CUs it leaves free"};
  if (on_cores.on_cores()) return on_cores;
  return plan::beside_engines(std::move(on_cores.collectives), 0,
                              "the collective on DMA engines, all CUs for the GEMM");
}

namespace plan {
namespace {

Diagnostic no_variant_on_cores(const CollectiveRequest& request) {
  return {.code = "c3.variant",
          .message = fmt::format("{} has no variant on compute units", request.collective),
          .hint = "use conccl, conccl-rp or auto",
          .about = About::strategy};
}

/// Not above the times of the candidates of one collective, in the order of list_candidates(); empty: nothing is known.
using LeastTimes = std::vector<Nanoseconds>;

/// Candidates that cannot be the fastest by what is known are not timed; `least` becomes the times of the others.
Result<TimedCollectives> fastest_of(const CollectiveRequest& collective, const Question& question, std::uint32_t units,
                                    LeastTimes& least) {
  ChoiceRequest choice{.base = collective, .in_place = collective.in_place, .among = {kCoresVariants}};
  choice.base.compute_units = units;
  const auto candidates = list_candidates(choice);
  if (!candidates) return fail(no_variant_on_cores(collective));
  least.resize(candidates->size());
  std::vector<std::size_t> order(candidates->size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return least[i]; });
  std::map<std::size_t, Result<Nanoseconds>> times;  // by candidate: of equally fast ones the first is taken
  std::optional<Nanoseconds> best;
  for (const std::size_t i : order) {
    if (best && *best < least[i]) break;
    const Status plannable = check_plannable((*candidates)[i], question.machine);
    const auto& time =
        times.emplace(i, plannable ? question.cost.collective((*candidates)[i]) : fail(plannable.error()))
            .first->second;
    if (!time) continue;
    least[i] = *time;
    best = best ? std::min(*best, *time) : *time;
  }
  std::vector<CollectiveRequest> timed;
  std::vector<Result<Nanoseconds>> in_order;
  for (auto& [i, time] : times) {
    timed.push_back((*candidates)[i]);
    in_order.push_back(std::move(time));
  }
  CORTADO_ASSIGN_OR_RETURN(const ChoiceRow row, rank_candidates(timed, in_order));
  return TimedCollectives{{row.best().request}, row.best().time};
}

Result<TimedCollectives> fastest_each(const Question& question, std::uint32_t units, std::vector<LeastTimes>& least) {
  TimedCollectives all;
  for (std::size_t i = 0; i < question.problem.collectives.size(); ++i) {
    CORTADO_ASSIGN_OR_RETURN(const TimedCollectives one,
                             fastest_of(question.problem.collectives[i], question, units, least[i]));
    all.requests.push_back(one.requests.front());
    all.time = all.time + one.time;
  }
  return all;
}

/// What RCCL or NCCL would choose; where nothing is known of the library, the faster of the direct kernels.
Result<CollectiveRequest> by_library(CollectiveRequest request, const Question& question) {
  if (question.machine.timing && question.machine.timing->library) {
    request.variant = kLibraryVariant;
    const auto variant = find_variant(request);
    if (!variant) return fail(no_variant_on_cores(request));
    return check_request(request, **variant, question.machine);
  }
  std::uint32_t units = question.machine.timing->cores.collective_units;
  if (std::ranges::any_of(list_variants(request.collective), &VariantInfo::both_directions)) units *= 2;
  LeastTimes nothing;
  CORTADO_ASSIGN_OR_RETURN(const TimedCollectives direct,
                           fastest_of(request, question, std::min(units, question.units()), nothing));
  return direct.requests.front();
}

}  // namespace

Status check_plannable(const CollectiveRequest& request, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(request));
  CORTADO_RETURN_IF_ERROR(check_request(request, *variant, machine));
  return {};
}

Result<TimedCollectives> fastest_on_cores(const Question& question, std::uint32_t units) {
  std::vector<LeastTimes> nothing(question.problem.collectives.size());
  return fastest_each(question, units, nothing);
}

Result<std::vector<CollectiveRequest>> library_collectives(const Question& question) {
  std::vector<CollectiveRequest> all;
  for (const CollectiveRequest& collective : question.problem.collectives) {
    CORTADO_ASSIGN_OR_RETURN(all.emplace_back(), by_library(collective, question));
  }
  return all;
}

Result<std::vector<CollectiveRequest>> on_engines(const Question& question, std::string_view variant, bool prelaunch) {
  std::vector<CollectiveRequest> all;
  for (CollectiveRequest request : question.problem.collectives) {
    request.variant = variant;
    request.prelaunch = prelaunch;
    request.compute_units = 0;
    if (!all.empty() && !check_plannable(request, question.machine)) {
      request.variant = "pcpy";
      request.prelaunch = prelaunch && check_plannable(request, question.machine);
    }
    CORTADO_RETURN_IF_ERROR(check_plannable(request, question.machine));
    all.push_back(std::move(request));
  }
  return all;
}

std::string way_names(const std::vector<CollectiveRequest>& requests) {
  std::vector<std::string> names;
  for (const CollectiveRequest& request : requests) names.push_back(way_name(request));
  return join(names, " and ");
}

Result<OverlapWay> serial_way(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<CollectiveRequest> library, library_collectives(question));
  return OverlapWay{
      .order = LaunchOrder::serial, .collectives = library, .why = fmt::format("GEMM, then {}", way_names(library))};
}

OverlapWay beside_engines(std::vector<CollectiveRequest> collectives, std::uint32_t gemm_units, std::string why) {
  const bool adds = std::ranges::any_of(collectives, [](const CollectiveRequest& collective) {
    const auto variant = find_variant(collective);
    return variant && (*variant)->reduces;
  });
  const bool cheap = collectives.front().prelaunch;
  return {.order = cheap || adds ? LaunchOrder::collective_first : LaunchOrder::gemm_first,
          .collectives = std::move(collectives),
          .gemm_units = gemm_units,
          .tuned = true,
          .priority = adds ? 1 : 0,
          .why = std::move(why)};
}

Result<std::vector<Partition>> list_partitions(const Question& question) {
  std::uint32_t most = question.units_step();
  while (2 * most <= question.units() / 2) most *= 2;
  // No kernel is faster on fewer units, so what is too slow on many of them need not be timed on fewer.
  std::vector<LeastTimes> least(question.problem.collectives.size());
  std::vector<Partition> partitions;
  std::optional<Diagnostic> refused;
  for (std::uint32_t units = most; units >= question.units_step() && units <= question.units() / 2; units /= 2) {
    Result<TimedCollectives> collectives = fastest_each(question, units, least);
    if (!collectives) {
      if (!refused) refused = std::move(collectives).error();
      continue;
    }
    Partition partition{*std::move(collectives), units, question.units() - units};
    for (const GemmShape& gemm : question.problem.gemms) {
      CORTADO_ASSIGN_OR_RETURN(const Nanoseconds time, question.cost.gemm(gemm, partition.gemm_units));
      partition.gemms = partition.gemms + time;
    }
    partitions.push_back(std::move(partition));
  }
  std::ranges::reverse(partitions);
  if (!partitions.empty()) return partitions;
  if (refused) return fail(*std::move(refused));
  return fail(About::strategy, "c3.partition",
              fmt::format("{} compute units cannot be divided in steps of {}", question.units(), question.units_step()),
              "use a strategy without a partition");
}

Result<Partition> best_partition(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Partition> partitions, list_partitions(question));
  return *std::min_element(partitions.begin(), partitions.end(),
                           [](const Partition& a, const Partition& b) { return a.longer() < b.longer(); });
}

bool goes_first(const Question& question, std::uint32_t workgroups) {
  const GemmShape& shape = question.problem.gemm();
  return workgroups <= cortado::workgroups(shape, choose_tiling(shape, question.machine, question.units()));
}

Result<OverlapProblem> check_overlap(const OverlapProblem& problem, const Machine& machine) {
  OverlapProblem checked{.gemms = problem.gemms, .ranks = problem.ranks == 0 ? machine.gpus : problem.ranks};
  for (const CollectiveRequest& asked : problem.collectives) {
    checked.collectives.push_back({.collective = asked.collective,
                                   .bytes = asked.bytes,
                                   .ranks = checked.ranks,
                                   .in_place = asked.in_place,
                                   .own_block = asked.own_block,
                                   .dtype = asked.dtype,
                                   .root = asked.root,
                                   .peer = asked.peer,
                                   .host = HostThreads::per_rank});
  }
  if (checked.ranks < 2) {
    return fail("c3.ranks",
                fmt::format("{} on {} rank: there is nothing to overlap the GEMM with", checked.collective().collective,
                            checked.ranks),
                machine.gpus < 2 ? "use a machine with more GPUs" : fmt::format("use 2 to {} ranks", machine.gpus));
  }
  for (const GemmShape& gemm : problem.gemms) {
    if (gemm.accumulate) {
      return fail("c3.accumulate", "a GEMM that accumulates has no contract: repeated runs would add up",
                  "drop accumulate");
    }
    CORTADO_RETURN_IF_ERROR(check_gemm(gemm, machine));
  }
  return checked;
}

}  // namespace plan
}  // namespace cortado
