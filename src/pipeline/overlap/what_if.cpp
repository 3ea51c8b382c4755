#include "cortado/pipeline/what_if.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

namespace cortado::pipeline {
namespace {

/// A feature: whether a machine has it, and how one gets it from another.
struct Feature {
  FeatureInfo info;
  bool (*has)(const Machine&);
  void (*give)(const Machine& from, Machine& to);
};

bool has_tracker(const Machine& machine) {
  return machine.features.tracker.has_value();
}

bool has_nmc(const Machine& machine) {
  return machine.features.near_memory_compute;
}

bool has_mca(const Machine& machine) {
  return machine.timing && machine.timing->memory.arbitration;
}

void give_tracker(const Machine& from, Machine& to) {
  to.features.tracker = from.features.tracker;
}

void give_nmc(const Machine& from, Machine& to) {
  to.features.near_memory_compute = true;
  if (from.timing && to.timing) to.timing->memory.update_cost = from.timing->memory.update_cost;
}

void give_mca(const Machine& from, Machine& to) {
  if (!to.timing) return;
  to.timing->memory.arbitration = from.timing->memory.arbitration;
  to.timing->memory.arbitration->policy = ArbitrationPolicy::mca;
}

constexpr std::array kFeatures{
    Feature{{"tracker", "counts updates of memory and releases waiting DMA commands"}, has_tracker, give_tracker},
    Feature{{"nmc", "near-memory compute: memory adds what is written to it"}, has_nmc, give_nmc},
    Feature{
        {"mca", "memory-controller arbitration: products first, communication below a threshold"}, has_mca, give_mca}};

}  // namespace

std::vector<FeatureInfo> list_features() {
  std::vector<FeatureInfo> all;
  for (const Feature& feature : kFeatures) all.push_back(feature.info);
  return all;
}

Result<Machine> with_features(const Machine& machine, const std::vector<std::string>& features, const Machine& as) {
  Machine changed = machine;
  for (const std::string& name : features) {
    const auto* feature = std::ranges::find(kFeatures, name, [](const Feature& one) { return one.info.name; });
    if (feature == kFeatures.end()) {
      std::vector<std::string> names;
      for (const Feature& one : kFeatures) names.emplace_back(one.info.name);
      const std::string near = nearest_name(name, names);
      return fail(
          "what-if.feature", fmt::format("there is no feature \"{}\"", name),
          fmt::format("{}features: {}", near.empty() ? "" : fmt::format("did you mean {}? ", near), join(names)));
    }
    if (feature->has(changed)) {
      return fail("what-if.feature", fmt::format("{} has {} already", changed.name, name),
                  "leave it out; cortado overlap --schedule systems compares all that a machine can do");
    }
    if (!feature->has(as)) {
      return fail("what-if.feature", fmt::format("{} has no {} that could be taken over", as.name, name),
                  "name a machine that has it, such as mi300x-8+t3");
    }
    feature->give(as, changed);
    changed.name += "+" + name;
  }
  return changed;
}

Outcome<report::WhatIfReport> what_if(const FusedRequest& request, const Machine& today,
                                      const std::vector<std::string>& features, const Machine& as,
                                      const FusedOptions& options) {
  const auto tomorrow = with_features(today, features, as);
  if (!tomorrow) return fail_at(Stage::plan, tomorrow.error());
  FusedOptions now = options;
  now.ways = {"sequential", "ficco", "c3"};
  FusedOptions then = options;
  then.ways.clear();  // what is possible today is so tomorrow
  const auto before = simulate_fused(request, today, now);
  if (!before) return tl::unexpected(before.error());
  const auto after = simulate_fused(request, *tomorrow, then);
  if (!after) return tl::unexpected(after.error());
  return report::WhatIfReport{features, *before, *after};
}

}  // namespace cortado::pipeline
