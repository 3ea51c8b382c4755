// The variant of the exchange of every step.
#pragma once

#include <vector>

#include "plan/ficco/bench.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado::plan {

/// What the schedule says, or what exchange_cost.hpp finds fastest for the largest pieces and GEMMs of the step. Plain
/// copies where there is no choice: compute units that move bytes, one peer per step, and GEMMs that come first: their
/// kernels are launched first and packets are built while they run, so that fewer packets save little. These have the
/// same variant in all steps.
std::vector<ExchangeVariant> choose_exchanges(const DependentRequest& request, const FiccoSchedule& way,
                                              const Exchange& exchange, const Steps& steps, const Machine& machine,
                                              Bench& bench);

}  // namespace cortado::plan
