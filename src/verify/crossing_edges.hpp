// Derives which raises must come before a crossing.
//
// A raise x comes before the crossing of value v iff the counter cannot reach v without x: the others that may come
// early enough raise it by less than v in all. "Others" are the raises y of the signal, of this and of the next
// iteration, except those that come after x (they cannot happen without x) and those that come after the crossing
// itself. A raise of the next iteration that may come early counts without limit, as those behind it may, too.
//
// Raises of one queue are ordered, so there the answer is a prefix sum. With several queues, whether y comes after x
// depends on the very edges being derived. The largest set of edges that justify each other is the right one: were one
// of them broken in some execution, look at the first moment when that happens; until then all others hold, so the
// counter cannot have reached its value. To find the set, start from all raises that did come before the crossing in
// one execution, and drop those that are not justified until none is left to drop.
//
// Example: three hosts each add 1 to a barrier and wait for 3. Without host 0's raise the counter stays at 2, as the
// raises of the next iteration come after the crossing. So every raise comes before every wait.
//
// What is derived for iteration 0 holds in iteration k as well: all earlier iterations contribute at most k*D(s).
#pragma once

#include <memory>
#include <vector>

#include "verify/execution.hpp"
#include "verify/reachability.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {

/// The order made of the plain edges and of the derived ones. The execution must be complete.
std::unique_ptr<Reachability> order_with_crossings(const Unrolled& unrolled, const Execution& execution,
                                                   std::vector<Edge> plain);

}  // namespace cortado::verifier
