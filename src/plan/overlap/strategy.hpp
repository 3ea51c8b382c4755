// What strategies are made of.
#pragma once

#include "plan/c3/way.hpp"
#include "plan/overlap.hpp"

namespace cortado::plan {

/// Fails unless the relation is one of these (overlap.relation).
Status check_relation(const OverlapProblem& problem, std::string_view strategy,
                      std::initializer_list<Relation> possible);

/// The program of a way, named after it.
Result<PlannedOverlap> plan_way(const OverlapWay& way, const OverlapQuestion& question);
/// "serial", "conccl/bcst-prelaunch", "c3-sp/32": the strategy that a way is an instance of.
std::string name_of_way(const OverlapWay& way, const Machine& machine);

/// C3 behind a GEMM, which needs a collective that is independent of the GEMM beside it: two halves.
inline constexpr FiccoSchedule kHalvesOfC3{.grain = Grain::chunks,
                                           .shape = CommShape::rows_1d,
                                           .uniform = true,
                                           .fused = true,
                                           .chunks = 2,
                                           .means = CollectiveMeans::cores};

/// A GEMM and a collective that depend on each other, as FiCCO and tiles have them, and all ranks linked.
Status can_exchange_pieces(const OverlapProblem& problem, const Machine& machine, std::string_view strategy);
/// "tiles-ag/4", "tiles-rs/2-stores", "waves/8": the strategy that a schedule of tiles is an instance of.
std::string name_of_tiles(const FiccoSchedule& schedule, const OverlapProblem& problem);
/// Waves of tiles that the GEMM of the program has: the most groups that `waves` can release.
std::uint32_t waves_of(const Program& program, const Machine& machine);
/// The program of a schedule, named after it.
Result<PlannedOverlap> plan_schedule(const FiccoSchedule& schedule, const OverlapQuestion& question);

// The families. Each is defined in the file of its name.
std::vector<Strategy> serial_strategies();
std::vector<Strategy> c3_strategies();
std::vector<Strategy> ficco_strategies();
std::vector<Strategy> tiles_strategies();
std::vector<Strategy> t3_strategies();
std::vector<Strategy> ideal_strategies();

/// "planner:PATH"
Strategy external_strategy(std::string_view name);

}  // namespace cortado::plan
