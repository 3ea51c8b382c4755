#include "pipeline/explain.hpp"

#include <algorithm>

#include "cortado/target.hpp"

namespace cortado::pipeline {
namespace {

struct Traced {
  PathPhases phases;
  std::optional<EnergyUse> energy;
};

Result<Traced> simulate_with_phases(const CollectiveRequest& request, const Machine& machine) {
  const auto verified = prove(plan_collective(request, machine), machine);
  if (!verified) return fail(verified.error().errors.front());
  const auto run = simulator()->run(*verified, {.trace = true});
  if (!run) return fail(run.error().errors.front());
  return Traced{phases_of(*run, *verified), run->energy};
}

}  // namespace

Result<Explanation> explain(const ChoiceRequest& request, const Machine& machine, Chooser& chooser,
                            const std::vector<Bytes>& sizes, const Chooser::Progress& progress) {
  CORTADO_ASSIGN_OR_RETURN(ChoiceRow row, chooser.row(request));
  CORTADO_ASSIGN_OR_RETURN(ChoiceTable table, chooser.table(request, sizes, progress));
  CORTADO_ASSIGN_OR_RETURN(const Traced best, simulate_with_phases(row.best().request, machine));
  std::optional<PathPhases> runner_up;
  std::optional<EnergyUse> runner_up_energy;
  if (row.fitting.size() > 1) {
    CORTADO_ASSIGN_OR_RETURN(const Traced second, simulate_with_phases(row.fitting[1].request, machine));
    runner_up = second.phases;
    runner_up_energy = second.energy;
  }
  const std::uint32_t ranks = request.base.ranks == 0 ? machine.gpus : request.base.ranks;
  return Explanation{machine.name,     ranks,       std::move(row),  best.phases, runner_up,
                     std::move(table), best.energy, runner_up_energy};
}

std::size_t longest_phase(const PathPhases& phases) {
  const auto all = phases.in_order();
  return static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
}

}  // namespace cortado::pipeline
