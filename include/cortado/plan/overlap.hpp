// A GEMM and a collective at the same time: the question, and the one list of strategies that answer it.
//
// A strategy says whether it applies to a problem on a machine, and makes a program of it. Papers are families of
// strategies. `serial` is what all are compared with: the GEMM and the library's collective on compute units, one after
// the other.
//
//   const OverlapProblem problem{.relation = Relation::gemm_needs_collective, .gemms = {{16384, 3584, 8192}},
//                                .collectives = {{.collective = "all-gather"}}};
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/gemm/gemm.hpp"
#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/plan/c3.hpp"
#include "cortado/plan/choose_schedule.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/plan/cost.hpp"
#include "cortado/plan/ficco.hpp"
#include "cortado/plan/problem.hpp"
#include "cortado/plan/tokens.hpp"

namespace cortado {

/// Of an all-reduce behind a GEMM: the reduce-scatter. Else the problem itself.
OverlapProblem overlapping_part(const OverlapProblem& problem);

/// A dependent problem as FiCCO plans it.
DependentRequest dependent_request(const OverlapProblem& problem);

/// What the caller decides instead of the strategy. Those that a strategy does not have are ignored, but for the
/// variant.
struct StrategyKnobs {
  std::string variant{};  ///< of the collective; empty: the strategy's own
  bool prelaunch = false;
  std::optional<std::uint32_t> gemm_cus{};
  std::optional<std::uint32_t> comm_cus{};  ///< of collectives on compute units
  bool reserved = false;                    ///< comm_cus stands behind the name: c3-sp/32
  std::uint32_t chunks = 0;                 ///< of FiCCO's schedules; 0 = as many as ranks
  CollectiveMeans means = CollectiveMeans::dma;
  ExchangeVariant exchange = ExchangeVariant::automatic;
  std::uint64_t pieces = 0;       ///< of a chunk of T3; 0 = automatic
  std::uint64_t split_k = 0;      ///< workgroups of T3 that share the k of a tile; 0 = that of the tiling
  std::string algorithm{"auto"};  ///< of T3: ring, direct or auto
  std::string axis{"auto"};       ///< along which T3 cuts the GEMM: rows, columns or auto
};

/// Predicted times by which strategies decide.
struct StrategyCosts {
  const CostModel& model;
  std::function<Result<Nanoseconds>(const Program&, std::optional<ArbitrationPolicy>)> simulate;
};

/// What a strategy is asked; the problem was checked.
struct OverlapQuestion {
  const OverlapProblem& problem;
  const Machine& machine;
  const StrategyCosts& costs;
  StrategyKnobs knobs{};
};

struct PlannedOverlap {
  Program program;
  std::string name{};  ///< with the knobs that were decided: "hetero-fused-1d/8", "conccl/bcst-prelaunch"
  std::string how{};   ///< what was decided, in one line
  std::uint32_t gemm_cus = 0;
  std::uint32_t comm_cus = 0;                      ///< that the collective takes; 0: DMA engines alone
  std::uint32_t steps = 0;                         ///< exchanges one after another; 0: not cut
  Bytes footprint{};                               ///< memory of the rank that needs most; 0: not known
  Bytes staging{};                                 ///< part of it that is neither operand nor result
  std::optional<ArbitrationPolicy> arbitration{};  ///< of the memory, under which it is simulated
};

struct Strategy {
  std::string name{};
  std::string family{};  ///< "serial", "C3", "ConCCL", "FiCCO", "T3", "ideal"
  std::string summary{};
  std::string wins{};   ///< when
  std::string loses{};  ///< when
  bool by_default = true;
  /// Whether it can be asked about the problem at all; plan() may still find that it cannot be done.
  std::function<Status(const OverlapProblem&, const Machine&)> applies{};
  /// None: an ideal, which has no program.
  std::function<Result<PlannedOverlap>(const OverlapQuestion&)> plan{};
};

/// The one list, in the order of tables.
const std::vector<Strategy>& strategies();

/// A strategy as it was asked for: "conccl", "conccl/bcst-prelaunch", "c3-sp/32", "hetero-fused-1d/8",
/// "planner:./mine".
struct NamedStrategy {
  std::shared_ptr<const Strategy> strategy;
  StrategyKnobs knobs{};
};

/// Unknown names are refused with the nearest known one, and knobs that a strategy does not have (overlap.strategy).
Result<NamedStrategy> find_strategy(std::string_view name, const StrategyKnobs& knobs = {});

/// The best that a search over strategies, variants and numbers of chunks predicts.
Result<PlannedOverlap> plan_searched(const OverlapQuestion& question);

}  // namespace cortado
