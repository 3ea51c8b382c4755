// The single list of collective variants.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "cortado/plan.hpp"

#include "base/text.hpp"
#include "plan/collective/external.hpp"
#include "plan/collective/library.hpp"
#include "plan/collective/variant.hpp"
#include "plan/external.hpp"

namespace cortado {
namespace plan {

namespace {

/// In the order of `cortado list variants`: the plain form of a collective first, those of the library last.
const std::vector<Variant>& variants() {
  static const std::vector<Variant> list = [] {
    std::vector<Variant> all;
    for (auto* const family : {all_gather_variants, all_to_all_variants, reduce_scatter_variants, all_reduce_variants,
                               rooted_variants, library_variants}) {
      std::ranges::move(family(), std::back_inserter(all));
    }
    std::ranges::stable_sort(all, {}, [](const Variant& variant) { return variant.info.collective; });
    return all;
  }();
  return list;
}

bool is_library(std::string_view variant) {
  return variant == kLibraryVariant || variant == "rccl" || variant == "nccl";
}

/// Collectives that libraries run on copy engines.
bool runs_on_engines(const CollectiveRequest& request) {
  return request.runtime != RuntimeMode::raw &&
         (request.collective == "all-gather" || request.collective == "all-to-all");
}

}  // namespace

Result<const Variant*> find_variant(const CollectiveRequest& request) {
  const std::string_view name = is_library(request.variant) ? kLibraryVariant : std::string_view(request.variant);
  for (const Variant& variant : variants()) {
    if (variant.info.collective == request.collective && variant.info.variant == name) return &variant;
  }
  std::vector<std::string> known;
  for (const VariantInfo& info : list_variants(request.collective)) known.push_back(info.variant);
  return fail(About::strategy, "plan.unknown_variant",
              fmt::format("{} has no variant '{}'", request.collective, request.variant),
              suggestion(request.variant, known));
}

Result<OpenProgram> plan_open(const CollectiveRequest& asked, const Machine& machine, SendTable sends) {
  CollectiveRequest request = asked;
  if (is_library(request.variant) && runs_on_engines(request)) request.variant = engine_variant(request, machine);
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(request));
  CORTADO_ASSIGN_OR_RETURN(CollectiveRequest checked, check_request(request, *variant, machine));
  Schedule schedule(std::move(checked), machine);
  schedule.go_through_others();
  schedule.set_sends(std::move(sends));
  CORTADO_ASSIGN_OR_RETURN(Program program, variant->plan(schedule));
  return OpenProgram{std::move(program), schedule.hosts()};
}

}  // namespace plan

Result<RuntimeMode> parse_runtime_mode(std::string_view name) {
  using enum RuntimeMode;
  for (const auto& [known, mode] :
       {std::pair("raw", raw), {"runtime", runtime}, {"library", library}, {"device", device}}) {
    if (name == known) return mode;
  }
  return fail("usage.runtime", fmt::format("--runtime {} is not a known value", name),
              "use raw, runtime, library or device");
}

const std::vector<VariantInfo>& list_variants() {
  static const std::vector<VariantInfo> infos = [] {
    std::vector<VariantInfo> all;
    for (const plan::Variant& variant : plan::variants()) all.push_back(variant.info);
    return all;
  }();
  return infos;
}

std::span<const VariantInfo> list_variants(Collective collective) {
  return std::ranges::equal_range(list_variants(), collective, {}, &VariantInfo::collective);  // sorted by it
}

bool default_in_place(Collective collective, const std::string& variant) {
  const bool preferred = collective == "all-gather";
  for (const VariantInfo& info : list_variants(collective)) {
    if (info.variant == variant) return preferred ? info.in_place : !info.out_of_place;
  }
  return preferred;
}

Result<Program> plan_collective(const CollectiveRequest& request, const Machine& machine) {
  if (is_external(request.variant)) return plan::plan_externally(request, machine);
  CORTADO_ASSIGN_OR_RETURN(plan::OpenProgram open, plan::plan_open(request, machine));
  return std::move(open.program);
}

}  // namespace cortado
