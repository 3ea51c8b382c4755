#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "base/text.hpp"

namespace cortado::pipeline {
namespace {

/// A feature: whether a machine has it, and how to copy it from another machine.
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

/// A feature that is an optional part of Features and nothing else.
template <auto Part>
bool has_part(const Machine& machine) {
  return (machine.features.*Part).has_value();
}

template <auto Part>
void give_part(const Machine& from, Machine& to) {
  to.features.*Part = from.features.*Part;
}

template <auto Part>
constexpr Feature part(std::string_view name, std::string_view summary) {
  return {{name, summary, "mi300x-8+codesign"}, has_part<Part>, give_part<Part>};
}

constexpr std::string_view kT3 = "mi300x-8+t3";

constexpr std::array kFeatures{
    Feature{{"tracker", "counts memory updates and releases waiting DMA commands", kT3}, has_tracker, give_tracker},
    Feature{{"nmc", "near-memory compute: memory adds what is written to it", kT3}, has_nmc, give_nmc},
    Feature{
        {"mca", "memory-controller arbitration: GEMMs first, communication below a threshold", kT3}, has_mca, give_mca},
    part<&Features::multicast>("multicast", "one DMA packet, one read, several destinations"),
    part<&Features::fused_packets>("fused-packets", "wait, copy and signal in one DMA packet"),
    part<&Features::indirect>("indirect", "one DMA packet walks a list of addresses, such as a block table"),
    part<&Features::engine_add>("engine-add", "DMA engines add to the destination"),
    part<&Features::device_initiated>("device-initiated", "kernels write DMA packets and ring doorbells")};

/// A strategy of today's machine in the study of the new one, with the new features unused if that is faster.
void use_if_faster(const OverlapRow& row, const OverlapReport& today, OverlapReport& tomorrow) {
  const auto same = std::ranges::find(tomorrow.rows, row.strategy, &OverlapRow::strategy);
  if (same != tomorrow.rows.end() && same->time <= row.time) return;
  OverlapRow unused = row;
  unused.how += unused.how.empty() ? "new features unused" : "; new features unused";
  if (same != tomorrow.rows.end()) {
    *same = unused;
  } else {
    tomorrow.rows.push_back(unused);
  }
  const OverlapRow* best = tomorrow.row(tomorrow.choice);
  if (row.bound || (best != nullptr && best->time <= row.time)) return;
  tomorrow.choice = row.strategy;
  tomorrow.reason = "new features do not help";
  tomorrow.chosen = today.choice == row.strategy ? today.chosen : nullptr;
}

}  // namespace

std::vector<FeatureInfo> list_features() {
  std::vector<FeatureInfo> all;
  for (const Feature& feature : kFeatures) all.push_back(feature.info);
  return all;
}

Result<Machine> with_features(const Machine& machine, const std::vector<std::string>& features) {
  Machine changed = machine;
  for (const std::string& name : features) {
    const auto* feature = std::ranges::find(kFeatures, name, [](const Feature& one) { return one.info.name; });
    const std::string_view home = feature == kFeatures.end() ? kT3 : feature->info.machine;
    CORTADO_ASSIGN_OR_RETURN(const Machine as, load_machine(std::string(home)));
    CORTADO_ASSIGN_OR_RETURN(changed, with_features(changed, {name}, as));
  }
  return changed;
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
          "what-if.feature", fmt::format("unknown feature \"{}\"", name),
          fmt::format("{}features: {}", near.empty() ? "" : fmt::format("did you mean {}? ", near), join(names)));
    }
    if (feature->has(changed)) {
      return fail("what-if.feature", fmt::format("{} already has {}", changed.name, name),
                  "leave it out; cortado overlap compares everything that a machine can do");
    }
    if (!feature->has(as)) {
      return fail("what-if.feature", fmt::format("{} has no {} that could be copied", as.name, name),
                  fmt::format("use a machine that has it, such as {}", feature->info.machine));
    }
    feature->give(as, changed);
    changed.name += "+" + name;
  }
  return changed;
}

double WhatIfReport::gain() const {
  if (today.rows.empty() || tomorrow.rows.empty()) return 1;
  return microseconds(today.row(today.choice)->time) / microseconds(tomorrow.row(tomorrow.choice)->time);
}

Outcome<WhatIfReport> what_if(const OverlapProblem& problem, const Machine& today,
                              const std::vector<std::string>& features, const std::optional<Machine>& as,
                              const OverlapOptions& options) {
  const auto tomorrow = as ? with_features(today, features, *as) : with_features(today, features);
  if (!tomorrow) return fail_at(Stage::plan, tomorrow.error());
  auto before = study_overlap(problem, today, options);
  if (!before && !options.strategies.empty()) {  // which may need what today's machine lacks
    OverlapOptions without = options;
    without.strategies = {"serial"};
    if (auto serial = study_overlap(problem, today, without)) before = std::move(serial);
  }
  if (!before) return fail(before.error());
  auto after = study_overlap(problem, *tomorrow, options);
  if (!after) return fail(after.error());
  for (const OverlapRow& row : before->rows) use_if_faster(row, *before, *after);
  return WhatIfReport{features, *std::move(before), *std::move(after)};
}

report::Document what_if_document(const WhatIfReport& report) {
  const OverlapRow* best = report.today.row(report.today.choice);
  const double today_us = best == nullptr ? 0 : microseconds(best->time);
  report::Document document{.schema = "cortado.what-if", .version = 2};
  document.title = fmt::format("what if {} had {}: {}", report.today.machine, join(report.features),
                               overlap_document(report.today).title);
  document.facts = {{"features", report::Cell::List(report.features), "features that were added"},
                    {"gain", report.gain(), "time of today's best over that of tomorrow's best"},
                    {"today_choice", report.today.choice, "recommended strategy today"},
                    {"tomorrow_choice", report.tomorrow.choice, "recommended strategy tomorrow"}};
  report::Table table{.key = "rows", .meaning = "one per strategy and machine"};
  for (const auto& [when, study] : {std::pair{"today", &report.today}, {"tomorrow", &report.tomorrow}}) {
    const report::Document one = overlap_document(*study);
    const report::Table& rows = one.tables.front();
    if (table.columns.empty()) {
      table.columns = rows.columns;
      table.columns.insert(table.columns.begin(), {{.key = "when", .head = "when", .meaning = "today or tomorrow"},
                                                   {.key = "over_today",
                                                    .head = "over best of today",
                                                    .digits = 2,
                                                    .meaning = "time of today's best over this one"}});
      std::swap(table.columns[1], table.columns[2]);
    }
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      report::Row row = rows.rows[i];
      row.insert(row.begin() + 1, report::Cell(today_us / microseconds(study->rows[i].time)));
      row.insert(row.begin(), report::Cell(when));
      table.add(std::move(row));
    }
    for (const report::SkippedWay& skipped : study->skipped) {
      document.notes.push_back(fmt::format("{}, {} left out: {}", when, skipped.name, to_string(skipped.reason)));
    }
  }
  table.charts = {
      {.title = "Time by strategy, today and tomorrow", .values = {"time_us"}, .labels = {"when", "strategy"}}};
  document.tables = {std::move(table)};
  const std::string gain = fmt::format("{:.2f}", report.gain());
  document.answer = {gain == "1.00" && report.tomorrow.choice == report.today.choice
                         ? fmt::format("{} makes no difference: {} stays the best and takes as long",
                                       join(report.features, " and "), report.today.choice)
                         : fmt::format("tomorrow's best, {}, is {} times as fast as today's, {}",
                                       report.tomorrow.choice, gain, report.today.choice)};
  return document;
}

}  // namespace cortado::pipeline
