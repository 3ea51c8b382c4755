// Concurrent computation and communication (C3): a matrix product on every rank, and a collective that has nothing to
// do with it, at the same time.
//
// A policy decides the way: in which order both are launched, on which compute units or engines they run, and by which
// variant the collective is done. plan_overlap makes the program of a way; one composer serves all policies.
//
//   serial      product, then the collective on compute units, as a library does it
//   c3          both launched, the product first: its workgroups fill the GPU before the collective gets any
//   c3-sp       schedule priority: the kernel with fewer workgroups first
//   c3-rp       resource partition: compute units set aside for the collective
//   c3-sp-rp    both
//   conccl      the collective on DMA engines; all compute units for the product
//   conccl-rp   the same, and one compute unit a die withheld from memory-bound products
//   auto        what the cost model says is fastest, over all of these and over all variants of the collective
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/gemm/gemm.hpp"
#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/plan/collective.hpp"

namespace cortado {

class CostModel;

struct OverlapRequest {
  GemmShape gemm;  ///< the same on every rank
  /// Collective, bytes, ranks, place and own_block; how it is done is up to the policy. The host is per rank always.
  CollectiveRequest collective;
};

/// The compute units of a product.
struct ProductUnits {
  std::uint32_t count = 0;  ///< that it may occupy; 0 = all
  bool tuned = false;       ///< its kernel was chosen for so many; else for all: a library sees no masks
};

/// Of the kernel that a product runs with on such units.
Tiling tiling_on(const ProductUnits& units, const GemmShape& shape, const Machine& machine);

enum class LaunchOrder {
  serial,            ///< the collective when the product is done
  gemm_first,        ///< both at once; the product is launched first
  collective_first,  ///< both at once; the collective is launched first
};

/// How an overlap is run: what a policy decides.
struct OverlapWay {
  LaunchOrder order = LaunchOrder::serial;
  CollectiveRequest collective;  ///< with variant, prelaunch and, on compute units, how many of them
  std::uint32_t gemm_units = 0;  ///< that the product may occupy; 0 = all
  bool tuned = false;            ///< its kernel was chosen for these units; else for all
  std::int32_t priority = 0;     ///< of the collective's kernels over the product's
  std::string why{};             ///< one line for the user

  bool on_cores() const;  ///< the collective runs on compute units
  ProductUnits product_units() const { return {gemm_units, tuned}; }
};

struct PolicyInfo {
  std::string name;
  std::string summary;
  std::string wins;   ///< when
  std::string loses;  ///< when
};

/// In the order of the list above.
std::vector<PolicyInfo> list_policies();

/// Refuses unknown ones with the nearest known one (c3.policy).
Status check_policy(std::string_view name);

/// Stands for all policies, in command lines.
inline constexpr const char* kAllPolicies = "all";

/// What the policy decides, without building a program. Refuses unknown policies (check_policy), products that the
/// machine cannot do (check_gemm) or that add to their output (c3.accumulate), collectives that cannot be planned, one
/// rank (c3.ranks), and policies for which the collective has no variant (c3.variant: no DMA engine reduces) or the
/// machine too few compute units (c3.partition).
Result<OverlapWay> choose_way(std::string_view policy, const OverlapRequest& request, const Machine& machine,
                              const CostModel& cost);

/// How a library does a collective on compute units, knowing nothing of any product: variant and number of units, by
/// the cost of it alone. Fails with c3.variant if it has no variant there. The machine has timing.
Result<CollectiveRequest> library_collective(const CollectiveRequest& request, const Machine& machine,
                                             const CostModel& cost);

/// A product and this collective at once, with all compute units for the product: as c3 does where the collective runs
/// on compute units, as conccl where on engines.
OverlapWay way_at_once(CollectiveRequest collective);

/// The program: per rank buffers "gemm.a<r>", "gemm.b<r>", "gemm.c<r>", a compute queue "gemm<r>", and the queues of
/// the collective; one contract for both. Refuses what choose_way refuses, more compute units for the product than
/// there are (c3.compute_units), and what does not fit the memory of a GPU together (gemm.memory).
Result<Program> plan_overlap(const OverlapRequest& request, const OverlapWay& way, const Machine& machine);

/// The product alone, on every rank: the program against which overlap is measured. Refuses what check_gemm refuses.
Result<Program> plan_product(const GemmShape& shape, const ProductUnits& units, std::uint32_t ranks,
                             const Machine& machine);

}  // namespace cortado
