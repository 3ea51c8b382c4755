// The strategies of C3 and ConCCL. The published gains are those of ConCCL's measurements.
#include <algorithm>

#include <fmt/format.h>

#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace {

/// c3: both launched as independent streams, the GEMM first, as frameworks do that know nothing about either.
///
/// The workgroups of the GEMM fill all compute units before the collective gets any, and each unit that becomes free
/// is taken by the GEMM again: the collective starts late, when the last wave of the GEMM thins out.
/// Wins when the GEMM has fewer workgroups than the GPU has units, so that both fit from the start. Loses with large
/// GEMMs: 21 % of the ideal gain on average in the published measurements (ConCCL, section "results by strategy").
Result<OverlapWay> decide_c3(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<CollectiveRequest> library, library_collectives(question));
  return OverlapWay{.order = LaunchOrder::gemm_first,
                    .collectives = library,
                    .why = fmt::format("GEMM first, {} on the CUs it leaves free", way_names(library))};
}

/// c3-sp, schedule priority: kernels are launched in ascending order of workgroups. A collective has few (its compute
/// units), so it nearly always goes first, with priority, and is not starved.
///
/// Wins over c3 when the GEMM has many workgroups. Loses against partitions when the library takes more units than
/// its links can feed, and against DMA engines always when the GEMM is bound by its compute units: those of the
/// collective are missing. Published heuristic of ConCCL; 42 % of the ideal gain on average.
Result<OverlapWay> decide_c3_sp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<CollectiveRequest> library, library_collectives(question));
  const std::uint32_t given = library.front().compute_units;
  const bool first = goes_first(question, given == 0 ? question.units() : given);
  return OverlapWay{.order = first ? LaunchOrder::collective_first : LaunchOrder::gemm_first,
                    .collectives = library,
                    .priority = first ? 1 : 0,
                    .why = fmt::format("{} has fewer workgroups and goes first",
                                       first ? way_names(library) : std::string("the GEMM"))};
}

/// c3-rp, resource partition: k compute units are set aside for the collective, the GEMM has the others, whoever is
/// launched first. k is the power of two times one unit per die (8, 16, ..., 128 of 304 on MI300X) for which the longer
/// of the two, each alone on its units, is shortest.
///
/// Wins when the collective saturates its links with few units. Loses when one takes much longer: the units of
/// the other stay idle. Published heuristic of ConCCL, which took the times from measured tables; 41 % of
/// the ideal gain on average.
Result<OverlapWay> decide_c3_rp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const Partition best, best_partition(question));
  return OverlapWay{.order = LaunchOrder::gemm_first,
                    .collectives = best.collectives.requests,
                    .gemm_units = best.gemm_units,
                    .why = fmt::format("{} CUs for {}, {} for the GEMM", best.collective_units,
                                       way_names(best.collectives.requests), best.gemm_units)};
}

/// c3-sp-rp: compute units divided as in c3-rp, and launched in the order of c3-sp.
///
/// Wins where the collective must also start early: small ones, whose time a late launch would double. Hardly ever
/// differs from c3-rp otherwise, since each has its own units: no extra gain in the published measurements (42 % of the
/// ideal gain on average), and it loses where c3-rp loses.
Result<OverlapWay> decide_c3_sp_rp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const Partition best, best_partition(question));
  const bool first = goes_first(question, best.collective_units);
  return OverlapWay{
      .order = first ? LaunchOrder::collective_first : LaunchOrder::gemm_first,
      .collectives = best.collectives.requests,
      .gemm_units = best.gemm_units,
      .priority = first ? 1 : 0,
      .why = fmt::format("{} CUs for {}, {} for the GEMM, {} first", best.collective_units,
                         way_names(best.collectives.requests), best.gemm_units, first ? "the collective" : "the GEMM")};
}

/// conccl: the collective on DMA engines, all compute units for the GEMM.
///
/// The flat algorithm of ConCCL: every GPU writes its block to all others in one step, each copy on an engine of its
/// own, put into the queues by the host when it is time (nothing is prelaunched). The GEMM is launched first: that
/// costs the collective one launch; the other way round the GEMM would wait for the submissions to all peers.
///
/// Wins from tens of MiB up, most with GEMMs bound by their compute units: 66 % of the ideal gain on average in the
/// published measurements. Loses with small collectives, whose time is the host's and the engines' start-up (about four
/// times a library's below 32 MB). Engines cannot add: a kernel on some CUs sums up what they bring.
Result<OverlapWay> decide_conccl(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(std::vector<CollectiveRequest> flat, on_engines(question, "pcpy", false));
  return beside_engines(std::move(flat), 0, "pcpy on DMA engines, all CUs for the GEMM");
}

/// conccl-rp: as conccl, but one compute unit of each die is withheld from GEMMs that are bound by the memory.
///
/// Such a GEMM does not need all units, and with fewer streams its operands stay in L2 longer: up to 10 % faster
/// alone with 8 fewer units on MI300X. Wins over conccl there; is the same for GEMMs bound by their compute units.
/// Loses where conccl loses, and where a GEMM close to the border is taken for memory-bound although it is not.
/// Published heuristic of ConCCL; 72 % of the ideal gain on average.
Result<OverlapWay> decide_conccl_rp(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(std::vector<CollectiveRequest> flat, on_engines(question, "pcpy", false));
  const bool memory_bound = std::ranges::all_of(
      question.problem.gemms, [&](const GemmShape& gemm) { return is_memory_bound(gemm, question.machine); });
  if (!memory_bound) {
    return beside_engines(std::move(flat), 0, "pcpy on DMA engines, all CUs for the compute-bound GEMM");
  }
  const std::uint32_t units = question.units_but_one_a_die();
  return beside_engines(
      std::move(flat), units,
      fmt::format("pcpy on DMA engines, {} of {} CUs for the memory-bound GEMM", units, question.units()));
}

}  // namespace

const std::vector<WayStrategy>& way_strategies() {
  static const std::vector<WayStrategy> list{
      {.name = "c3",
       .family = "C3",
       .summary = "two streams, the GEMM launched first",
       .wins = "GEMMs with fewer workgroups than the GPU has CUs",
       .loses = "large GEMMs: the collective starves until their last wave",
       .decide = decide_c3},
      {.name = "c3-sp",
       .family = "C3",
       .summary = "two streams, the kernel with fewer workgroups first",
       .wins = "GEMMs with many workgroups, where c3 starves the collective",
       .loses = "compute-bound GEMMs: the collective takes some of their CUs",
       .decide = decide_c3_sp},
      {.name = "c3-rp",
       .family = "C3",
       .summary = "CUs split between GEMM and collective",
       .wins = "collectives that need few CUs and take about as long as the GEMM",
       .loses = "if one takes much longer: the CUs of the other sit idle",
       .decide = decide_c3_rp},
      {.name = "c3-sp-rp",
       .family = "C3",
       .summary = "CUs split, and the kernel with fewer workgroups first",
       .wins = "small collectives next to GEMMs that can spare the CUs",
       .loses = "same as c3-rp",
       .decide = decide_c3_sp_rp},
      {.name = "conccl",
       .family = "ConCCL",
       .summary = "the collective on DMA engines, all CUs for the GEMM",
       .wins = "large collectives, especially next to compute-bound GEMMs",
       .loses = "small collectives: host and engines are slow to start",
       .decide = decide_conccl},
      {.name = "conccl-rp",
       .family = "ConCCL",
       .summary = "like conccl, but one CU per die withheld from memory-bound GEMMs",
       .wins = "large collectives next to memory-bound GEMMs",
       .loses = "same as conccl",
       .decide = decide_conccl_rp},
  };
  return list;
}

}  // namespace cortado::plan
