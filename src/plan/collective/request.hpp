// Checks of a request before anything is planned.
#pragma once

#include "cortado/plan/collective.hpp"

#include "plan/collective/variant.hpp"

namespace cortado::plan {

/// The request with its final number of ranks, or why this variant cannot do it on this machine.
Result<CollectiveRequest> check_request(const CollectiveRequest& request, const Variant& variant,
                                        const Machine& machine);

/// "use 512 or 1KiB": the multiples of `unit` around `bytes`.
std::string nearest_multiples(Bytes bytes, Bytes unit);

}  // namespace cortado::plan
