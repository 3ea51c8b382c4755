// point-to-point pcpy: the source (root) pushes its buffer to the destination (peer) on the engine that the machine
// prefers for it.
#include "cortado/program.hpp"

#include "plan/collective/variant.hpp"

namespace cortado::plan {
namespace {

Result<Program> plan_point_to_point_pcpy(Schedule& schedule) {
  const CollectiveRequest& request = schedule.request();
  const Region input = schedule.buffer("in", request.root, request.bytes, BufferRole::input);
  const Region output = schedule.buffer("out", request.peer, request.bytes, BufferRole::output);
  schedule.lane_towards(request.root, request.peer).copy(input, output);
  return schedule.finish(point_to_point_contract(input, output));
}

}  // namespace

Variant point_to_point_pcpy() {
  return {.info = {.collective = "point-to-point",
                   .variant = "pcpy",
                   .summary = "one copy from one rank to another",
                   .in_place = false,
                   .out_of_place = true},
          .plan = plan_point_to_point_pcpy,
          .rooted = true,
          .paired = true};
}

}  // namespace cortado::plan
