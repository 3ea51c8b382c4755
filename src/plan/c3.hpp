// Concurrent computation and communication (C3): GEMMs on every rank, and collectives that have nothing to do with
// them, at the same time.
//
// A strategy of C3 or ConCCL decides the way: in which order both are launched, on which CUs or engines they run, and
// by which variants the collectives are done. plan_overlap makes the program of a way; one composer serves all of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "gemm/gemm.hpp"

namespace cortado {

class CostModel;

/// The compute units of a GEMM.
struct GemmUnits {
  std::uint32_t count = 0;  ///< that it may occupy; 0 = all
  bool tuned = false;       ///< its kernel was chosen for so many; else for all: a library sees no masks
};

/// Of the kernel that a GEMM runs with on such units.
Tiling tiling_on(const GemmUnits& units, const GemmShape& shape, const Machine& machine);

enum class LaunchOrder {
  serial,            ///< the collectives when the GEMMs are done
  gemm_first,        ///< both at once; the GEMMs are launched first
  collective_first,  ///< both at once; the first collective is launched first
};

/// How independent GEMMs and collectives are run: what a strategy decides.
struct OverlapWay {
  LaunchOrder order = LaunchOrder::serial;
  /// With variant, prelaunch and, on compute units, how many of them; one is launched when the one before is done.
  std::vector<CollectiveRequest> collectives{};
  std::uint32_t gemm_units = 0;  ///< that the GEMMs may occupy; 0 = all
  bool tuned = false;            ///< their kernels were chosen for these units; else for all
  std::int32_t priority = 0;     ///< of the collectives' kernels over the GEMMs'
  std::string why{};             ///< one line for the user
  std::string strategy{};        ///< of auto: the one that does it this way; empty: none

  const CollectiveRequest& collective() const { return collectives.front(); }
  bool on_cores() const;  ///< the collectives run on compute units
  GemmUnits gemm_cus() const { return {gemm_units, tuned}; }
};

/// The way of a strategy of C3 or ConCCL, or of serial; "auto" is the fastest by the cost model's simulations.
/// Nothing is built otherwise. Refuses GEMMs that the machine cannot do (check_gemm) or that add to their output
/// (c3.accumulate), collectives that cannot be planned, one rank (c3.ranks), and strategies for which a collective has
/// no variant (c3.variant) or the machine too few compute units (c3.partition).
Result<OverlapWay> choose_way(std::string_view strategy, const OverlapProblem& problem, const Machine& machine,
                              const CostModel& cost);

/// How a library does a collective on compute units, knowing nothing of any GEMM: variant and number of units, by
/// the cost of it alone. Fails with c3.variant if it has no variant there. The machine has timing.
Result<CollectiveRequest> library_collective(const CollectiveRequest& request, const Machine& machine,
                                             const CostModel& cost);

/// GEMMs and these collectives at once, with all compute units for the GEMMs: as c3 does where the collectives run on
/// compute units, as conccl where on engines.
OverlapWay way_at_once(std::vector<CollectiveRequest> collectives);

/// The program: per rank buffers "gemm.a<r>", "gemm.b<r>", "gemm.c<r>" ("gemm2.a<r>" of the second GEMM), a compute
/// queue "gemm<r>", and the queues of the collectives; one contract for all. Refuses what choose_way refuses, more
/// compute units for the GEMMs than there are (c3.compute_units), and what does not fit the memory of a GPU together
/// (gemm.memory).
Result<Program> plan_overlap(const OverlapProblem& problem, const OverlapWay& way, const Machine& machine);

/// The GEMMs alone, on every rank: the program against which overlap is measured. Refuses what check_gemm refuses.
Result<Program> plan_gemms(const std::vector<GemmShape>& gemms, const GemmUnits& units, std::uint32_t ranks,
                           const Machine& machine);

/// The collectives alone, one after another, as they stand in the program of a way.
Result<Program> plan_collectives(const std::vector<CollectiveRequest>& collectives, const Machine& machine);

}  // namespace cortado
