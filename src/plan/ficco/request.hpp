// Checks that a dependent GEMM can be planned.
#pragma once

#include "plan/ficco.hpp"

namespace cortado::plan {

struct CheckedDependence {
  DependentRequest request;  ///< with its number of ranks and rows
  FiccoSchedule schedule;    ///< with its number of chunks
};

Result<CheckedDependence> check_dependent(const DependentRequest& request, const FiccoSchedule& schedule,
                                          const Machine& machine);

}  // namespace cortado::plan
