#include "cortado/pipeline/explain.hpp"

#include <algorithm>

#include "cortado/pipeline/simulate.hpp"

namespace cortado::pipeline {
namespace {

Result<PathPhases> simulated_phases(const CollectiveRequest& request, const Machine& machine) {
  sim::SimulateOptions traced;
  traced.trace = true;
  const auto report = simulate_collective(request, machine, traced);
  if (!report) return fail(report.error().errors.front());
  return phases_of(*report);
}

}  // namespace

Result<Explanation> explain(const ChoiceRequest& request, const Machine& machine, Chooser& chooser,
                            const std::vector<Bytes>& sizes, const Chooser::Progress& progress) {
  CORTADO_ASSIGN_OR_RETURN(ChoiceRow row, chooser.row(request));
  CORTADO_ASSIGN_OR_RETURN(ChoiceTable table, chooser.table(request, sizes, progress));
  CORTADO_ASSIGN_OR_RETURN(const PathPhases phases, simulated_phases(row.best().request, machine));
  std::optional<PathPhases> runner_up;
  if (row.fitting.size() > 1) {
    CORTADO_ASSIGN_OR_RETURN(runner_up, simulated_phases(row.fitting[1].request, machine));
  }
  const std::uint32_t ranks = request.base.ranks == 0 ? machine.gpus : request.base.ranks;
  return Explanation{machine.name, ranks, std::move(row), phases, runner_up, std::move(table)};
}

std::size_t longest_phase(const PathPhases& phases) {
  const auto all = phases.in_order();
  return static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
}

}  // namespace cortado::pipeline
