#include "cortado/report/overlap.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cortado/base/text.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

std::string heading(const OverlapReport& report) {
  std::string text = fmt::format("# {} beside {} of {}, independent of each other, on {} ranks of {}\n", report.gemm,
                                 report.collective, format_bytes(report.bytes), report.ranks, report.machine);
  text += report.simulated
              ? fmt::format("# {}\n", report.where)
              : fmt::format("# measured on {}; medians of {} iterations\n", report.where, report.iterations);
  text +=
      fmt::format("# alone: product {:.1f} us ({}-bound), collective {:.1f} us: {}\n", microseconds(report.gemm_alone),
                  report.memory_bound ? "memory" : "compute", microseconds(report.comm_alone), report.scenario);
  text += fmt::format("# one after the other {:.1f} us, ideal {:.1f} us: {:.2f} times as fast\n",
                      microseconds(report.serial), microseconds(report.ideal),
                      report.ideal.value == 0 ? 1 : microseconds(report.serial) / microseconds(report.ideal));
  return text;
}

/// Small products and collectives have digits, too.
std::string gigabytes(double bytes) {
  return bytes < 1e8 ? fmt::format("{:.4f}", bytes / 1e9) : fmt::format("{:.2f}", bytes / 1e9);
}

std::vector<std::string> cells(const OverlapReport& report, const OverlapRow& row) {
  return {row.policy,
          row.variant,
          fmt::format("{:.1f}", microseconds(row.time)),
          fmt::format("{:.2f}", row.speedup),
          fmt::format("{:.0f}", 100 * row.share_of_ideal),
          fmt::format("{:.2f}", row.gemm_slowdown),
          fmt::format("{:.2f}", row.comm_slowdown),
          fmt::format("{}", row.gemm_units),
          row.comm_units == 0 ? "dma" : fmt::format("{}", row.comm_units),
          report.simulated ? gigabytes(row.hbm_bytes.value_or(0)) : fmt::format("{}", row.wrong.value_or(0))};
}

}  // namespace

const OverlapRow* OverlapReport::row(std::string_view policy) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const OverlapRow& r) { return r.policy == policy; });
  return found == rows.end() ? nullptr : &*found;
}

double share_of_ideal(Nanoseconds serial, Nanoseconds ideal, Nanoseconds time) {
  if (serial <= ideal || ideal.value == 0 || time.value == 0) return 0;
  const auto over = [&](Nanoseconds t) { return microseconds(serial) / microseconds(t) - 1; };
  return over(time) / over(ideal);
}

std::string overlap_text(const OverlapReport& report) {
  TextTable table({"policy", "collective", "time us", "speed-up", "% of ideal", "product x", "collective x",
                   "product CUs", "collective CUs", report.simulated ? "HBM GB" : "wrong bytes"});
  for (const OverlapRow& row : report.rows) table.add_row(cells(report, row));
  std::string text = heading(report) + table.to_string();
  for (const SkippedPolicy& skipped : report.skipped) {
    text += fmt::format("# {} left out: {}\n", skipped.policy, to_string(skipped.reason));
  }
  if (!report.note.empty()) text += fmt::format("# {}\n", report.note);
  return text + fmt::format("use {}: {}\n", report.choice, report.reason);
}

std::string overlap_json(const OverlapReport& report) {
  Json document{{"schema", "cortado.overlap"},
                {"version", 1},
                {"gemm", report.gemm},
                {"collective", report.collective},
                {"bytes", report.bytes.value},
                {"ranks", report.ranks},
                {"machine", report.machine},
                {"where", report.where},
                {"simulated", report.simulated},
                {"serial_us", microseconds(report.serial)},
                {"ideal_us", microseconds(report.ideal)},
                {"gemm_alone_us", microseconds(report.gemm_alone)},
                {"comm_alone_us", microseconds(report.comm_alone)},
                {"class", report.scenario},
                {"memory_bound", report.memory_bound},
                {"choice", report.choice},
                {"reason", report.reason},
                {"note", report.note},
                {"rows", Json::array()},
                {"skipped", Json::array()}};
  if (!report.simulated) document["iterations"] = report.iterations;
  for (const OverlapRow& row : report.rows) {
    document["rows"].push_back({{"policy", row.policy},
                                {"time_us", microseconds(row.time)},
                                {"speedup", row.speedup},
                                {"share_of_ideal", row.share_of_ideal},
                                {"gemm_us", microseconds(row.gemm)},
                                {"comm_us", microseconds(row.comm)},
                                {"gemm_slowdown", row.gemm_slowdown},
                                {"comm_slowdown", row.comm_slowdown},
                                {"hbm_bytes", row.hbm_bytes ? Json(*row.hbm_bytes) : Json()},
                                {"gemm_units", row.gemm_units},
                                {"comm_units", row.comm_units},
                                {"variant", row.variant},
                                {"why", row.why},
                                {"wrong", row.wrong ? Json(*row.wrong) : Json()}});
  }
  for (const SkippedPolicy& skipped : report.skipped) {
    document["skipped"].push_back({{"policy", skipped.policy},
                                   {"code", skipped.reason.code},
                                   {"message", skipped.reason.message},
                                   {"hint", skipped.reason.hint}});
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cortado::report
