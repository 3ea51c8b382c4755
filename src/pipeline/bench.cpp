#include "pipeline/bench.hpp"

#include "base/platform.hpp"
#include "pipeline/parallel.hpp"
#include "plan/collective/variant.hpp"
#include "plan/external.hpp"

namespace cortado::pipeline {
namespace {

/// Variants that a library chooses from, and those that need features the machine lacks, are swept only by name.
std::vector<std::string> swept_variants(const BenchRequest& request, const Machine& machine) {
  if (!request.variants.empty()) return request.variants;
  std::vector<std::string> names;
  for (const VariantInfo& info : list_variants(request.base.collective)) {
    const bool known = info.variant != kLibraryVariant || (machine.timing && machine.timing->library);
    const auto variant = plan::find_variant({.collective = info.collective, .variant = info.variant});
    if (known && variant && (*variant)->can_run_on(machine) && !info.of_library) names.push_back(info.variant);
  }
  // An unknown collective has no variants; the planner reports it.
  return names.empty() ? std::vector{request.base.variant} : names;
}

std::vector<std::string> with_planner(std::vector<std::string> variants, const BenchRequest& request) {
  if (!request.planner.empty()) variants.push_back(request.planner);
  return variants;
}

/// Whether the variant takes part in a sweep of prelaunch.
bool can_prelaunch(Collective collective, const std::string& variant) {
  for (const VariantInfo& info : list_variants(collective)) {
    if (info.variant == variant) return !info.on_cores;
  }
  return true;
}

/// All points in the order of the table. A variant that cannot be prelaunched has one point instead of two if both
/// are swept; if only prelaunch is requested, the planner says why it is impossible.
std::vector<CollectiveRequest> expand(const BenchRequest& request, const Machine& machine) {
  std::vector<CollectiveRequest> points;
  const std::vector<std::string> variants = with_planner(swept_variants(request, machine), request);
  for (const Bytes size : request.sizes) {
    for (const std::string& variant : variants) {
      const bool both = request.prelaunch.size() > 1;
      for (const bool prelaunch : request.prelaunch) {
        // Of both kinds of launch, auto takes the better.
        if (!prelaunch && both && variant == kAutoVariant) continue;
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

/// The point itself, or the variant chosen for it.
Result<CollectiveRequest> settled(const CollectiveRequest& point, const BenchRequest& request, Chooser* chooser) {
  if (point.variant != kAutoVariant || chooser == nullptr) return point;
  CORTADO_ASSIGN_OR_RETURN(const ChoiceRow row, chooser->row({point, request.in_place, request.among}));
  return row.best().request;
}

/// "bcst", "auto:bcst" if it was chosen, or the file name of a planner.
std::string label_of(const std::string& asked, const std::string& chosen) {
  const std::string shown = is_external(chosen) ? chosen.substr(chosen.rfind('/') + 1) : chosen;
  return asked == chosen ? shown : asked + ":" + shown;
}

}  // namespace

Outcome<BenchPlan> plan_bench(const BenchRequest& request, const Machine& machine, const GoOn& go_on,
                              Chooser* chooser) {
  BenchPlan plan;
  const std::vector<CollectiveRequest> points = expand(request, machine);
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
    plan.points.push_back({label_of(point.variant, chosen->variant), *chosen, *std::move(verified)});
  }
  if (plan.points.empty()) {
    return fail_at(Stage::plan, plan.skipped.empty() ? Diagnostic{"bench.empty", "nothing to measure", "pass --sizes"}
                                                     : plan.skipped.front().reason);
  }
  return plan;
}

PointRunner::PointRunner(const BenchPlan& plan, const BenchRequest& request, Target& target,
                         const device::RunOptions& options, [[maybe_unused]] std::uint32_t threads)
    : plan_(plan),
      target_(target),
      options_{.iterations = request.iterations, .warmup = request.warmup, .device = options} {
  options_.device.check = device::CheckOutputs::last;
#if CORTADO_HOSTED
  if (!target.predicts()) return;
  rows_.resize(plan.points.size());
  const auto work = [this](std::size_t point) {
    try {
      rows_[point].set_value(row_of(plan_.points[point]));
    } catch (...) {
      rows_[point].set_exception(std::current_exception());
    }
  };
  ahead_ = std::jthread([this, threads, work](const std::stop_token& stop) {
    for_each_in_parallel(rows_.size(), threads, work, [&stop](std::size_t) { return !stop.stop_requested(); });
  });
#endif
}

Outcome<report::BenchRow> PointRunner::run(std::size_t point) {
#if CORTADO_HOSTED
  // Rethrows an exception of the thread that simulated the point.
  if (!rows_.empty()) return rows_[point].get_future().get();
#endif
  return row_of(plan_.points[point]);
}

Outcome<report::BenchRow> PointRunner::row_of(const BenchPoint& point) const {
  const auto run = target_.run(point.program, options_);
  if (!run) return fail(run.error());
  std::optional<std::uint64_t> wrong;
  if (run->check) wrong = run->check->wrong;
  const CollectiveRequest& request = point.request;
  return report::BenchRow{request.bytes, point.label, request.prelaunch, request.in_place, run->time,
                          run->counts,   wrong,       run->energy};
}

}  // namespace cortado::pipeline
