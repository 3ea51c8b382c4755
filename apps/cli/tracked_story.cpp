#include "tracked_story.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/pipeline/devices.hpp"
#include "cortado/pipeline/what_if.hpp"

namespace cortado::cli {
namespace {

const std::vector<std::string> kFeatures{"tracker", "nmc", "mca"};
constexpr const char* kFeaturesOf = "mi300x-8+t3";

/// The second layer of a feed-forward block as wide as LLaMA-70B's, for 8 Ki tokens; every GPU has 3584 of its inputs.
pipeline::FusedRequest large_tracked_question() {
  return {.gemm = {8192, 8192, 3584, DType::bf16}};
}

/// The same in a size that this computer does at once.
pipeline::FusedRequest small_tracked_question(const Machine& machine) {
  return {.gemm = {256, 128, 64, DType::f32}, .ranks = std::min(machine.gpus, 4U)};
}

std::string table_text(const report::WhatIfReport& report) {
  TextTable table({"when", "schedule", "predicted us", "over best of today", "how"});
  const double today = microseconds(report.today.row(report.today.choice)->time);
  const auto add = [&](const char* when, const report::FusedReport& part) {
    for (const report::FusedRow& row : part.rows) {
      if (row.bound) continue;
      table.add_row({when, row.way, fmt::format("{:.0f}", microseconds(row.time)),
                     fmt::format("{:.2f}", today / microseconds(row.time)), row.how});
    }
  };
  add("today", report.today);
  add("tomorrow", report.tomorrow);
  return table.to_string("  ");
}

pipeline::Outcome<StoryPart> run_tracked_question(const Machine& tomorrow) {
  const pipeline::FusedRequest request = small_tracked_question(tomorrow);
  const auto driver = pipeline::open_device({.gpus = request.ranks}, tomorrow);
  if (!driver) return pipeline::fail_at(pipeline::Stage::prepare, driver.error());
  const auto report = pipeline::run_fused(request, tomorrow, **driver, story_settings(), {.ways = {"t3"}});
  if (!report) return not_run(report.error());
  StoryPart story;
  story.wrong = report->rows.front().wrong.value_or(0);
  story.text = fmt::format("  run here, smaller: {} on {} GPUs, trackers, adding memory and all: {} wrong bytes\n",
                           to_string(request.gemm), request.ranks, story.wrong);
  return story;
}

}  // namespace

pipeline::Outcome<StoryPart> tracked_story(const Machine& machine, device::Driver&) {
  const pipeline::FusedRequest request = large_tracked_question();
  StoryPart story;
  story.text =
      fmt::format("And if the memory counted stores, set off DMA and added (T3)? {}, then {} of what it makes\n",
                  to_string(request.gemm), request.collective);
  const auto skip = [&](const Diagnostic& reason) {
    story.text += fmt::format("  not predicted: {}\n\n", reason.message);
    return story;
  };
  if (const Status possible = check_gemm(request.gemm, machine); !possible) return skip(possible.error());
  const auto as = load_machine(kFeaturesOf);
  if (!as) return pipeline::fail_at(pipeline::Stage::plan, as.error());
  const auto tomorrow = pipeline::with_features(machine, kFeatures, *as);
  if (!tomorrow) return skip(tomorrow.error());
  pipeline::FusedOptions options;
  options.threads = available_cores();
  const auto report = pipeline::what_if(request, machine, kFeatures, *as, options);
  if (!report) return skip(report.error().errors.front());
  story.text += table_text(*report);
  story.text += fmt::format("  tomorrow's best, {}, is {:.2f} times as fast as today's, {}\n", report->tomorrow.choice,
                            report->gain(), report->today.choice);
  return with_proof_and_run(std::move(story), pipeline::plan_fused(request, report->tomorrow.choice, *tomorrow),
                            *tomorrow, "every sum of products", run_tracked_question(*tomorrow));
}

}  // namespace cortado::cli
