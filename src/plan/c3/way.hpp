// What the strategies of C3 and ConCCL share: they decide the way in which independent GEMMs and collectives are run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cost.hpp"

namespace cortado::plan {

/// What a strategy decides about. GEMMs and ranks were checked; of the collectives' requests only what the caller may
/// ask for is set.
struct Question {
  const OverlapProblem& problem;
  const Machine& machine;
  const CostModel& cost;

  std::uint32_t units() const { return machine.compute_units; }
  /// Compute units are set aside in multiples of this: one of each die.
  std::uint32_t units_step() const { return machine.timing->compute->dies; }
  /// All but one of each die, as far as there are so many.
  std::uint32_t units_but_one_a_die() const { return units() > units_step() ? units() - units_step() : units(); }
};

/// The problem with its final number of ranks and with nothing said of how the collectives are done; or why no way can
/// do it on this machine.
Result<OverlapProblem> check_overlap(const OverlapProblem& problem, const Machine& machine);

struct WayStrategy {
  std::string_view name;
  std::string_view family;
  std::string_view summary;
  std::string_view wins;   ///< when
  std::string_view loses;  ///< when
  Result<OverlapWay> (*decide)(const Question& question) = nullptr;
};

/// In the order of tables.
const std::vector<WayStrategy>& way_strategies();

/// The GEMMs, then the collectives on compute units as a library does them. The library's variant is the one that is
/// faster alone; so it is in c3 and c3-sp.
Result<OverlapWay> serial_way(const Question& question);

/// The fastest by simulations of the likely ones.
Result<OverlapWay> fastest_way(const Question& question);

/// Collectives, how they are done, and their time alone, one after another.
struct TimedCollectives {
  std::vector<CollectiveRequest> requests;
  Nanoseconds time;
};

/// The fastest of the cores-* variants of each on so many compute units (0 = all). Fails if none can be planned, with
/// c3.variant if there is none at all.
Result<TimedCollectives> fastest_on_cores(const Question& question, std::uint32_t units);

/// As a library does them, knowing nothing of the GEMMs: on the compute units that libraries take.
Result<std::vector<CollectiveRequest>> library_collectives(const Question& question);

/// By this variant; those that do not have it by plain copies. Fails with c3.variant where engines cannot do one alone.
Result<std::vector<CollectiveRequest>> on_engines(const Question& question, std::string_view variant, bool prelaunch);

/// "bcst prelaunch", "bcst and pcpy"
std::string way_names(const std::vector<CollectiveRequest>& requests);

/// All at once with the collectives on DMA engines. The two share memory, not compute units nor L2, so the order of
/// launches matters to the host thread only: what it launches in less time goes first. GEMMs are one launch; triggers
/// of what was prelaunched are cheaper than that, submissions for each peer are dearer. Kernels that add up what the
/// engines brought go before the workgroups of the GEMMs.
OverlapWay beside_engines(std::vector<CollectiveRequest> collectives, std::uint32_t gemm_units, std::string why);

/// Compute units set aside for the collectives; the GEMMs have the others.
struct Partition {
  TimedCollectives collectives;
  std::uint32_t collective_units = 0;
  std::uint32_t gemm_units = 0;
  Nanoseconds gemms{};  ///< alone on their units

  Nanoseconds longer() const { return collectives.time < gemms ? gemms : collectives.time; }
};

/// For k = one unit a die, twice as many, ... up to half of all, where the collectives can be planned on k units.
/// Fails if there is none.
Result<std::vector<Partition>> list_partitions(const Question& question);

/// The one whose longer part takes least: the published rule.
Result<Partition> best_partition(const Question& question);

/// Whether a kernel of so many workgroups should be launched before the first GEMM: it has no more than that. The GEMM
/// has those of the kernel for all compute units, whatever a mask leaves of them.
bool goes_first(const Question& question, std::uint32_t workgroups);

/// Whether the request can be planned, as far as that can be said without planning it.
Status check_plannable(const CollectiveRequest& request, const Machine& machine);

}  // namespace cortado::plan
