// uniform-cap: one limit for the whole GPU, lower than the cap of the board and kept to in the same way, whatever runs.
#include "sim/power/policies/policy.hpp"

namespace cortado::sim {

Clocks decide_uniform_cap(const GpuActivity& activity, const PolicyInputs& inputs) {
  return decide_none(activity, inputs);
}

}  // namespace cortado::sim
