// uniform-cap: one limit for the whole GPU, lower than the cap of the board and enforced in the same way, whatever
// runs.
#include "sim/power/policies/policy.hpp"

namespace cortado::sim {

extern const PowerPolicy kUniformCap{.name = "uniform-cap",
                                     .summary = "like none, but with a lower limit for the whole GPU (--limit)",
                                     .has_limit = true,
                                     .decide = decide_as_board};

}  // namespace cortado::sim
