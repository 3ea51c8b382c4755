#include "dependent_story.hpp"

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/pipeline/dependent.hpp"

namespace cortado::cli {
namespace {

/// An attention projection of LLaMA-3 405B for 128 Ki tokens, which sequence parallelism has divided among the GPUs;
/// every GPU has 2048 of its columns.
DependentRequest large_dependent_question() {
  return {.gemm = {131072, 2048, 16384, DType::bf16}, .collective = "all-gather"};
}

/// The same in a size that this computer does at once.
DependentRequest small_dependent_question() {
  return {.gemm = {512, 128, 256, DType::f32}, .collective = "all-gather"};
}

std::string table_text(const pipeline::DependentReport& report) {
  TextTable table({"schedule", "steps", "predicted us", "speed-up", "% of ideal", "cutting x", "memory GB"});
  for (const report::DependentRow& row : report.rows) {
    table.add_row({row.schedule, fmt::format("{}", row.chunks), fmt::format("{:.0f}", microseconds(row.time)),
                   fmt::format("{:.2f}", row.speedup), fmt::format("{:.0f}", 100 * row.share_of_ideal),
                   fmt::format("{:.2f}", row.dil),
                   fmt::format("{:.1f}", 1e-9 * static_cast<double>(row.footprint.value))});
  }
  return table.to_string("  ");
}

pipeline::Outcome<StoryPart> run_dependent_question(const Machine& machine, device::Driver& driver) {
  const DependentRequest request = small_dependent_question();
  const auto report = pipeline::run_dependent(request, machine, driver, story_settings());
  if (!report) return not_run(report.error());
  StoryPart story;
  for (const report::DependentRow& row : report->rows) story.wrong += row.wrong.value_or(0);
  story.text = fmt::format("  run here, smaller: {} of what {} brings: {} schedules, {} wrong bytes\n",
                           to_string(request.gemm), request.collective, report->rows.size(), story.wrong);
  return story;
}

}  // namespace

pipeline::Outcome<StoryPart> dependent_story(const Machine& machine, device::Driver& driver) {
  const DependentRequest request = large_dependent_question();
  StoryPart story;
  story.text = fmt::format("And if the product needs what the collective brings? An {}, then {} of all its rows\n",
                           request.collective, to_string(request.gemm));
  if (const Status possible = check_gemm(request.gemm, machine); !possible) {
    story.text += fmt::format("  not predicted: {}\n\n", possible.error().message);
    return story;
  }
  pipeline::DependentOptions options;
  options.threads = available_cores();
  const auto report = pipeline::simulate_dependent(request, machine, options);
  if (!report) return tl::unexpected(report.error());
  story.text += table_text(*report);
  story.text += "  cutting x = the pieces of the product one after another, over the product in one\n";
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (report->row(info.name) != nullptr) story.text += fmt::format("  {} = {}\n", info.name, info.summary);
  }
  story.text += fmt::format("  use {}: {}\n", report->choice, report->reason);
  auto plan = plan_ficco(report->request, report->chosen(), machine);
  auto program = std::move(plan).map([](FiccoPlan&& made) { return std::move(made.program); });
  return with_proof_and_run(std::move(story), std::move(program), machine, "every product",
                            run_dependent_question(machine, driver));
}

}  // namespace cortado::cli
