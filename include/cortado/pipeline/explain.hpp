// Why a variant is chosen, in numbers and in three sentences.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/choose.hpp"
#include "cortado/pipeline/phases.hpp"
#include "cortado/report/table.hpp"

namespace cortado::pipeline {

struct Explanation {
  std::string machine;
  std::uint32_t ranks = 0;
  ChoiceRow row;                        ///< at the size that was asked for
  PathPhases phases;                    ///< of the best
  std::optional<PathPhases> runner_up;  ///< of the second, if two fit
  ChoiceTable table;                    ///< around it
  std::optional<EnergyUse> energy{};    ///< of the best; none: a machine without power
  std::optional<EnergyUse> runner_up_energy{};
};

/// Chooses for the request and looks at `sizes`, in ascending order, for changes of the choice.
Result<Explanation> explain(const ChoiceRequest& request, const Machine& machine, Chooser& chooser,
                            const std::vector<Bytes>& sizes, const Chooser::Progress& progress = {});

/// Index of the longest phase in PathPhases::in_order().
std::size_t longest_phase(const PathPhases& phases);

/// What is chosen and how long it takes; where its time goes and where it saves against the second; by how much the
/// second loses, and at which size the choice changes.
std::array<std::string, 3> sentences(const Explanation& explanation);

/// "cortado.explain": the sentences, and all candidates.
report::Document explain_document(const Explanation& explanation, const std::string& collective);

}  // namespace cortado::pipeline
