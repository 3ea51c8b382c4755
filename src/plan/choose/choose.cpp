#include "plan/choose.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "plan/collective/variant.hpp"
#include "plan/external.hpp"

namespace cortado {
namespace {

/// That the machine knows no library, or has no packets that no machine of today has, says nothing of the other
/// variants.
bool says_little(const RefusedCandidate& candidate) {
  return candidate.reason.code == "plan.library" || candidate.request.variant == "mcast";
}

Diagnostic nothing_fits(const std::vector<RefusedCandidate>& refused) {
  const auto other = std::ranges::find_if_not(refused, says_little);
  const Diagnostic& first = (other != refused.end() ? *other : refused.front()).reason;
  std::vector<std::string> reasons;
  for (const RefusedCandidate& candidate : refused) {
    const std::string reason = fmt::format("{}: {}", candidate.request.variant, candidate.reason.message);
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
  }
  const bool one_reason = std::all_of(refused.begin(), refused.end(), [&](const RefusedCandidate& candidate) {
    return candidate.reason.message == first.message || says_little(candidate);
  });
  if (one_reason) return first;
  return {"plan.auto",
          fmt::format("no variant of {} works: {}", refused.front().request.collective, join(reasons, "; ")),
          first.hint};
}

/// What a library chooses from stands for itself only where it is named: the library's own choice stands for it.
bool is_among(const VariantInfo& info, const std::vector<std::string>& names) {
  if (names.empty()) return !info.of_library;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == info.variant || (!info.of_library && name == (info.on_cores ? kCoresVariants : kDmaVariants));
  });
}

}  // namespace

Result<std::vector<CollectiveRequest>> list_candidates(const ChoiceRequest& request) {
  CollectiveRequest named = request.base;
  for (const std::string& name : request.among) {
    if (name == kDmaVariants || name == kCoresVariants || is_external(name)) continue;
    named.variant = name;
    CORTADO_RETURN_IF_ERROR(plan::find_variant(named));
  }

  std::vector<CollectiveRequest> candidates;
  for (const VariantInfo& info : list_variants(request.base.collective)) {
    if (!is_among(info, request.among)) continue;
    CollectiveRequest candidate = request.base;
    candidate.variant = info.variant;
    candidate.in_place = request.in_place.value_or(default_in_place(info.collective, info.variant));
    candidate.prelaunch = false;
    candidate.trigger_words = TriggerWords::shared;
    if (!info.on_cores) candidate.compute_units = 0;
    candidates.push_back(candidate);
    if (!request.base.prelaunch || info.on_cores) continue;
    candidate.prelaunch = true;
    candidate.trigger_words = request.base.trigger_words;
    candidates.push_back(std::move(candidate));
  }
  for (const std::string& name : request.among) {
    if (!is_external(name)) continue;
    candidates.push_back(request.base);
    candidates.back().variant = name;
    candidates.back().in_place = request.in_place.value_or(default_in_place(request.base.collective, "pcpy"));
  }
  if (candidates.empty()) {
    return fail(About::strategy, "plan.auto",
                fmt::format("{} has no variant among {}", request.base.collective, join(request.among)),
                "see cortado list variants");
  }
  return candidates;
}

Result<ChoiceRow> rank_candidates(const std::vector<CollectiveRequest>& candidates,
                                  const std::vector<Result<Nanoseconds>>& times) {
  CORTADO_CHECK(!candidates.empty() && candidates.size() == times.size(), "a time for every candidate");
  ChoiceRow row{candidates.front().bytes, {}, {}};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (times[i]) {
      row.fitting.push_back({candidates[i], *times[i]});
    } else {
      row.refused.push_back({candidates[i], times[i].error()});
    }
  }
  if (row.fitting.empty()) return fail(nothing_fits(row.refused));
  std::stable_sort(row.fitting.begin(), row.fitting.end(),
                   [](const TimedCandidate& a, const TimedCandidate& b) { return a.time < b.time; });
  return row;
}

Result<ChoiceRow> choose(const ChoiceRequest& request, const CostModel& cost) {
  CORTADO_ASSIGN_OR_RETURN(const auto candidates, list_candidates(request));
  std::vector<Result<Nanoseconds>> times;
  for (const CollectiveRequest& candidate : candidates) times.push_back(cost.collective(candidate));
  return rank_candidates(candidates, times);
}

bool same_way(const CollectiveRequest& a, const CollectiveRequest& b) {
  return a.variant == b.variant && a.prelaunch == b.prelaunch && a.in_place == b.in_place;
}

std::string way_name(const CollectiveRequest& request) {
  return request.variant + (request.prelaunch ? " prelaunch" : "");
}

ChoiceChanges changes_around(const ChoiceTable& table, Bytes bytes, const CollectiveRequest& chosen) {
  ChoiceChanges changes;
  for (const ChoiceRow& row : table) {
    if (same_way(row.best().request, chosen)) continue;
    if (row.bytes < bytes) changes.below = &row;
    if (row.bytes > bytes && changes.above == nullptr) changes.above = &row;
  }
  return changes;
}

}  // namespace cortado
