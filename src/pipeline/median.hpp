#pragma once

#include <algorithm>
#include <vector>

#include "cortado/base/units.hpp"

namespace cortado::pipeline {

/// One of the values: of an even number the upper of the middle two. 0 if there are none.
inline Nanoseconds median(std::vector<Nanoseconds> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace cortado::pipeline
