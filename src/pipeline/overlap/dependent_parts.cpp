#include "pipeline/overlap/dependent_parts.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/base/text.hpp"

namespace cortado::pipeline {
namespace {

using report::DependentRow;

/// Percent that `row` takes longer than `best`.
double longer(const DependentRow& row, const DependentRow& best) {
  return std::round(100 * (microseconds(row.time) / microseconds(best.time) - 1)) + 0.0;  // no "-0"
}

bool is_serial(const DependentRow& row) {
  return row.schedule == "serial" || row.chosen == "serial";
}

/// The fastest row that cuts, or nullptr.
const DependentRow* best_of_steps(const report::DependentReport& report) {
  const DependentRow* best = nullptr;
  for (const DependentRow& row : report.rows) {
    if (!is_serial(row) && (best == nullptr || row.time < best->time)) best = &row;
  }
  return best;
}

std::string pieces(const DependentRow& row) {
  const double more = std::round(100 * (row.dil - 1)) + 0.0;
  return fmt::format("its pieces take {:.0f} % {} than the product in one", std::abs(more),
                     more < 0 ? "less" : "longer");
}

}  // namespace

Bytes travelling_bytes(const DependentRequest& request) {
  const GemmShape& gemm = request.gemm;
  const bool product_first = request.dependence == Dependence::product_first;
  return size_of(gemm.dtype) * gemm.m * (product_first ? gemm.n : gemm.k);
}

std::vector<FiccoSchedule> usual_schedules() {
  std::vector<FiccoSchedule> schedules;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (!info.published && info.schedule.grain == Grain::chunks) continue;
    FiccoSchedule& schedule = schedules.emplace_back(info.schedule);
    if (schedule.grain != Grain::whole) schedule.exchange = ExchangeVariant::automatic;
  }
  return schedules;
}

bool concerns_schedule(const Diagnostic& reason) {
  return reason.about == About::strategy;
}

GemmShape largest_product(const Program& program) {
  GemmShape largest;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      const auto* gemm = std::get_if<Gemm>(&command);
      if (gemm != nullptr && gemm->m > largest.m) largest = shape_of(*gemm);
    }
  }
  CORTADO_CHECK(largest.m > 0, "the program multiplies");
  return largest;
}

double seconds_of_products(const Program& program, const Machine& machine) {
  std::vector<double> seconds(program.ranks);
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      const auto* gemm = std::get_if<Gemm>(&command);
      if (gemm == nullptr) continue;
      seconds[queue.rank->value] +=
          estimate_gemm(shape_of(*gemm), tiling_of(*gemm), machine, machine.compute_units).seconds;
    }
  }
  return *std::max_element(seconds.begin(), seconds.end());
}

std::string dependent_reason(const report::DependentReport& report) {
  const DependentRow& best = *report.row(report.choice);
  std::vector<std::string> sentences;
  if (is_serial(best)) {
    const DependentRow* next = best_of_steps(report);
    const bool looked = next != nullptr || std::ranges::any_of(report.rows, [](const DependentRow& row) {
                          return row.chosen == "serial";
                        });
    sentences.push_back(looked ? "nothing that overlaps is faster than one after the other"
                               : "nothing that overlaps was asked for or can be planned");
    if (next != nullptr) {
      sentences.push_back(
          fmt::format("{} takes {:.0f} % longer, and {}", next->schedule, longer(*next, best), pieces(*next)));
    }
    return join(sentences, "; ");
  }
  if (best.time > report.serial) {
    return fmt::format("of those asked for it is the fastest, but slower than one after the other; {}", pieces(best));
  }
  const char* const bottleneck = report.gemm_alone < report.comm_alone ? "collective" : "product";
  sentences.push_back(
      report::has_gain(report.serial, report.ideal)
          ? fmt::format("the {} is the bottleneck, and {:.0f} % of ideal is reached", bottleneck,
                        100 * best.share_of_ideal)
          : fmt::format("one after the other takes no longer than the {} alone, so little can be gained", bottleneck));
  sentences.push_back(pieces(best));
  for (const char* other : {"serial", "shard-p2p"}) {
    const DependentRow* row = report.row(other);
    if (row != nullptr && row != &best) {
      sentences.push_back(fmt::format("{} takes {:.0f} % longer", other, longer(*row, best)));
    }
  }
  return join(sentences, "; ");
}

}  // namespace cortado::pipeline
