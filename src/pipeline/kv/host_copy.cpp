#include "pipeline/kv/host_copy.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::pipeline {

std::string_view name_of(plan::KvDirection direction) {
  switch (direction) {
    case plan::KvDirection::fetch:
      return "to-gpu";
    case plan::KvDirection::store:
      return "from-gpu";
    case plan::KvDirection::both:
      return "both";
  }
  return "?";
}

Outcome<HostCopyRow> host_copy(Bytes block, std::uint64_t count, const std::string& strategy,
                               plan::KvDirection direction, const Machine& machine, Target& target,
                               const RunOptions& options) {
  const auto named = plan::find_kv_strategy(strategy);
  if (!named) return fail_at(Stage::plan, named.error());
  const plan::KvRequest request{.blocks = count, .fragment = block, .direction = direction, .engines = named->engines};
  const auto program = prove(named->strategy->plan(request, machine), machine);
  if (!program) return fail(program.error());
  const auto run = target.run(*program, options);
  if (!run) return fail(run.error());
  HostCopyRow row{block, direction, strategy, count, static_cast<double>(run->time.value) * 1e-9, 0, {}};
  const double bytes =
      static_cast<double>(block.value) * static_cast<double>(count) * (direction == plan::KvDirection::both ? 2 : 1);
  row.gbps = row.seconds > 0 ? bytes / row.seconds * 1e-9 : 0;
  if (run->check) row.wrong = run->check->wrong;
  return row;
}

Outcome<HostCopyReport> bench_host_copy(const HostCopyRequest& request, const Machine& machine, Target& target,
                                        const RunOptions& options) {
  HostCopyReport report{machine.name, target.where(), target.predicts(), {}};
  for (const plan::KvDirection direction : request.directions) {
    for (const std::string& strategy : request.strategies) {
      for (const Bytes block : request.blocks) {
        auto row = host_copy(block, request.count, strategy, direction, machine, target, options);
        if (!row) return fail(row.error());
        report.rows.push_back(*std::move(row));
      }
    }
  }
  return report;
}

report::Document host_copy_document(const HostCopyReport& report) {
  using report::Cell;
  using Fields = std::vector<report::Field<HostCopyRow>>;
  const Fields fields{{{.key = "direction", .head = "direction", .meaning = "to-gpu, from-gpu, or both at once"},
                       [](const HostCopyRow& row) { return Cell(name_of(row.direction)); }},
                      {{.key = "strategy", .head = "strategy", .meaning = "how the blocks are copied"},
                       [](const HostCopyRow& row) { return Cell(row.strategy); }},
                      {{.key = "block_bytes", .head = "block", .meaning = "bytes of a block"},
                       [](const HostCopyRow& row) { return Cell(row.block).shown_as(format_bytes(row.block)); }},
                      {{.key = "blocks", .head = "blocks", .meaning = "blocks per transfer and direction"},
                       [](const HostCopyRow& row) { return Cell(row.count); }},
                      {{.key = "time_us", .head = "time", .unit = "us", .digits = 1, .meaning = "time of the transfer"},
                       [](const HostCopyRow& row) { return Cell(row.seconds * 1e6); }},
                      {{.key = "GBps", .head = "GB/s", .digits = 2, .meaning = "rate of both directions together"},
                       [](const HostCopyRow& row) { return Cell(row.gbps); }},
                      {{.key = "wrong", .head = "wrong", .meaning = "output bytes that are wrong; null: predicted"},
                       [](const HostCopyRow& row) { return Cell(row.wrong); }}};
  report::Document document{.schema = "cortado.host_copy"};
  document.title = fmt::format("copies between host memory and one GPU of {}", report.machine);
  document.about = {report.predicted ? fmt::format("predicted by the simulator for {}", report.machine)
                                     : fmt::format("measured on {}", report.where)};
  document.facts = {{"machine", report.machine, "machine that the programs are planned for", true},
                    {"where", report.where, "modelled machine, or the node"},
                    {"predicted", report.predicted, "times are simulated"}};
  document.tables.push_back(
      report::table_of<HostCopyRow>("rows", "one per direction, strategy and block size", fields, report.rows));
  document.tables.back().charts = {{.kind = report::Chart::Kind::lines,
                                    .title = "GB/s by block size",
                                    .values = {"GBps"},
                                    .labels = {"block_bytes"},
                                    .series = {"direction", "strategy"}}};
  document.measured = !report.predicted;
  return document;
}

}  // namespace cortado::pipeline
