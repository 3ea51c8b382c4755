// Checks of a request before any policy looks at it.
#pragma once

#include "cortado/plan/c3.hpp"

namespace cortado::plan {

/// The request with its final number of ranks and with nothing said of how the collective is done; or why no policy can
/// do it on this machine.
Result<OverlapRequest> check_overlap(const OverlapRequest& request, const Machine& machine);

}  // namespace cortado::plan
