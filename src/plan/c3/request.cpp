#include "plan/c3/request.hpp"

#include <fmt/format.h>

namespace cortado::plan {

Result<OverlapRequest> check_overlap(const OverlapRequest& request, const Machine& machine) {
  const CollectiveRequest& asked = request.collective;
  CORTADO_RETURN_IF_ERROR(check_collective(asked.collective));
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

}  // namespace cortado::plan
