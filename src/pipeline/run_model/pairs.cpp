#include "pipeline/run_model/pairs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "plan/overlap.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kTiles = "tiles";
constexpr const char* kOtherwise = "serial-dma";

std::string name_for(const std::string& strategy, const OverlapProblem& problem) {
  if (!strategy.starts_with(kTiles) || strategy.starts_with("tiles-")) return strategy;
  const bool gathers = problem.relation == Relation::gemm_needs_collective;
  return (gathers ? "tiles-ag" : "tiles-rs") + strategy.substr(std::string_view(kTiles).size());
}

/// With ever fewer chunks, as long as there are too few rows for them.
Outcome<PlannedOverlap> plan_with_rows(const OverlapProblem& problem, const Machine& machine,
                                       const std::string& strategy) {
  auto planned = plan_strategy(problem, machine, strategy);
  const std::string plain = strategy.substr(0, strategy.find('/'));
  for (std::uint32_t chunks = 4; !planned && chunks > 0; chunks /= 2) {
    if (planned.error().errors.front().code != "ficco.chunks") break;
    planned = plan_strategy(problem, machine, fmt::format("{}/{}", plain, chunks));
  }
  return planned;
}

}  // namespace

Result<PairPlanner> pair_planner(const std::string& strategy, const Machine& machine, PairNotes& notes) {
  if (strategy == kSerialPairs) return PairPlanner{};
  const OverlapProblem gathers{.relation = Relation::gemm_needs_collective};
  if (strategy != kAutoStrategy) CORTADO_RETURN_IF_ERROR(find_strategy(name_for(strategy, gathers)));
  return [&machine, &notes, strategy](const OverlapProblem& problem) -> Result<Program> {
    auto planned = plan_with_rows(problem, machine, name_for(strategy, problem));
    if (!planned) {
      const Diagnostic& why = planned.error().errors.front();
      std::string note =
          fmt::format("{} {} is {}: {}", name_of(problem.relation), to_string(problem.gemm()), kOtherwise, why.message);
      if (std::ranges::find(notes.refused, note) == notes.refused.end()) notes.refused.push_back(std::move(note));
      planned = plan_strategy(problem, machine, kOtherwise);
      if (!planned) return fail(planned.error().errors.front());
    }
    if (std::ranges::find(notes.names, planned->name) == notes.names.end()) notes.names.push_back(planned->name);
    return std::move(planned->program);
  };
}

}  // namespace cortado::pipeline
