#include "pipeline/explain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

#include "base/check.hpp"
#include "pipeline/phases.hpp"

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

/// Times of the candidates without their known errors; nothing if no error of the best is known.
std::string verdict_on(const ChoiceRow& row, const std::vector<Evidence>& evidence, const Machine& machine) {
  const auto corrected = [&](const TimedCandidate& one) -> std::optional<double> {
    const auto error = known_error(evidence, one.request, machine);
    return error ? std::optional(microseconds(one.time) / (1 + *error)) : std::nullopt;
  };
  const auto best = corrected(row.best());
  if (!best) return "";
  const TimedCandidate* better = nullptr;
  double least = *best;
  for (const TimedCandidate& one : row.fitting) {
    const auto time = corrected(one);
    if (!time || *time >= least) continue;
    least = *time;
    better = &one;
  }
  if (better == nullptr) return "Correcting for the known errors does not change the choice.";
  return fmt::format(
      "Corrected for the known errors, {} would be faster, {:.1f} us against {:.1f} us: measure both before you "
      "decide.",
      way_name(better->request), least, *best);
}

}  // namespace

Result<Explanation> explain(const ChoiceRequest& request, const Machine& machine, Chooser& chooser,
                            const std::vector<Bytes>& sizes, const std::vector<Evidence>& evidence,
                            const Chooser::Progress& progress) {
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
  std::vector<std::string> lines = evidence_lines(evidence, row.best().request, machine);
  std::string verdict = verdict_on(row, evidence, machine);
  return Explanation{machine.name,     ranks,       std::move(row),   best.phases,      runner_up,
                     std::move(table), best.energy, runner_up_energy, std::move(lines), std::move(verdict)};
}

std::size_t longest_phase(const PathPhases& phases) {
  const auto all = phases.in_order();
  return static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
}

PathPhases phases_of(const Run& run, const VerifiedProgram& verified) {
  CORTADO_CHECK(!run.timeline.spans.empty(), "a simulation with tracing");
  const Program& program = verified.program();
  const EngineTiming& engine = verified.machine().timing->engine;
  const CriticalPath path = critical_path(run.timeline, [&](const Span& copy) {
    return program.queues[copy.track].kind == QueueKind::dma ? engine.copy_start : Nanoseconds{0};
  });
  return {path.host, path.schedule, path.copy + path.kernel, path.sync + path.wait};
}

}  // namespace cortado::pipeline
