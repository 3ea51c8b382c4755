// What each hardware feature of DMA engines (docs/codesign.md) would gain on a machine that lacks it: small and large
// collectives, and KV blocks from host memory; the fastest of all applicable ways, with and without it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/report.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {

struct FeatureGain {
  std::string feature;
  std::string question;  ///< "all-gather 64KiB"
  std::string today;     ///< fastest variant or strategy without the feature
  double today_seconds = 0;
  std::string tomorrow;
  double tomorrow_seconds = 0;
};

struct FeatureGains {
  std::string machine;
  std::vector<FeatureGain> rows{};
};

/// The features of the table: those of DMA engines.
std::vector<std::string_view> engine_features();
/// Of these, the ones that can be added to the machine.
std::vector<std::string> lacking_features(const Machine& machine);

/// Refuses machines without timing or host links, and machines that already have one of the features.
Outcome<FeatureGains> feature_gains(const Machine& machine, const std::vector<std::string>& features);

report::Document feature_gains_document(const FeatureGains& gains);

}  // namespace cortado::pipeline
