// c3-sp, schedule priority: kernels are launched in ascending order of workgroups. A collective has few (its compute
// units), so it nearly always goes first, with priority, and is not starved.
//
// Wins over c3 when the GEMM has many workgroups. Loses against partitions when the library takes more units than
// its links can feed, and against DMA engines always when the GEMM is bound by its compute units: those of the
// collective are missing. Published heuristic of ConCCL; 42 % of the ideal gain on average.
#include <fmt/format.h>

#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace {

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

}  // namespace

WayStrategy c3_sp_strategy() {
  return {.name = "c3-sp",
          .family = "C3",
          .summary = "two streams, the kernel with fewer workgroups first",
          .wins = "GEMMs with many workgroups, where c3 starves the collective",
          .loses = "compute-bound GEMMs: the collective takes some of their CUs",
          .decide = decide_c3_sp};
}

}  // namespace cortado::plan
