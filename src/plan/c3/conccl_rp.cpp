// conccl-rp: as conccl, but one compute unit of each die is withheld from GEMMs that are bound by the memory.
//
// Such a GEMM does not need all units, and with fewer streams its operands stay in L2 longer: up to 10 % faster
// alone with 8 units fewer on MI300X. Wins over conccl there; is the same for GEMMs bound by their compute units.
// Loses where conccl loses, and where a GEMM close to the border is taken for memory-bound though the units decide.
// Published heuristic of ConCCL; 72 % of the ideal gain on average.
#include <algorithm>

#include <fmt/format.h>

#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace {

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

WayStrategy conccl_rp_strategy() {
  return {.name = "conccl-rp",
          .family = "ConCCL",
          .summary = "like conccl, but one CU per die withheld from memory-bound GEMMs",
          .wins = "large collectives next to memory-bound GEMMs",
          .loses = "same as conccl",
          .decide = decide_conccl_rp};
}

}  // namespace cortado::plan
