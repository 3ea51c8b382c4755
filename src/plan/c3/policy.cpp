#include "plan/c3/policy.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cortado/plan/choose.hpp"

#include "plan/collective/variant.hpp"

namespace cortado {

bool OverlapWay::on_cores() const {
  const auto variant = plan::find_variant(collective);
  return variant && (*variant)->info.on_cores;
}

Result<CollectiveRequest> library_collective(const CollectiveRequest& request, const Machine& machine,
                                             const CostModel& cost) {
  const OverlapRequest asked{.gemm = {}, .collective = request};
  CORTADO_ASSIGN_OR_RETURN(plan::TimedCollective library, plan::library_collective({asked, machine, cost}));
  return std::move(library.request);
}

OverlapWay way_at_once(CollectiveRequest collective) {
  OverlapWay on_cores{.order = LaunchOrder::gemm_first,
                      .collective = std::move(collective),
                      .why = "product first, the collective beside it where units are free"};
  if (on_cores.on_cores()) return on_cores;
  return plan::beside_engines(std::move(on_cores.collective), 0,
                              "the collective on DMA engines, all compute units for the product");
}

namespace plan {

Status check_plannable(const CollectiveRequest& request, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(request));
  CORTADO_RETURN_IF_ERROR(check_request(request, *variant, machine));
  return {};
}

Result<TimedCollective> fastest_on_cores(const Question& question, std::uint32_t units) {
  ChoiceRequest choice{
      .base = question.request.collective, .in_place = question.request.collective.in_place, .among = {kCoresVariants}};
  choice.base.compute_units = units;
  const auto candidates = list_candidates(choice);
  if (!candidates) {
    return fail(About::strategy, "c3.variant",
                fmt::format("{} has no variant on compute units", choice.base.collective),
                "use policy conccl, conccl-rp or auto");
  }
  std::vector<Result<Nanoseconds>> times;
  for (const CollectiveRequest& candidate : *candidates) {
    const Status plannable = check_plannable(candidate, question.machine);
    times.push_back(plannable ? question.cost.collective(candidate) : fail(plannable.error()));
  }
  CORTADO_ASSIGN_OR_RETURN(const ChoiceRow row, rank_candidates(*candidates, times));
  return TimedCollective{row.best().request, row.best().time};
}

Result<TimedCollective> library_collective(const Question& question) {
  std::uint32_t units = question.machine.timing->cores.collective_units;
  for (const VariantInfo& variant : list_variants(question.request.collective.collective)) {
    if (!variant.both_directions) continue;
    units *= 2;
    break;
  }
  return fastest_on_cores(question, std::min(units, question.units()));
}

Result<CollectiveRequest> flat_dma(const Question& question) {
  CollectiveRequest request = question.request.collective;
  request.variant = "pcpy";
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(request));
  CORTADO_RETURN_IF_ERROR(check_request(request, *variant, question.machine));
  return request;
}

OverlapWay beside_engines(CollectiveRequest collective, std::uint32_t gemm_units, std::string why) {
  const auto variant = find_variant(collective);
  const bool adds = variant && (*variant)->reduces;
  return {.order = collective.prelaunch || adds ? LaunchOrder::collective_first : LaunchOrder::gemm_first,
          .collective = std::move(collective),
          .gemm_units = gemm_units,
          .tuned = true,
          .priority = adds ? 1 : 0,
          .why = std::move(why)};
}

Result<std::vector<Partition>> list_partitions(const Question& question) {
  std::vector<Partition> partitions;
  std::optional<Diagnostic> refused;
  for (std::uint32_t units = question.units_step(); units <= question.units() / 2; units *= 2) {
    Result<TimedCollective> collective = fastest_on_cores(question, units);
    if (!collective) {
      refused = std::move(collective).error();
      continue;
    }
    const std::uint32_t rest = question.units() - units;
    CORTADO_ASSIGN_OR_RETURN(const Nanoseconds gemm, question.cost.gemm(question.request.gemm, rest));
    partitions.push_back({*std::move(collective), units, rest, gemm});
  }
  if (!partitions.empty()) return partitions;
  if (refused) return fail(*std::move(refused));
  return fail(About::strategy, "c3.partition",
              fmt::format("{} compute units cannot be divided in steps of {}", question.units(), question.units_step()),
              "use a policy without a partition");
}

Result<Partition> best_partition(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Partition> partitions, list_partitions(question));
  return *std::min_element(partitions.begin(), partitions.end(),
                           [](const Partition& a, const Partition& b) { return a.longer() < b.longer(); });
}

bool goes_first(const Question& question, std::uint32_t workgroups) {
  const GemmShape& shape = question.request.gemm;
  return workgroups <= cortado::workgroups(shape, choose_tiling(shape, question.machine, question.units()));
}

Result<OverlapRequest> check_overlap(const OverlapRequest& request, const Machine& machine) {
  const CollectiveRequest& asked = request.collective;
  OverlapRequest checked{.gemm = request.gemm,
                         .collective = {.collective = asked.collective,
                                        .bytes = asked.bytes,
                                        .ranks = asked.ranks == 0 ? machine.gpus : asked.ranks,
                                        .in_place = asked.in_place,
                                        .own_block = asked.own_block,
                                        .dtype = asked.dtype,
                                        .root = asked.root,
                                        .peer = asked.peer,
                                        .host = HostThreads::per_rank}};
  if (checked.collective.ranks < 2) {
    return fail("c3.ranks",
                fmt::format("{} among {} rank: there is nothing to overlap the product with", asked.collective,
                            checked.collective.ranks),
                machine.gpus < 2 ? "use a machine with more GPUs" : fmt::format("give 2 to {} ranks", machine.gpus));
  }
  if (request.gemm.accumulate) {
    return fail("c3.accumulate", "a product that adds to what is there has no contract: replays would add up",
                "leave accumulate out");
  }
  CORTADO_RETURN_IF_ERROR(check_gemm(request.gemm, machine));
  return checked;
}

}  // namespace plan
}  // namespace cortado
