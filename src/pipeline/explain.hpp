// Why a variant of a collective, or a strategy of an overlap, is chosen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/report.hpp"
#include "cortado/study.hpp"

#include "pipeline/choose.hpp"
#include "pipeline/phases.hpp"
#include "plan/schedule_heuristic.hpp"
#include "report/characterization.hpp"

namespace cortado::pipeline {

/// A published number next to ours (published/*.toml): the error of the model there.
struct Evidence {
  std::string title;   ///< of the table
  std::string column;  ///< variant, or ranks
  Bytes bytes{};
  std::string unit;
  double published = 0;
  double ours = 0;
  double time_error = 0;  ///< of our time: 0.05 = 5 % too slow; for speed-ups, the reciprocal
  bool fitted = false;    ///< constants of the machine were fitted to it
  std::string source;
};

/// The errors of the model near this size, one line per table and column; or a line that none are known.
std::vector<std::string> evidence_lines(const std::vector<Evidence>& evidence, const CollectiveRequest& request,
                                        const Machine& machine);

/// The error of our time for the request, if something similar was measured at half to twice the size.
std::optional<double> known_error(const std::vector<Evidence>& evidence, const CollectiveRequest& request,
                                  const Machine& machine);

struct Explanation {
  std::string machine;
  std::uint32_t ranks = 0;
  ChoiceRow row;                        ///< at the requested size
  PathPhases phases;                    ///< of the best
  std::optional<PathPhases> runner_up;  ///< of the second, if two fit
  ChoiceTable table;                    ///< of nearby sizes
  std::optional<EnergyUse> energy{};    ///< of the best; none: a machine without power
  std::optional<EnergyUse> runner_up_energy{};
  std::vector<std::string> evidence{};  ///< known errors of the model here
  std::string verdict{};                ///< what these errors mean for the choice
};

/// Chooses for the request, and finds where among `sizes`, in ascending order, the choice changes. `evidence` is that
/// of the collective and machine.
Result<Explanation> explain(const ChoiceRequest& request, const Machine& machine, Chooser& chooser,
                            const std::vector<Bytes>& sizes, const std::vector<Evidence>& evidence = {},
                            const Chooser::Progress& progress = {});

/// Index of the longest phase in PathPhases::in_order().
std::size_t longest_phase(const PathPhases& phases);

/// What is chosen and its time; where its time goes and where it gains on the second; by how much the
/// second loses, and at which size the choice changes.
std::array<std::string, 3> sentences(const Explanation& explanation);

/// "cortado.explain": the sentences, and all candidates.
report::Document explain_document(const Explanation& explanation, const std::string& collective);

/// "cortado.explain_sizes": one row for each, with its sentences in JSON.
report::Document explain_sizes_document(const std::vector<Explanation>& by_size, const std::string& collective);

/// How a FiCCO schedule is guessed from shapes, and found by search.
struct ScheduleExplanation {
  ScheduleGuess guess;
  ScheduleChoice choice;
};

/// None if FiCCO does not apply.
Result<std::optional<ScheduleExplanation>> explain_schedule(const OverlapProblem& problem, const Machine& machine);

/// overlap_document with the decisions of every strategy, the schedule explained, and known errors of the model.
report::Document explain_overlap_document(const OverlapReport& report,
                                          const std::optional<ScheduleExplanation>& schedule,
                                          const std::vector<std::string>& evidence = {});

/// overlap_document with the costs of decomposition and contention.
report::Document why_document(const OverlapReport& report, const report::Characterization& costs);

}  // namespace cortado::pipeline
