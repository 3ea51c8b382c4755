// FiCCO (arXiv 2512.10236): sixteen GEMMs, each after the collective that it depends on, by every published schedule
// (published/scenarios/ficco.toml has them, and how they are read).
#include "plan/ficco.hpp"

#include <algorithm>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "base/check.hpp"
#include "reproduce/published/scenarios.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kFiccoScenarios = "ficco";

Result<OverlapProblem> problem_for(const published::OverlapScenario& scenario, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(scenario.dtype));
  CORTADO_ASSIGN_OR_RETURN(const Collective collective, find_collective(scenario.collective));
  return OverlapProblem{.relation = Relation::gemm_needs_collective,
                        .gemms = {{scenario.m, scenario.n / machine.gpus, scenario.k, dtype}},
                        .collectives = {{.collective = collective}}};
}

/// FiCCO's baseline is the collective on DMA engines, then the GEMM.
const OverlapRow& serial(const OverlapReport& report) {
  const OverlapRow* row = report.row("serial-dma");
  CORTADO_CHECK(row != nullptr, "one after the other can be planned");
  return *row;
}

double speedup(const OverlapReport& report, const OverlapRow& row) {
  return microseconds(serial(report).time) / microseconds(row.time);
}

double ideal_speedup(const OverlapReport& report) {
  return microseconds(serial(report).time) / microseconds(std::max(report.gemm_alone, serial(report).comm));
}

/// Of the four that FiCCO chooses from.
double best_speedup(const OverlapReport& report) {
  double best = 0;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    const OverlapRow* row = report.row(info.name);
    if (info.published && row != nullptr) best = std::max(best, speedup(report, *row));
  }
  return best;
}

double shard_slowdown(const OverlapReport& report) {
  const OverlapRow* row = report.row("shard-p2p");
  return row == nullptr ? 0 : 1 / speedup(report, *row);
}

class Ficco {
 public:
  Ficco(const published::Publication&, const Machine& machine) : machine_(machine) {}

  std::vector<report::Table> own_tables() const { return {scenarios()}; }

  Status collect() {
    for (const FiccoScheduleInfo& info : list_schedules()) {
      if (info.published || info.schedule.grain == Grain::shards) strategies_.push_back(info.name);
    }
    CORTADO_ASSIGN_OR_RETURN(scenarios_, published::load_scenarios(kFiccoScenarios));
    for (const published::OverlapScenario& scenario : scenarios_) {
      CORTADO_ASSIGN_OR_RETURN(problems_.emplace_back(), problem_for(scenario, machine_));
    }
    return {};
  }

  Outcome<void> simulate_all(const ReproduceOptions& options) {
    reports_.resize(problems_.size());
    return run_all(problems_.size(), options, [&](std::size_t i) -> Outcome<void> {
      CORTADO_ASSIGN_OR_RETURN(reports_[i], study_overlap(problems_[i], machine_, {.strategies = strategies_}));
      return {};
    });
  }

  double greatest(double (*value)(const OverlapReport&)) const {
    double most = 0;
    for (const OverlapReport& report : reports_) most = std::max(most, value(report));
    return most;
  }

  double figure_value(const std::string& name) const {
    if (name == "ideal") return greatest(ideal_speedup);
    if (name == "best ficco") return greatest(best_speedup);
    CORTADO_CHECK(name == "shard-p2p", "every figure of ficco.toml is computed here");
    return greatest(shard_slowdown);
  }

  report::Table scenarios() const {
    report::Table table =
        report::own_table("scenarios", "Every GEMM: shape on each GPU, times in us, speed-ups over serial",
                          {{"scenario"},
                           {"collective", 0, report::View::wide},
                           {"GEMM"},
                           {"alone", 0, report::View::wide},
                           {"collective alone", 0, report::View::wide},
                           {"serial"}});
    const std::vector<std::string> schedules(strategies_.begin() + 1, strategies_.end());
    for (const std::string& schedule : schedules) table.columns.push_back(report::OwnColumn{schedule, 2});
    table.columns.push_back(report::OwnColumn{"ideal", 2});
    table.columns.push_back(report::OwnColumn{"use"});
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      const OverlapReport& report = reports_[i];
      auto& row = table.rows.emplace_back();
      row = {scenarios_[i].name,
             report.problem.collective().collective.name(),
             to_string(report.problem.gemm()),
             microseconds(report.gemm_alone),
             microseconds(serial(report).comm),
             microseconds(serial(report).time)};
      for (const std::string& schedule : schedules) {
        const OverlapRow* found = report.row(schedule);
        row.emplace_back(found == nullptr ? 0 : speedup(report, *found));
      }
      row.emplace_back(ideal_speedup(report));
      row.emplace_back(report.choice);
    }
    return table;
  }

 private:
  const Machine& machine_;
  std::vector<published::OverlapScenario> scenarios_;
  std::vector<OverlapProblem> problems_;  // of scenarios_
  std::vector<std::string> strategies_{"serial-dma"};
  std::vector<OverlapReport> reports_;  // of scenarios_
};

}  // namespace

Outcome<report::Reproduction> reproduce_ficco(const published::Publication& publication, const Machine& machine,
                                              const ReproduceOptions& options) {
  return reproduce_cases<Ficco>(publication, machine, options);
}

}  // namespace cortado::pipeline
