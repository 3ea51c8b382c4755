#include "cortado/pipeline/bench.hpp"

namespace cortado::pipeline {
namespace {

std::vector<std::string> swept_variants(const BenchRequest& request) {
  if (!request.variants.empty()) return request.variants;
  std::vector<std::string> names;
  for (const VariantInfo& info : list_variants(request.base.collective)) names.push_back(info.variant);
  // An unknown collective has no variants; the planner says so.
  return names.empty() ? std::vector{request.base.variant} : names;
}

/// Whether the variant takes part in a sweep of prelaunch.
bool can_prelaunch(Collective collective, const std::string& variant) {
  for (const VariantInfo& info : list_variants(collective)) {
    if (info.variant == variant) return !info.on_cores;
  }
  return true;
}

/// All points in the order of the table. A variant that cannot be prelaunched has one point instead of two where both
/// are swept; if only prelaunch is asked for, the planner says why not.
std::vector<CollectiveRequest> expand(const BenchRequest& request) {
  std::vector<CollectiveRequest> points;
  for (const Bytes size : request.sizes) {
    for (const std::string& variant : swept_variants(request)) {
      const bool both = request.prelaunch.size() > 1;
      for (const bool prelaunch : request.prelaunch) {
        if (prelaunch && both && !can_prelaunch(request.base.collective, variant)) continue;
        CollectiveRequest point = request.base;
        point.bytes = size;
        point.variant = variant;
        point.prelaunch = prelaunch;
        point.in_place = request.in_place.value_or(default_in_place(point.collective, variant));
        points.push_back(std::move(point));
      }
    }
  }
  return points;
}

/// The point itself, or what is chosen for it.
Result<CollectiveRequest> settled(const CollectiveRequest& point, const BenchRequest& request, Chooser* chooser) {
  if (point.variant != kAutoVariant || chooser == nullptr) return point;
  CORTADO_ASSIGN_OR_RETURN(const ChoiceRow row, chooser->row({point, request.in_place, request.among}));
  return row.best().request;
}

}  // namespace

Outcome<BenchPlan> plan_bench(const BenchRequest& request, const Machine& machine, const GoOn& go_on,
                              Chooser* chooser) {
  BenchPlan plan;
  const std::vector<CollectiveRequest> points = expand(request);
  for (const CollectiveRequest& point : points) {
    if (go_on && !go_on(plan.points.size() + plan.skipped.size(), points.size())) {
      return fail_at(Stage::plan, Diagnostic{"bench.interrupted", "stopped while planning", {}});
    }
    const auto chosen = settled(point, request, chooser);
    auto program = chosen.and_then([&](const CollectiveRequest& known) { return plan_collective(known, machine); });
    if (!program) {
      plan.skipped.push_back({point.bytes, point.variant, point.prelaunch, program.error()});
      continue;
    }
    auto verified = verify(*std::move(program), machine);
    if (!verified) return fail_at(Stage::verify, verified.error());
    const bool open = chosen->variant != point.variant;
    plan.points.push_back(
        {open ? point.variant + ":" + chosen->variant : point.variant, *chosen, *std::move(verified)});
  }
  if (plan.points.empty()) {
    return fail_at(Stage::plan, plan.skipped.empty() ? Diagnostic{"bench.empty", "nothing to measure", "give --sizes"}
                                                     : plan.skipped.front().reason);
  }
  return plan;
}

Outcome<report::BenchRow> run_point(const BenchPoint& point, device::Driver& driver, const BenchRequest& request,
                                    const device::RunOptions& options) {
  RunSettings settings;
  settings.run = options;
  settings.run.iterations = request.iterations;
  settings.run.check = device::CheckOutputs::last;
  settings.warmup = request.warmup;
  const auto report = run_verified(point.program, driver, settings);
  if (!report) return tl::unexpected(report.error());
  return report::BenchRow{point.request.bytes, point.label,    point.request.prelaunch,   point.request.in_place,
                          report->time,        report->counts, report->result.wrong_bytes};
}

}  // namespace cortado::pipeline
