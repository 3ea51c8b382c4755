// What hardware that a machine has not got would give: the same product and collective today and tomorrow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/fused.hpp"
#include "cortado/report/what_if.hpp"

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

/// Ways of today on the machine as it is; all ways on the machine with these features, as another one has them.
Outcome<report::WhatIfReport> what_if(const FusedRequest& request, const Machine& today,
                                      const std::vector<std::string>& features, const Machine& as,
                                      const FusedOptions& options = {});

}  // namespace cortado::pipeline
