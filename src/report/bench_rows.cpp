#include "cortado/report/bench_rows.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cortado/base/text.hpp"
#include "cortado/report/bandwidth.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

/// A heading line starts with '#', so that readers of nccl-tests tables skip it.
constexpr std::string_view kHeading =
    "#{:>11}  {:<{}}  {:>9}  {:>8}  {:>12}  {:>8}  {:>8}  {:>8}  {:>7}  {:>9}  {:>6}\n";
constexpr std::string_view kColumns =
    "{:>12}  {:<{}}  {:>9}  {:>8}  {:>12}  {:>8}  {:>8}  {:>8}  {:>7}  {:>9}  {:>6}\n";

std::string_view yes_no(bool value) {
  return value ? "yes" : "no";
}

struct Bandwidths {
  double algorithm;
  double bus;
};

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

Bandwidths bandwidths(const BenchHeader& header, const BenchRow& row) {
  const double algorithm = bandwidth_gbps(row.bytes, row.time);
  return {algorithm, algorithm * bus_factor(header.collective, header.ranks)};
}

}  // namespace

std::string bench_heading(const BenchHeader& header) {
  std::string text = fmt::format("# {} on {} ranks of {}, {} on {}\n", header.collective, header.ranks, header.machine,
                                 header.simulated ? "simulated" : "measured", header.node);
  text += fmt::format("# {}; size = whole buffer; counts are of all ranks together\n", iterations_text(header));
  text += fmt::format(fmt::runtime(kHeading), "size", "variant", header.variant_width, "prelaunch", "in place", "time",
                      "algbw", "busbw", "commands", "signals", "doorbells", "#wrong");
  text += fmt::format(fmt::runtime(kHeading), "(B)", "", header.variant_width, "", "", "(us)", "(GB/s)", "(GB/s)", "",
                      "", "", "(B)");
  return text;
}

std::string bench_line(const BenchHeader& header, const BenchRow& row) {
  const Bandwidths bandwidth = bandwidths(header, row);
  return fmt::format(fmt::runtime(kColumns), row.bytes.value, row.variant, header.variant_width, yes_no(row.prelaunch),
                     yes_no(row.in_place), fmt::format("{:.2f}", microseconds(row.time)),
                     fmt::format("{:.2f}", bandwidth.algorithm), fmt::format("{:.2f}", bandwidth.bus),
                     row.counts.commands, row.counts.signals, row.counts.doorbells, wrong_text(row, "-"));
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
    const Bandwidths bandwidth = bandwidths(header, row);
    document["rows"].push_back({{"bytes", row.bytes.value},
                                {"variant", row.variant},
                                {"prelaunch", row.prelaunch},
                                {"in_place", row.in_place},
                                {"time_us", microseconds(row.time)},
                                {"algbw_GBps", bandwidth.algorithm},
                                {"busbw_GBps", bandwidth.bus},
                                {"commands", row.counts.commands},
                                {"signals", row.counts.signals},
                                {"doorbells", row.counts.doorbells},
                                {"wrong", row.wrong ? Json(*row.wrong) : Json()}});
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
      "wrong\n";
  for (const BenchRow& row : report.rows) {
    const Bandwidths bandwidth = bandwidths(header, row);
    text += fmt::format("{},{},{},{},{},{},{:.3f},{:.6f},{:.6f},{},{},{},{}\n", header.collective, header.ranks,
                        row.bytes.value, row.variant, row.prelaunch, row.in_place, microseconds(row.time),
                        bandwidth.algorithm, bandwidth.bus, row.counts.commands, row.counts.signals,
                        row.counts.doorbells, wrong_text(row, ""));
  }
  return text;
}

}  // namespace cortado::report
