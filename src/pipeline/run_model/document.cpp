#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "pipeline/run_model.hpp"

namespace cortado::pipeline {
namespace {

using report::Cell;

struct SequenceRow {
  std::size_t number = 0;
  std::vector<std::uint32_t> tokens;
  double margin = 0;
};

report::Table program_table(const ModelRun& run) {
  const std::vector<report::Field<ModelProgram>> fields{
      {{.key = "program", .head = "program", .meaning = "part of a pass: embedding, layer or head"},
       [](const ModelProgram& row) { return Cell(row.name); }},
      {{.key = "pairs", .head = "GEMMs and collectives", .meaning = "strategies by which they were planned"},
       [](const ModelProgram& row) { return Cell(row.pairs); }},
      {{.key = "commands", .head = "commands", .meaning = "commands in all queues"},
       [](const ModelProgram& row) { return Cell(static_cast<std::int64_t>(row.commands)); }},
      {{.key = "runs", .head = "runs", .meaning = "how often it ran"},
       [](const ModelProgram& row) { return Cell(static_cast<std::int64_t>(row.runs)); }},
      {{.key = "time_us", .head = "time", .unit = "us", .digits = 0, .meaning = "measured, of all runs"},
       [](const ModelProgram& row) { return Cell(static_cast<double>(row.time.value) * 1e-3); }}};
  return report::table_of("programs", "one per program, in the order of planning", fields, run.programs);
}

report::Table token_table(const ModelRun& run) {
  std::vector<SequenceRow> rows;
  for (std::size_t s = 0; s < run.tokens.size(); ++s) {
    rows.push_back({s, run.tokens[s], *std::ranges::min_element(run.margins[s])});
  }
  const std::vector<report::Field<SequenceRow>> fields{
      {{.key = "sequence", .head = "sequence", .meaning = "counted from 0"},
       [](const SequenceRow& row) { return Cell(static_cast<std::int64_t>(row.number)); }},
      {{.key = "tokens", .head = "tokens", .meaning = "numbers of the tokens that follow its prompt"},
       [](const SequenceRow& row) { return Cell(fmt::format("{}", fmt::join(row.tokens, " "))); }},
      {{.key = "margin",
        .head = "margin",
        .digits = 2,
        .meaning = "smallest gap between its best two logits, relative to the largest logit",
        .notation = report::Notation::significant},
       [](const SequenceRow& row) { return Cell(row.margin); }}};
  return report::table_of("sequences", "one per sequence", fields, rows);
}

}  // namespace

report::Document model_run_document(const ModelRun& run) {
  const ModelRunRequest& request = run.request;
  report::Document document{.schema = "cortado.model_run"};
  document.title = fmt::format("{} on {}, tp {}, {}", request.model.name, run.where, request.tp, request.strategy);
  document.about = {
      fmt::format("{} sequences, {} prompt tokens and {} output tokens; checkpoint and prompts from seed {}",
                  request.sequences, request.prompt, request.output, request.seed)};
  document.facts = {
      {"model", request.model.name, "name of the model, or path of its config.json"},
      {"node", run.where, "where it ran"},
      {"tp", static_cast<std::int64_t>(request.tp), "GPUs that share each layer"},
      {"strategy", request.strategy, "strategy that was requested"},
      {"checked_bytes", static_cast<std::int64_t>(run.checked_bytes),
       "output bytes that were compared with the formula"},
      {"wrong_bytes", static_cast<std::int64_t>(run.wrong_bytes), "how many of them exceed the tolerance"},
      {"close_tokens", static_cast<std::int64_t>(run.close_tokens()),
       "tokens whose best two logits differ by less than the tolerance: rounding may pick either"}};
  document.tables = {program_table(run), token_table(run)};
  document.notes = run.notes;
  document.notes.push_back(
      fmt::format("every program was proved; {} output bytes checked, {} wrong; {} of {} tokens too close to call",
                  run.checked_bytes, run.wrong_bytes, run.close_tokens(), request.sequences * request.output));
  return document;
}

}  // namespace cortado::pipeline
