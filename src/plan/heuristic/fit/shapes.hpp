// GEMMs and collectives on which the choice of a schedule is fitted and judged: two sets from one seeded generator.
//
// Half of a set are GEMMs of transformers, the other half has sizes drawn log-uniformly, a third of them odd. All
// four directions come equally often, f16 and bf16 by chance. The two sets have no GEMM of one element type in
// common, and their transformers are different ones.
#pragma once

#include <string_view>
#include <vector>

#include "plan/ficco.hpp"

namespace cortado::schedules {

enum class ShapeSet {
  training,  ///< thresholds are fitted to it
  unseen,    ///< nothing is
};

std::string_view name_of(ShapeSet set);

/// For eight ranks. The same on every computer.
std::vector<DependentRequest> shapes(ShapeSet set);

}  // namespace cortado::schedules
