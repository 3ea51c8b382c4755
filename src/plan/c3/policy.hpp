// What the registry knows of a policy, and what policies share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cortado/plan/cost.hpp"

namespace cortado::plan {

/// What a policy decides about. The product and the number of ranks were checked; of the collective's request only what
/// the caller may ask for is set.
struct Question {
  const OverlapRequest& request;
  const Machine& machine;
  const CostModel& cost;

  std::uint32_t units() const { return machine.compute_units; }
  /// Compute units are set aside in multiples of this: one of each die.
  std::uint32_t units_step() const { return machine.timing->compute->dies; }
  /// All but one of each die, as far as there are so many.
  std::uint32_t units_but_one_a_die() const { return units() > units_step() ? units() - units_step() : units(); }
};

/// The request with its final number of ranks and with nothing said of how the collective is done; or why no policy can
/// do it on this machine.
Result<OverlapRequest> check_overlap(const OverlapRequest& request, const Machine& machine);

struct Policy {
  PolicyInfo info;
  Result<OverlapWay> (*decide)(const Question& question) = nullptr;
};

/// All but `auto`, in the order of list_policies(): what `auto` chooses from, besides its own.
const std::vector<Policy>& fixed_policies();

/// A collective, how it is done, and its time alone.
struct TimedCollective {
  CollectiveRequest request;
  Nanoseconds time;
};

/// The faster of the cores-* variants on so many compute units (0 = all). Fails if none can be planned, with c3.variant
/// if there is none at all.
Result<TimedCollective> fastest_on_cores(const Question& question, std::uint32_t units);

/// As a library does it, knowing nothing of the product: on the compute units that libraries take.
Result<TimedCollective> library_collective(const Question& question);

/// Plain copies, each on an engine of its own, for collectives that engines can do alone (else c3.variant).
Result<CollectiveRequest> flat_dma(const Question& question);

/// Both at once with the collective on DMA engines. The two share memory, not compute units nor L2, so the order of
/// launches matters to the host thread only: what it launches in less time goes first. A product is one launch;
/// triggers of what was prelaunched are cheaper than that, submissions for each peer are dearer. Kernels that add up
/// what the engines brought go before the workgroups of the product.
OverlapWay beside_engines(CollectiveRequest collective, std::uint32_t gemm_units, std::string why);

/// Compute units set aside for the collective; the product has the others.
struct Partition {
  TimedCollective collective;
  std::uint32_t collective_units = 0;
  std::uint32_t gemm_units = 0;
  Nanoseconds gemm{};  ///< the product alone on its units

  Nanoseconds longer() const { return collective.time < gemm ? gemm : collective.time; }
};

/// For k = one unit a die, twice as many, ... up to half of all, where the collective can be planned on k units.
/// Fails if there is none.
Result<std::vector<Partition>> list_partitions(const Question& question);

/// The one whose longer part takes least: the published rule.
Result<Partition> best_partition(const Question& question);

/// Whether a kernel of so many workgroups should be launched before the product: it has no more than that. The product
/// has those of the kernel for all compute units, whatever a mask leaves of them.
bool goes_first(const Question& question, std::uint32_t workgroups);

/// Whether the request can be planned, as far as that can be said without planning it.
Status check_plannable(const CollectiveRequest& request, const Machine& machine);

}  // namespace cortado::plan
