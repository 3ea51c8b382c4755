#include "pipeline/overlap/asked.hpp"

#include <algorithm>

#include "plan/overlap.hpp"

namespace cortado::pipeline {
namespace {

/// Other reasons why a strategy does not apply are told only to those who name it: most machines lack what T3 needs.
constexpr std::string_view kMissingLink = "plan.link";

}  // namespace

Result<std::vector<Asked>> find_asked(const OverlapProblem& problem, const Machine& machine,
                                      const OverlapOptions& options, std::vector<report::SkippedWay>& skipped) {
  const bool independent = problem.relation == Relation::independent;
  std::vector<Asked> all;
  const auto& names = options.strategies;
  const auto add = [&](std::string_view name, bool by_name) -> Status {
    CORTADO_ASSIGN_OR_RETURN(const NamedStrategy named, find_strategy(name, options.knobs));
    const Status applies = named.strategy->applies(problem, machine);
    if (applies) {
      all.push_back({.name = std::string(name), .named = named, .by_name = by_name});
    } else if (by_name || applies.error().code == kMissingLink) {
      skipped.push_back({std::string(name), applies.error()});
    }
    return {};
  };
  // The search is over the schedules of FiCCO and tiles, and c3.
  const Status exchanges = independent ? Status{} : find_strategy("ficco")->strategy->applies(problem, machine);
  const bool searchable = exchanges.has_value();
  // All strategies, what a search finds beside them (every search would also find what the rows of ficco and c3
  // have), then bounds.
  const auto add_all = [&](bool also_unusual) -> Status {
    for (const bool bounds : {false, true}) {
      for (const Strategy& strategy : strategies()) {
        if (bounds != !strategy.plan || !(also_unusual || strategy.by_default)) continue;
        CORTADO_RETURN_IF_ERROR(add(strategy.name, false));
      }
      if (bounds || !searchable) continue;
      all.push_back({.name = std::string(kAutoStrategy), .searched = ScheduleFamily::tiles});
    }
    return {};
  };
  if (names.empty()) {
    CORTADO_RETURN_IF_ERROR(add_all(false));
    return all;
  }
  for (const std::string& name : names) {
    if (name == kAllStrategies) {
      CORTADO_RETURN_IF_ERROR(add_all(true));
      continue;
    }
    if (name != kAutoStrategy) {
      CORTADO_RETURN_IF_ERROR(add(name, true));
      continue;
    }
    if (std::ranges::count(names, "serial") == 0) CORTADO_RETURN_IF_ERROR(add("serial", true));
    if (std::ranges::count(names, "serial-direct") == 0) CORTADO_RETURN_IF_ERROR(add("serial-direct", false));
    if (searchable) {
      all.push_back({name});
    } else if (exchanges.error().code == kMissingLink) {
      skipped.push_back({"the search of schedules", exchanges.error()});
    }
    if (!independent) {
      // What is left where pieces cannot be exchanged.
      for (const char* whole : {"serial-dma", "c3"}) {
        if (!searchable) CORTADO_RETURN_IF_ERROR(add(whole, false));
      }
      for (const char* best : {"t3", "t3-mca"}) CORTADO_RETURN_IF_ERROR(add(best, false));
    }
  }
  if (all.empty()) return fail(skipped.front().reason);
  return all;
}

}  // namespace cortado::pipeline
