// What the all-reduce variants have in common: a reduction, and an all-gather of the sums in the same program and
// queues. An owner starts to push a piece of its sum as soon as that piece is complete.
//
//   out of place: sum over in<r> goes to every out<r>
//   in place:     sum over buf<r> replaces every buf<r>
#pragma once

#include "plan/collective/reduction.hpp"

namespace cortado::plan {

Result<Program> plan_all_reduce(Schedule& schedule, Reducer reduce);

}  // namespace cortado::plan
