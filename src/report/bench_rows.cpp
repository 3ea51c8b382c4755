#include "cortado/report/bench_rows.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cortado/base/check.hpp"
#include "cortado/report/bandwidth.hpp"
#include "cortado/report/energy.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

/// A column of the text form: two lines of heading above, words to the left, numbers to the right.
struct BenchColumn {
  std::string_view title;
  std::string_view unit;
  std::size_t width;
  bool words = false;
};

/// Simulated rows have two columns more, so theirs are narrow.
std::vector<BenchColumn> bench_columns(const BenchHeader& header) {
  if (!header.simulated) {
    return {{"size", "(B)", 12},    {"variant", "", header.variant_width, true},
            {"prelaunch", "", 9},   {"in place", "", 8},
            {"time", "(us)", 12},   {"algbw", "(GB/s)", 8},
            {"busbw", "(GB/s)", 8}, {"commands", "", 8},
            {"signals", "", 7},     {"doorbells", "", 9},
            {"#wrong", "(B)", 6}};
  }
  return {{"size", "(B)", 12},    {"variant", "", header.variant_width, true},
          {"pre-", "launch", 6},  {"in", "place", 5},
          {"time", "(us)", 10},   {"algbw", "(GB/s)", 8},
          {"busbw", "(GB/s)", 8}, {"energy", "(J)", 8},
          {"power", "(W)", 6},    {"commands", "", 8},
          {"signals", "", 7},     {"door-", "bells", 5}};
}

/// Cells under each other. The '#' of a heading line stands in the first column.
template <class Cells>
std::string line_of(const std::vector<BenchColumn>& columns, std::string_view start, const Cells& cells) {
  CORTADO_CHECK(cells.size() == columns.size(), "a row has as many cells as the table has columns");
  std::string line(start);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line += "  ";
    const std::size_t width = columns[i].width - (i == 0 ? start.size() : 0);
    line += columns[i].words ? fmt::format("{:<{}}", cells[i], width) : fmt::format("{:>{}}", cells[i], width);
  }
  return line + "\n";
}

std::string_view yes_no(bool value) {
  return value ? "yes" : "no";
}

std::string iterations_text(const BenchHeader& header) {
  if (!header.simulated) {
    return fmt::format("median of {} iterations after {} warm-up", header.iterations, header.warmup);
  }
  if (header.iterations == 1) return "one iteration of an idle machine";
  return fmt::format("median of {} iterations in a row, from an idle machine", header.iterations);
}

/// What stands for wrong bytes where there were no bytes.
std::string wrong_text(const BenchRow& row, std::string_view none) {
  return row.wrong ? fmt::format("{}", *row.wrong) : std::string(none);
}

Bandwidths bandwidths_of(const BenchHeader& header, const BenchRow& row) {
  return bandwidths(header.collective, header.ranks, row.bytes, row.time);
}

}  // namespace

std::string bench_heading(const BenchHeader& header) {
  std::string text = fmt::format("# {} on {} ranks of {}, {} on {}\n", header.collective, header.ranks, header.machine,
                                 header.simulated ? "simulated" : "measured", header.node);
  text += fmt::format("# {}; size = whole buffer; counts are of all ranks together\n", iterations_text(header));
  const std::vector<BenchColumn> all = bench_columns(header);
  std::vector<std::string_view> titles;
  std::vector<std::string_view> units;
  for (const BenchColumn& column : all) {
    titles.push_back(column.title);
    units.push_back(column.unit);
  }
  // Readers of nccl-tests tables skip lines that start with '#'.
  return text + line_of(all, "#", titles) + line_of(all, "#", units);
}

std::string bench_line(const BenchHeader& header, const BenchRow& row) {
  const Bandwidths bandwidth = bandwidths_of(header, row);
  std::vector<std::string> cells{fmt::format("{}", row.bytes.value),
                                 row.variant,
                                 std::string(yes_no(row.prelaunch)),
                                 std::string(yes_no(row.in_place)),
                                 fmt::format("{:.2f}", microseconds(row.time)),
                                 fmt::format("{:.2f}", bandwidth.algorithm),
                                 fmt::format("{:.2f}", bandwidth.bus)};
  if (header.simulated) cells.insert(cells.end(), {joules_text(row.energy), watts_text(row.energy)});
  for (const std::uint64_t count : {row.counts.commands, row.counts.signals, row.counts.doorbells}) {
    cells.push_back(fmt::format("{}", count));
  }
  if (!header.simulated) cells.push_back(wrong_text(row, "-"));
  return line_of(bench_columns(header), "", cells);
}

std::string bench_line(const SkippedRow& row) {
  return fmt::format("# skipped {} {}{}: {}\n", row.bytes.value, row.variant, row.prelaunch ? " prelaunch" : "",
                     to_string(row.reason));
}

std::string bench_json(const BenchReport& report) {
  const BenchHeader& header = report.header;
  Json document{{"schema", "cortado.bench"},       {"version", 1},
                {"collective", header.collective}, {"machine", header.machine},
                {"ranks", header.ranks},           {"node", header.node},
                {"simulated", header.simulated},   {"warmup", header.warmup},
                {"iterations", header.iterations}, {"interrupted", report.interrupted},
                {"rows", Json::array()},           {"skipped", Json::array()}};
  for (const BenchRow& row : report.rows) {
    const Bandwidths bandwidth = bandwidths_of(header, row);
    const Json object{{"bytes", row.bytes.value},
                      {"variant", row.variant},
                      {"prelaunch", row.prelaunch},
                      {"in_place", row.in_place},
                      {"time_us", microseconds(row.time)},
                      {"algbw_GBps", bandwidth.algorithm},
                      {"busbw_GBps", bandwidth.bus},
                      {"commands", row.counts.commands},
                      {"signals", row.counts.signals},
                      {"doorbells", row.counts.doorbells},
                      {"wrong", row.wrong ? Json(*row.wrong) : Json()}};
    document["rows"].push_back(with_energy(object, row.energy));
  }
  for (const SkippedRow& row : report.skipped) {
    document["skipped"].push_back({{"bytes", row.bytes.value},
                                   {"variant", row.variant},
                                   {"prelaunch", row.prelaunch},
                                   {"code", row.reason.code},
                                   {"message", row.reason.message},
                                   {"hint", row.reason.hint}});
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string bench_csv(const BenchReport& report) {
  const BenchHeader& header = report.header;
  std::string text =
      "collective,ranks,bytes,variant,prelaunch,in_place,time_us,algbw_GBps,busbw_GBps,commands,signals,doorbells,"
      "wrong," +
      energy_csv_names() + "\n";
  for (const BenchRow& row : report.rows) {
    const Bandwidths bandwidth = bandwidths_of(header, row);
    text += fmt::format("{},{},{},{},{},{},{:.3f},{:.6f},{:.6f},{},{},{},{},{}\n", header.collective, header.ranks,
                        row.bytes.value, row.variant, row.prelaunch, row.in_place, microseconds(row.time),
                        bandwidth.algorithm, bandwidth.bus, row.counts.commands, row.counts.signals,
                        row.counts.doorbells, wrong_text(row, ""), energy_csv(row.energy));
  }
  return text;
}

}  // namespace cortado::report
