// Choosing how to do a collective: every variant that fits is a candidate, a CostModel says how long each takes, the
// fastest wins.
//
// Nothing is interpolated: a choice is made from the times at the very size that is asked for. A table of sizes says
// where the choice changes.
//
// Example: at 1 KiB bcst takes 9 us and b2b 5 us, at 1 MiB 30 us and 40 us. b2b is chosen for 1 KiB, bcst for 1 MiB,
// and seen from 1 KiB the choice changes at 1 MiB.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "plan/cost.hpp"

namespace cortado {

/// Stands for a variant that is to be chosen; the planner does not know it.
inline constexpr const char* kAutoVariant = "auto";

/// Stand for all variants that move data with DMA engines, or with compute units (VariantInfo::on_cores).
inline constexpr const char* kDmaVariants = "dma";
inline constexpr const char* kCoresVariants = "cores";

/// What is asked for, and what is left open.
struct ChoiceRequest {
  /// The variant is not looked at. prelaunch = true: the caller can submit ahead, so prelaunched candidates compete
  /// with the others. compute_units is for candidates on compute units only. Everything else is kept in all candidates:
  /// variants that cannot do it do not fit.
  CollectiveRequest base;
  std::optional<bool> in_place{};    ///< none: each variant where it works by default (default_in_place)
  std::vector<std::string> among{};  ///< variants, or kDmaVariants, kCoresVariants; empty = all
};

/// The candidates in the order of list_variants(), each before its prelaunched form; at least one. Whether they fit is
/// not known yet. Refuses unknown names (plan.unknown_collective, plan.unknown_variant), and fails with plan.auto if
/// the collective has none of a kind.
Result<std::vector<CollectiveRequest>> list_candidates(const ChoiceRequest& request);

struct TimedCandidate {
  CollectiveRequest request;
  Nanoseconds time;
};

struct RefusedCandidate {
  CollectiveRequest request;
  Diagnostic reason;
};

/// The candidates of one size.
struct ChoiceRow {
  Bytes bytes;
  std::vector<TimedCandidate> fitting;  ///< fastest first; of equally fast ones the first of list_candidates()
  std::vector<RefusedCandidate> refused;

  const TimedCandidate& best() const { return fitting.front(); }
};

/// The row of candidates of one size and their times, in the same order. Fails if none fits: with the common reason, or
/// with plan.auto and all reasons.
Result<ChoiceRow> rank_candidates(const std::vector<CollectiveRequest>& candidates,
                                  const std::vector<Result<Nanoseconds>>& times);

/// The row of one request.
Result<ChoiceRow> choose(const ChoiceRequest& request, const CostModel& cost);

/// The same way: variant, prelaunch and place.
bool same_way(const CollectiveRequest& a, const CollectiveRequest& b);

/// "bcst" or "bcst prelaunch"
std::string way_name(const CollectiveRequest& request);

/// Rows by ascending size.
using ChoiceTable = std::vector<ChoiceRow>;

/// Where another candidate than `chosen` is best: the nearest row above and below `bytes`; nullptr where there is none.
struct ChoiceChanges {
  const ChoiceRow* below = nullptr;
  const ChoiceRow* above = nullptr;
};
ChoiceChanges changes_around(const ChoiceTable& table, Bytes bytes, const CollectiveRequest& chosen);

}  // namespace cortado
