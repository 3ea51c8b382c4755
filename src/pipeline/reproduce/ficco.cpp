// FiCCO (arXiv 2512.10236): sixteen products, each after the collective that it depends on, by every published schedule
// (published/scenarios/ficco.toml has them, and how they are read).
#include <algorithm>

#include "cortado/base/check.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/dependent.hpp"
#include "cortado/published/scenarios.hpp"

#include "pipeline/parallel.hpp"
#include "pipeline/reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kFiccoScenarios = "ficco";

Result<DependentRequest> request_for(const published::OverlapScenario& scenario, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(scenario.dtype));
  DependentRequest request;
  // Every GPU multiplies m rows; what an all-to-all moves is that of all of them.
  const std::uint64_t rows = scenario.collective == "all-to-all" ? scenario.m * machine.gpus : scenario.m;
  request.gemm = {rows, scenario.n / machine.gpus, scenario.k, dtype};
  request.collective = find_collective(scenario.collective).value();
  return request;
}

double ideal_speedup(const DependentReport& report) {
  return microseconds(report.serial) / microseconds(report.ideal);
}

/// Of the four that FiCCO chooses from.
double best_speedup(const DependentReport& report) {
  double best = 0;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    const report::DependentRow* row = report.row(info.name);
    if (info.published && row != nullptr) best = std::max(best, row->speedup);
  }
  return best;
}

double shard_slowdown(const DependentReport& report) {
  const report::DependentRow* row = report.row("shard-p2p");
  return row == nullptr ? 0 : 1 / row->speedup;
}

class Ficco {
 public:
  Ficco(const published::Publication& publication, const Machine& machine)
      : publication_(publication), machine_(machine) {}

  Outcome<report::Reproduction> compute(const ReproduceOptions& options) {
    if (const Status collected = collect(); !collected) return fail_at(Stage::plan, collected.error());
    if (const auto done = simulate_all(options); !done) return tl::unexpected(done.error());
    report::Reproduction ours =
        with_figures(publication_, machine_, [this](const std::string& name) { return figure_value(name); });
    ours.own = {scenarios()};
    return ours;
  }

 private:
  Status collect() {
    CORTADO_ASSIGN_OR_RETURN(scenarios_, published::load_scenarios(kFiccoScenarios));
    for (const published::OverlapScenario& scenario : scenarios_) {
      CORTADO_ASSIGN_OR_RETURN(requests_.emplace_back(), request_for(scenario, machine_));
    }
    return {};
  }

  Outcome<void> simulate_all(const ReproduceOptions& options) {
    std::vector<std::optional<Outcome<DependentReport>>> reports(requests_.size());
    const bool done = for_each_in_parallel(
        reports.size(), options.threads,
        [&](std::size_t i) { reports[i] = simulate_dependent(requests_[i], machine_); },
        [&](std::size_t finished) { return !options.progress || options.progress(finished, reports.size()); });
    if (!done) return fail_at(Stage::run, {"reproduce.interrupted", "interrupted before all was simulated", ""});
    for (auto& report : reports) {
      if (!*report) return tl::unexpected(report->error());
      reports_.push_back(**std::move(report));
    }
    return {};
  }

  double greatest(double (*value)(const DependentReport&)) const {
    double most = 0;
    for (const DependentReport& report : reports_) most = std::max(most, value(report));
    return most;
  }

  double figure_value(const std::string& name) const {
    if (name == "ideal") return greatest(ideal_speedup);
    if (name == "best ficco") return greatest(best_speedup);
    CORTADO_CHECK(name == "shard-p2p", "every figure of ficco.toml is computed here");
    return greatest(shard_slowdown);
  }

  report::OwnTable scenarios() const {
    report::OwnTable table{"scenarios",
                           "Every product: what one GPU multiplies, times in us, speed-ups over serial",
                           {{"scenario"}, {"collective"}, {"product"}, {"alone"}, {"collective alone"}, {"serial"}},
                           {}};
    std::vector<std::string> schedules;
    for (const FiccoScheduleInfo& info : list_schedules()) {
      if (info.published || info.schedule.grain == Grain::shards) schedules.push_back(info.name);
    }
    for (const std::string& schedule : schedules) table.columns.push_back({schedule, 2});
    table.columns.push_back({"ideal", 2});
    table.columns.push_back({"use"});
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      const DependentReport& report = reports_[i];
      auto& row = table.rows.emplace_back();
      row = {scenarios_[i].name,
             report.collective,
             report.gemm,
             microseconds(report.gemm_alone),
             microseconds(report.comm_alone),
             microseconds(report.serial)};
      for (const std::string& schedule : schedules) {
        const report::DependentRow* found = report.row(schedule);
        row.emplace_back(found == nullptr ? 0 : found->speedup);
      }
      row.emplace_back(ideal_speedup(report));
      row.emplace_back(report.choice);
    }
    return table;
  }

  const published::Publication& publication_;
  const Machine& machine_;
  std::vector<published::OverlapScenario> scenarios_;
  std::vector<DependentRequest> requests_;  // of scenarios_
  std::vector<DependentReport> reports_;    // of scenarios_
};

}  // namespace

Outcome<report::Reproduction> reproduce_ficco(const published::Publication& publication, const Machine& machine,
                                              const ReproduceOptions& options) {
  return Ficco(publication, machine).compute(options);
}

}  // namespace cortado::pipeline
