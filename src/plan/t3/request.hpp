// Checks what is asked for, and settles what was left open.
#pragma once

#include "plan/t3.hpp"

namespace cortado::plan {

struct CheckedT3 {
  T3Request request;        ///< ranks and axis are final; split_k is that of the tiling
  std::vector<T3Map> maps;  ///< one a rank
  Tiling tiling;
};

/// The maps of the algorithm.
Result<CheckedT3> check_t3(const T3Request& request, const Machine& machine);

/// The maps that are given.
Result<CheckedT3> check_t3(const T3Request& request, const std::vector<T3Map>& maps, const Machine& machine);

}  // namespace cortado::plan
