// The single list of collective variants.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cortado/plan.hpp"

#include "base/text.hpp"
#include "plan/collective/external.hpp"
#include "plan/collective/library.hpp"
#include "plan/collective/variant.hpp"
#include "plan/external.hpp"

namespace cortado {
namespace plan {

// Each is defined in the file of the same name, except that the two protocols of kernels on compute units share
// <collective>_cores.cpp, rings <collective>_ring.cpp, and the other reductions <collective>.cpp.
Variant all_gather_b2b();
Variant all_gather_bcst();
Variant all_gather_cores_ll();
Variant all_gather_cores_ring();
Variant all_gather_cores_simple();
Variant all_gather_mcast();
Variant all_gather_pcpy();
Variant all_gather_ring();
Variant all_reduce_add();
Variant all_reduce_add_ring();
Variant all_reduce_cores_ll();
Variant all_reduce_cores_ring();
Variant all_reduce_cores_simple();
Variant all_reduce_pcpy();
Variant all_to_all_b2b();
Variant all_to_all_cores_ll();
Variant all_to_all_cores_simple();
Variant all_to_all_pcpy();
Variant all_to_all_swap();
Variant broadcast_b2b();
Variant broadcast_bcst();
Variant broadcast_mcast();
Variant broadcast_pcpy();
Variant gather_pcpy();
Variant point_to_point_pcpy();
Variant reduce_scatter_add();
Variant reduce_scatter_add_ring();
Variant reduce_scatter_cores_ll();
Variant reduce_scatter_cores_ring();
Variant reduce_scatter_cores_simple();
Variant reduce_scatter_pcpy();
Variant scatter_b2b();
Variant scatter_pcpy();

namespace {

/// Those of the library come after the others of each collective.
std::vector<Variant> with_library(std::vector<Variant> list) {
  std::ranges::move(library_variants(), std::back_inserter(list));
  std::ranges::stable_sort(list, {}, [](const Variant& variant) { return variant.info.collective; });
  return list;
}

/// In the order of `cortado list variants`: the plain form of a collective first.
const std::vector<Variant>& variants() {
  static const std::vector<Variant> list = with_library({
      all_gather_pcpy(),
      all_gather_bcst(),
      all_gather_mcast(),
      all_gather_b2b(),
      all_gather_ring(),
      all_gather_cores_ll(),
      all_gather_cores_simple(),
      all_gather_cores_ring(),
      all_to_all_pcpy(),
      all_to_all_swap(),
      all_to_all_b2b(),
      all_to_all_cores_ll(),
      all_to_all_cores_simple(),
      reduce_scatter_pcpy(),
      reduce_scatter_add(),
      reduce_scatter_add_ring(),
      reduce_scatter_cores_ll(),
      reduce_scatter_cores_simple(),
      reduce_scatter_cores_ring(),
      all_reduce_pcpy(),
      all_reduce_add(),
      all_reduce_add_ring(),
      all_reduce_cores_ll(),
      all_reduce_cores_simple(),
      all_reduce_cores_ring(),
      broadcast_pcpy(),
      broadcast_bcst(),
      broadcast_mcast(),
      broadcast_b2b(),
      gather_pcpy(),
      scatter_pcpy(),
      scatter_b2b(),
      point_to_point_pcpy(),
  });
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

Result<OpenProgram> plan_open(const CollectiveRequest& asked, const Machine& machine) {
  CollectiveRequest request = asked;
  if (is_library(request.variant) && runs_on_engines(request)) request.variant = engine_variant(request, machine);
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(request));
  CORTADO_ASSIGN_OR_RETURN(CollectiveRequest checked, check_request(request, *variant, machine));
  Schedule schedule(std::move(checked), machine);
  schedule.go_through_others();
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
