#include "report/bench_rows.hpp"

#include <map>

#include <fmt/format.h>

#include "cortado/timeline.hpp"

#include "base/text.hpp"
#include "report/energy.hpp"
#include "report/skipped.hpp"

namespace cortado::report {
namespace {

Bandwidths bandwidths_of(const BenchHeader& header, const BenchRow& row) {
  return bandwidths(header.collective, header.ranks, row.bytes, row.time);
}

std::vector<Field<BenchRow>> bench_fields(const BenchHeader& header) {
  std::vector<Field<BenchRow>> fields = with_energy<BenchRow>(
      {{{"bytes", "size", "B", 0, "size of the whole buffer, as in nccl-tests"}, &BenchRow::bytes},
       {{"variant", "variant", "", 0, "variant of the collective"}, &BenchRow::variant},
       {{"prelaunch", "pre-launch", "", 0, "queues were submitted ahead of time and started by a trigger"},
        &BenchRow::prelaunch},
       {{"in_place", "in place", "", 0, "input and output share a buffer"}, &BenchRow::in_place},
       {{"time_us", "time", "us", 2, "median of the iterations"},
        [](const BenchRow& row) { return microseconds(row.time); }},
       {{"algbw_GBps", "algbw", "GB/s", 2, "`bytes` / time"},
        [header](const BenchRow& row) { return bandwidths_of(header, row).algorithm; }},
       {{"busbw_GBps", "busbw", "GB/s", 2, "`algbw_GBps` times the nccl-tests factor of the collective"},
        [header](const BenchRow& row) { return bandwidths_of(header, row).bus; }},
       {{"commands", "commands", "", 0, "over all ranks, as are signals and doorbells"},
        [](const BenchRow& row) { return row.counts.commands; }},
       {{"signals", "signals", "", 0, "raised by engines"}, [](const BenchRow& row) { return row.counts.signals; }},
       {{"doorbells", "door-bells", "", 0, "rung by hosts"}, [](const BenchRow& row) { return row.counts.doorbells; }},
       {{"wrong", "#wrong", "B", 0, "output bytes that violate the contract; null if simulated",
         header.simulated ? View::data : View::narrow},
        &BenchRow::wrong}},
      &BenchRow::energy, header.simulated ? View::narrow : View::data);
  const std::map<std::string, std::size_t> widths{{"bytes", 12},     {"variant", header.variant_width},
                                                  {"time_us", 10},   {"algbw_GBps", 8},
                                                  {"busbw_GBps", 8}, {"energy_J", 8},
                                                  {"power_W", 6}};
  for (auto& [column, value] : fields) {
    if (const auto found = widths.find(column.key); found != widths.end()) column.width = found->second;
    column.align = column.key == "variant" ? Align::left : Align::right;
  }
  return fields;
}

std::string iterations_text(const BenchHeader& header) {
  if (!header.simulated) {
    return fmt::format("median of {} iterations after {} warm-up", header.iterations, header.warmup);
  }
  if (header.iterations == 1) return "one iteration of an idle machine";
  return fmt::format("median of {} iterations in a row, from an idle machine", header.iterations);
}

std::string skipped_note(const SkippedRow& row) {
  return fmt::format("skipped {} {}{}: {}", format_bytes(row.bytes), row.variant, row.prelaunch ? " prelaunch" : "",
                     to_string(row.reason));
}

std::vector<std::string> lines_about(const BenchHeader& header) {
  std::vector<std::string> lines{
      fmt::format("{}; size = whole buffer; counts are totals over all ranks", iterations_text(header))};
  if (header.simulated) lines.emplace_back("energy of all GPUs, mean power per GPU");
  if (!header.hosts.empty()) lines.push_back(header.hosts);
  return lines;
}

std::string title_of(const BenchHeader& header) {
  return fmt::format("{} on {} ranks of {}, {} on {}", header.collective, header.ranks, header.machine,
                     header.simulated ? "simulated" : "measured", header.node);
}

/// Readers of nccl-tests tables skip lines that start with '#'.
TableLines lines_of(const BenchHeader& header, TextOptions options) {
  options.mark_heading = true;
  return {table_of<BenchRow>("", "", bench_fields(header), {}), options};
}

}  // namespace

std::string bench_heading(const BenchHeader& header, const TextOptions& options) {
  std::vector<std::string> lines = lines_about(header);
  lines.insert(lines.begin(), title_of(header));
  return comment_lines(lines, options) + lines_of(header, options).heading();
}

std::string bench_line(const BenchHeader& header, const BenchRow& row, const TextOptions& options) {
  return lines_of(header, options).line(table_of<BenchRow>("", "", bench_fields(header), {row}).rows.front());
}

std::string bench_line(const SkippedRow& row, const TextOptions& options) {
  return comment_lines({skipped_note(row)}, options);
}

Document bench_document(const BenchReport& report) {
  const BenchHeader& header = report.header;
  Document document{.schema = "cortado.bench", .title = title_of(header), .about = lines_about(header)};
  document.facts = {{"collective", header.collective, "name of the collective", true},
                    {"machine", header.machine, "modelled machine that the programs were planned for"},
                    {"ranks", header.ranks, "number of GPUs", true},
                    {"node", header.node, "where it ran: the node, or the machine that was simulated"},
                    {"simulated", header.simulated, "predicted, not measured"},
                    {"warmup", header.warmup, "warm-up iterations that are not measured"},
                    {"iterations", header.iterations, "measured iterations"},
                    {"interrupted", report.interrupted, "the run was interrupted: rows are missing"}};
  Table rows = table_of("rows", "one per size, variant and kind of launch", bench_fields(header), report.rows);
  rows.charts = {{.kind = Chart::Kind::lines,
                  .title = "Bus bandwidth",
                  .values = {"busbw_GBps"},
                  .labels = {"bytes"},
                  .series = {"variant", "prelaunch", "in_place"}}};
  document.measured = !header.simulated;
  Table skipped =
      table_of("skipped", "what cannot be planned or run",
               reason_fields<SkippedRow>(
                   {{{.key = "bytes", .meaning = "size of the whole buffer"}, &SkippedRow::bytes},
                    {{.key = "variant", .meaning = "variant of the collective"}, &SkippedRow::variant},
                    {{.key = "prelaunch", .meaning = "queues submitted ahead of time"}, &SkippedRow::prelaunch}},
                   &SkippedRow::reason),
               report.skipped);
  skipped.data_only = true;
  document.tables = {std::move(rows), std::move(skipped)};
  for (const SkippedRow& row : report.skipped) document.notes.push_back(skipped_note(row));
  return document;
}

}  // namespace cortado::report
