// reduce-scatter cores-ll, cores-simple: every rank sends block j to rank j, which adds them up; one kernel per rank.
#include "plan/collective/core_kernels.hpp"
#include "plan/collective/reduce_scatter.hpp"

namespace cortado::plan {
namespace {

template <CoreProtocol kProtocol>
Result<Program> plan_reduce_scatter(Schedule& schedule) {
  ReduceScatter scatter(schedule);
  CoreKernels kernels(schedule, kProtocol, CoreKernels::OwnPart::afterwards);
  kernels.reduce(scatter.reduction());
  return scatter.finish();
}

}  // namespace

Variant reduce_scatter_cores_ll() {
  return {
      .info = {.collective = "reduce-scatter",
               .variant = "cores-ll",
               .summary = "kernels on compute units: blocks and flags into staging memory, added there; host per rank",
               .in_place = true,
               .out_of_place = true,
               .on_cores = true},
      .plan = plan_reduce_scatter<CoreProtocol::ll>,
      .reduces = true};
}

Variant reduce_scatter_cores_simple() {
  return {
      .info = {.collective = "reduce-scatter",
               .variant = "cores-simple",
               .summary =
                   "kernels on compute units: blocks into scratch memory after a handshake, added there; host per rank",
               .in_place = true,
               .out_of_place = true,
               .on_cores = true},
      .plan = plan_reduce_scatter<CoreProtocol::simple>,
      .reduces = true};
}

}  // namespace cortado::plan
