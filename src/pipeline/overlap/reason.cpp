// Why a policy is the one to use, for someone who knows what a compute unit is and wants to know where the time goes.
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace {

using report::OverlapRow;

enum class Kind { serial, cores, engines };

Kind kind_of(const OverlapRow& row, const report::OverlapReport& report) {
  if (row.policy == "serial" || (row.policy == "auto" && row.time == report.serial)) return Kind::serial;
  return row.comm_units == 0 ? Kind::engines : Kind::cores;
}

/// "product +4 %, collective -19 %", over their times alone.
std::string parts(const OverlapRow& row) {
  const auto percent = [](double slowdown) { return std::round(100 * (slowdown - 1)) + 0.0; };  // no "-0"
  return fmt::format("product {:+.0f} %, collective {:+.0f} %", percent(row.gemm_slowdown), percent(row.comm_slowdown));
}

/// The fastest of a kind, or nullptr.
const OverlapRow* best_of(Kind kind, const report::OverlapReport& report) {
  const OverlapRow* best = nullptr;
  for (const OverlapRow& row : report.rows) {
    if (kind_of(row, report) == kind && (best == nullptr || row.time < best->time)) best = &row;
  }
  return best;
}

std::string_view loss_of(Kind kind) {
  return kind == Kind::cores ? "its kernels share compute units and caches with the product"
                             : "its engines take longer to start, and memory bandwidth";
}

}  // namespace

std::string overlap_reason(const report::OverlapReport& report) {
  const OverlapRow& best = *report.row(report.choice);
  const Kind kind = kind_of(best, report);
  const std::string_view bottleneck = best.gemm < best.comm ? "collective" : "product";
  std::vector<std::string> sentences;
  if (!report::has_gain(report.serial, report.ideal)) {
    sentences.push_back(fmt::format("there is nothing to gain: one after the other takes no longer than the {} alone",
                                    report.gemm_alone < report.comm_alone ? "collective" : "product"));
  } else if (kind == Kind::serial) {
    sentences.push_back("nothing that overlaps is faster than one after the other");
  } else {
    sentences.push_back(fmt::format("the {} ends last, and {:.0f} % of ideal is reached ({} over alone)", bottleneck,
                                    100 * best.share_of_ideal, parts(best)));
  }
  for (const Kind other : {Kind::cores, Kind::engines}) {
    const OverlapRow* row = best_of(other, report);
    if (other == kind || row == nullptr) continue;
    const double percent = 100 * (microseconds(row->time) / microseconds(best.time) - 1);
    const bool explained = report.simulated && percent >= 1;
    sentences.push_back(fmt::format("{} {}{} ({})", row->policy,
                                    percent < 1 ? "is level" : fmt::format("takes {:.0f} % longer", percent),
                                    explained ? fmt::format(", as {}", loss_of(other)) : "", parts(*row)));
  }
  return join(sentences, "; ");
}

}  // namespace cortado::pipeline
