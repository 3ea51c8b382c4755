// Checks the request, and resolves what it leaves open.
#pragma once

#include "plan/t3.hpp"

namespace cortado::plan {

struct CheckedT3 {
  T3Request request;        ///< ranks and axis are final; split_k is that of the tiling
  std::vector<T3Map> maps;  ///< one per rank
  Tiling tiling;
};

/// With the maps of the algorithm.
Result<CheckedT3> check_t3(const T3Request& request, const Machine& machine);

/// With the given maps.
Result<CheckedT3> check_t3(const T3Request& request, const std::vector<T3Map>& maps, const Machine& machine);

}  // namespace cortado::plan
