#include "overlap_story.hpp"

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/pipeline/overlap.hpp"

namespace cortado::cli {
namespace {

/// A layer's largest product of LLaMA-70B for 8192 tokens, and the same weights of the next layer from all GPUs.
OverlapRequest large_overlap_question() {
  OverlapRequest request;
  request.gemm = {8192, 57344, 8192, DType::bf16};
  request.collective.collective = "all-gather";
  request.collective.bytes = 896_MiB;
  request.collective.in_place = true;
  return request;
}

/// The same in a size that this computer does at once.
OverlapRequest small_overlap_question() {
  OverlapRequest request = large_overlap_question();
  request.gemm = {256, 256, 256, DType::f32};
  request.collective.bytes = 1_MiB;
  return request;
}

std::string table_text(const pipeline::OverlapReport& report) {
  TextTable table({"policy", "collective", "predicted us", "speed-up", "% of ideal", "product x", "collective x"});
  for (const report::OverlapRow& row : report.rows) {
    table.add_row({row.policy, row.variant, fmt::format("{:.0f}", microseconds(row.time)),
                   fmt::format("{:.2f}", row.speedup), fmt::format("{:.0f}", 100 * row.share_of_ideal),
                   fmt::format("{:.2f}", row.gemm_slowdown), fmt::format("{:.2f}", row.comm_slowdown)});
  }
  return table.to_string("  ");
}

pipeline::Outcome<StoryPart> run_overlap_question(const Machine& machine, device::Driver& driver) {
  const OverlapRequest request = small_overlap_question();
  const auto report = pipeline::run_overlap(request, machine, driver, story_settings());
  if (!report) return not_run(report.error());
  StoryPart story;
  for (const report::OverlapRow& row : report->rows) story.wrong += row.wrong.value_or(0);
  story.text = fmt::format("  run here, smaller: {} beside {}: {} policies, {} wrong bytes\n", to_string(request.gemm),
                           format_bytes(request.collective.bytes), report->rows.size(), story.wrong);
  return story;
}

}  // namespace

pipeline::Outcome<StoryPart> overlap_story(const Machine& machine, device::Driver& driver) {
  const OverlapRequest request = large_overlap_question();
  StoryPart story;
  story.text =
      fmt::format("And while the compute units multiply? {} on every GPU, beside an {} of {} that does not need it\n",
                  to_string(request.gemm), request.collective.collective, format_bytes(request.collective.bytes));
  if (const Status possible = check_gemm(request.gemm, machine); !possible) {
    story.text += fmt::format("  not predicted: {}\n\n", possible.error().message);
    return story;
  }
  pipeline::OverlapOptions options;
  options.threads = available_cores();
  const auto report = pipeline::simulate_overlap(request, machine, options);
  if (!report) return tl::unexpected(report.error());
  story.text += table_text(*report);
  for (const PolicyInfo& info : list_policies()) story.text += fmt::format("  {} = {}\n", info.name, info.summary);
  story.text += fmt::format("  use {}: {}\n", report->choice, report->reason);
  return with_proof_and_run(std::move(story), plan_overlap(report->request, report->chosen(), machine), machine,
                            "every gathered byte and every product", run_overlap_question(machine, driver));
}

}  // namespace cortado::cli
