// Derives which raises must come before a crossing.
//
// A raise x must come before the crossing of value v iff the counter cannot reach v without x: all other raises that
// may happen early enough add up to less than v. These "others" are the raises y of the signal, in this iteration and
// the next, except those that come after x (they cannot happen without x) and those that come after the crossing
// itself. If a raise of the next iteration may come early, no bound on the counter is assumed, since the raises after
// it may come early, too.
//
// Raises of one queue are ordered, so the answer is a prefix sum. With several queues, whether y comes after x depends
// on the very edges being derived. The right set is the largest set of edges that justify each other: suppose one of
// them were broken in some execution, and consider the first moment when that happens; until then all others hold, so
// the counter cannot have reached its value. To find the set, start with all raises that came before the crossing in
// one execution, and drop those that are not justified until none remain to drop.
//
// Example: three hosts each add 1 to a barrier and wait for 3. Without host 0's raise the counter stays at 2, because
// the raises of the next iteration come after the crossing. So every raise comes before every wait.
//
// What is derived for iteration 0 also holds in iteration k: all earlier iterations together contribute at most k*D(s).
#pragma once

#include <memory>

#include "verify/execution.hpp"
#include "verify/reachability.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {

/// The order given by the plain edges, which lead to the steps, and the derived ones. The execution must be complete.
std::unique_ptr<Reachability> order_with_crossings(const Unrolled& unrolled, const Execution& execution, Edges plain);

}  // namespace cortado::verifier
