// A product and its collective on a machine as it is and as it would be: as a table for people, as JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "cortado/report/fused.hpp"

namespace cortado::report {

struct WhatIfReport {
  std::vector<std::string> features;  ///< that were added
  FusedReport today;
  FusedReport tomorrow;

  /// Time of the best way of today over that of tomorrow.
  double gain() const;
};

std::string what_if_text(const WhatIfReport& report);

/// "schema": "cortado.what-if"; "today" and "tomorrow" are as "cortado.fused" (docs/json.md).
std::string what_if_json(const WhatIfReport& report);

}  // namespace cortado::report
