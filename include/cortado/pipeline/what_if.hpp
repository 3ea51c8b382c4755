// The effect of hardware features that a machine lacks: the same overlap problem today and tomorrow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/overlap.hpp"

namespace cortado::pipeline {

struct FeatureInfo {
  std::string_view name;
  std::string_view summary;
};

/// tracker, nmc, mca.
std::vector<FeatureInfo> list_features();

/// The machine with these features, as another one has them (entries, costs, thresholds). Refuses unknown names with
/// the nearest known one, features that the other has not got, and ones that the machine has already
/// (what-if.feature).
Result<Machine> with_features(const Machine& machine, const std::vector<std::string>& features, const Machine& as);

struct WhatIfReport {
  std::vector<std::string> features;  ///< that were added
  OverlapReport today;
  OverlapReport tomorrow;

  double gain() const;  ///< time of today's choice over that of tomorrow's; never below 1
};

/// The same study on both machines. Tomorrow's machine may leave its new features unused: a strategy that is faster
/// without them runs as it does today.
Outcome<WhatIfReport> what_if(const OverlapProblem& problem, const Machine& today,
                              const std::vector<std::string>& features, const Machine& as,
                              const OverlapOptions& options = {});

report::Document what_if_document(const WhatIfReport& report);

}  // namespace cortado::pipeline
