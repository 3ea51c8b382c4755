// The simulator next to the embedded node of this computer: calibrated first, then all-gather and all-to-all.
#include <string>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "measure.hpp"
#include "pipeline/bench.hpp"
#include "pipeline/calibrate.hpp"
#include "pipeline/compare.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::bench {
namespace {

constexpr double kTarget = 25;  // percent
constexpr std::uint32_t kIterations = 9;

/// Errors in percent of one variant over all sizes.
std::vector<double> errors_of(Collective collective, const std::string& variant, bool prelaunch, const Machine& machine,
                              Target& node) {
  pipeline::BenchRequest request;
  request.base.collective = collective;
  request.variants = {variant};
  request.prelaunch = {prelaunch};
  for (Bytes size = 64_KiB; size <= 64_MiB; size = size * 2) request.sizes.push_back(size);
  std::vector<double> errors;
  const pipeline::BenchPlan plan = pipeline::plan_bench(request, machine).value();
  for (const pipeline::BenchPoint& point : plan.points) {
    errors.push_back(
        100 *
        pipeline::compare_verified(point.program, node, {.iterations = kIterations, .warmup = 2}).value().error());
  }
  return errors;
}

}  // namespace

std::vector<Row> compare_rows() {
  const Machine base = load_machine("mi300x-8").value();
  const auto node = open_target({"soft", base.gpus, {}}, base).value();
  std::vector<Row> rows;
  std::vector<double> all;
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    for (const VariantInfo& info : list_variants(collective)) {
      const auto variant = plan::find_variant({.collective = info.collective, .variant = info.variant}).value();
      // Kernels of the node are not calibrated.
      if (info.on_cores || !variant->can_run_on(base)) continue;
      // Anew for each, because what else the computer does changes within a minute.
      const Machine machine = pipeline::calibrate(base).value();
      for (const bool prelaunch : {false, true}) {
        const std::vector<double> errors = errors_of(collective, info.variant, prelaunch, machine, *node);
        all.insert(all.end(), errors.begin(), errors.end());
        const pipeline::ErrorSummary summary = pipeline::summary_of(errors);
        rows.push_back({fmt::format("simulated {} {}{}, 64KiB..64MiB: median error", collective, info.variant,
                                    prelaunch ? " prelaunched" : ""),
                        summary.median, "%", kTarget, Better::lower});
        rows.push_back({"  worst of its sizes", summary.worst, "%"});
      }
    }
  }
  rows.push_back(
      {"simulated against measured: median error", pipeline::summary_of(all).median, "%", kTarget, Better::lower});
  return rows;
}

}  // namespace cortado::bench
