// serial: the product, then the collective on compute units as a library does it. Each has the GPU for itself.
//
// Wins when there is nothing to hide: one of the two is so short that sharing costs more than it saves, or both need
// all of the memory. Loses everywhere else; it is the measure of the others (speed-up 1).
// The library's variant (cores-ll or cores-simple) is the one that is faster alone; so it is in c3 and c3-sp.
#include <fmt/format.h>

#include "cortado/plan/choose.hpp"

#include "plan/c3/policy.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_serial(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(const TimedCollective library, library_collective(question));
  return OverlapWay{.order = LaunchOrder::serial,
                    .collective = library.request,
                    .why = fmt::format("product, then {}", way_name(library.request))};
}

}  // namespace

Policy serial_policy() {
  return {.info = {.name = "serial",
                   .summary = "the product, then the collective on compute units",
                   .wins = "one of the two is too short to be worth sharing the GPU for",
                   .loses = "nearly always: nothing overlaps"},
          .decide = decide_serial};
}

}  // namespace cortado::plan
