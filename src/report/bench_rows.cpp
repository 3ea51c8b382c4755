#include "report/bench_rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

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

/// Names of files may be long; what identifies them is mostly at their beginning.
constexpr std::size_t kWidestVariant = 16;
Cell variant_cell(const BenchRow& row) {
  if (row.variant.size() <= kWidestVariant) return Cell(row.variant);
  constexpr std::string_view kMore = "..";
  return Cell(row.variant).shown_as(row.variant.substr(0, kWidestVariant - kMore.size()) + std::string(kMore));
}

std::vector<Field<BenchRow>> bench_fields(const BenchHeader& header) {
  std::vector<Field<BenchRow>> fields = with_energy<BenchRow>(
      {{{"bytes", "size", "B", 0, "size of the whole buffer, as in nccl-tests"}, &BenchRow::bytes},
       {{"variant", "variant", "", 0, "variant of the collective"}, variant_cell},
       {{"prelaunch", "pre- launch", "", 0, "queues were submitted ahead of time and started by a trigger"},
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
       {{"doorbells", "door- bells", "", 0, "rung by hosts"}, [](const BenchRow& row) { return row.counts.doorbells; }},
       {{"wrong", "#wrong", "B", 0, "output bytes that violate the contract; null if simulated",
         header.simulated ? View::data : View::narrow},
        &BenchRow::wrong}},
      &BenchRow::energy, header.simulated ? View::narrow : View::data);
  const std::map<std::string, std::size_t> widths{
      {"bytes", 12},     {"variant", std::min(header.variant_width, kWidestVariant)},
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

/// "skipped mcast at 1KiB and 10 other sizes: plan.feature: ...": one for each variant and kind of reason, which is
/// told for the first size.
std::vector<std::string> bench_skipped(const std::vector<SkippedRow>& skipped) {
  struct Group {
    const SkippedRow* first;
    std::set<Bytes> sizes{};
    bool plain = false;  // also without prelaunch
  };
  std::vector<Group> groups;
  for (const SkippedRow& row : skipped) {
    auto group = std::ranges::find_if(groups, [&](const Group& known) {
      return known.first->variant == row.variant && known.first->reason.code == row.reason.code;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {.first = &row});
    group->sizes.insert(row.bytes);
    group->plain = group->plain || !row.prelaunch;
  }
  std::vector<std::string> notes;
  for (const Group& group : groups) {
    const std::size_t others = group.sizes.size() - 1;
    notes.push_back(fmt::format("skipped {}{} at {}{}: {}", group.first->variant, group.plain ? "" : " prelaunch",
                                format_bytes(group.first->bytes),
                                others == 0 ? "" : fmt::format(" and {} other size{}", others, others == 1 ? "" : "s"),
                                to_string(group.first->reason)));
  }
  return notes;
}

std::vector<std::string> lines_about(const BenchHeader& header) {
  std::vector<std::string> lines{fmt::format("{}; {}size = whole buffer; counts are totals over all ranks",
                                             iterations_text(header),
                                             header.threads.empty() ? "" : header.threads + "; ")};
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

std::string bench_notes(const BenchReport& report, const TextOptions& options) {
  return comment_lines(bench_skipped(report.skipped), options);
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
  document.notes = bench_skipped(report.skipped);
  return document;
}

}  // namespace cortado::report
