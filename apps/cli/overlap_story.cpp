#include "overlap_story.hpp"

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/visit.hpp"
#include "cortado/pipeline/overlap.hpp"

namespace cortado::cli {
namespace {

/// A layer's largest product of LLaMA-70B for 8192 tokens, and the same weights of the next layer from all GPUs.
OverlapRequest large_question() {
  OverlapRequest request;
  request.gemm = {8192, 57344, 8192, DType::bf16};
  request.collective.collective = "all-gather";
  request.collective.bytes = 896_MiB;
  request.collective.in_place = true;
  return request;
}

/// The same in a size that this computer does at once.
OverlapRequest small_question() {
  OverlapRequest request = large_question();
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

/// Proves the program of the choice once more, to say how large it is.
pipeline::Outcome<std::string> proof_text(const pipeline::OverlapReport& report, const Machine& machine) {
  auto program = plan_overlap(report.request, report.chosen(), machine);
  if (!program) return pipeline::fail_at(pipeline::Stage::plan, program.error());
  const auto verified = verify(*std::move(program), machine);
  if (!verified) return pipeline::fail_at(pipeline::Stage::verify, verified.error());
  std::size_t commands = 0;
  for (const Queue& queue : verified->program().queues) commands += queue.commands.size();
  return fmt::format("  proved: {} queues, {} commands; every gathered byte and every product of {} GPUs is right\n",
                     verified->program().queues.size(), commands, verified->program().ranks);
}

pipeline::Outcome<OverlapStory> real_run(const Machine& machine, device::Driver& driver) {
  pipeline::RunSettings settings;
  settings.run.iterations = 5;
  settings.warmup = 1;
  const OverlapRequest request = small_question();
  const auto report = pipeline::run_overlap(request, machine, driver, settings);
  if (!report && report.error().errors.front().code == "device.compute") {
    return OverlapStory{"  not run here: this device runs no kernels\n", 0};
  }
  if (!report) return tl::unexpected(report.error());
  OverlapStory story;
  for (const report::OverlapRow& row : report->rows) story.wrong += row.wrong.value_or(0);
  story.text = fmt::format("  run here, smaller: {} beside {}: {} policies, {} wrong bytes\n", to_string(request.gemm),
                           format_bytes(request.collective.bytes), report->rows.size(), story.wrong);
  return story;
}

}  // namespace

pipeline::Outcome<OverlapStory> overlap_story(const Machine& machine, device::Driver& driver) {
  const OverlapRequest request = large_question();
  OverlapStory story;
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
  const auto proof = proof_text(*report, machine);
  if (!proof) return tl::unexpected(proof.error());
  const auto run = real_run(machine, driver);
  if (!run) return tl::unexpected(run.error());
  story.text += *proof + run->text + "\n";
  story.wrong = run->wrong;
  return story;
}

}  // namespace cortado::cli
