#include "sweep_options.hpp"

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/target/target.hpp"

#include "number_option.hpp"

namespace cortado::cli {

void SweepOptions::add_to(CLI::App& app) {
  const pipeline::BenchRequest defaults;
  device_.add_to(app);
  add_number(app, "--iters", iterations_,
             fmt::format("Iterations of each point (default: {}; sim: 1)", defaults.iterations), {.least = 1})
      ->type_name("N");
  add_number(app, "--warmup", warmup_, fmt::format("Iterations before (default: {}; not for sim)", defaults.warmup))
      ->type_name("N");
  add_number(app, "--threads", threads_, "sim: points that are simulated at a time (default: cores)", {.least = 1})
      ->type_name("N");
}

Status SweepOptions::fill(pipeline::BenchRequest& request) const {
  if (iterations_ == 0U) return fail("usage.iters", "--iters 0 measures nothing", "give 1 or more");
  if (threads_ == 0U) return fail("usage.threads", "--threads 0 simulates nothing", "give 1 or more");
  if (!device_.simulated()) {
    if (threads_) {
      return fail("usage.option", "--threads is for --on sim: a device measures one point at a time", "leave it out");
    }
    request.iterations = iterations_.value_or(request.iterations);
    request.warmup = warmup_.value_or(request.warmup);
    return {};
  }
  if (warmup_) {
    return fail("usage.option", "--warmup means nothing to the simulator: every run starts from an idle machine",
                "leave it out");
  }
  CORTADO_RETURN_IF_ERROR(device_.check_for_simulator());
  request.iterations = iterations_.value_or(1);
  request.warmup = 0;
  return {};
}

Result<std::unique_ptr<Target>> SweepOptions::open(const pipeline::BenchPlan& plan, const Machine& machine) const {
  const std::uint32_t ranks = plan.points.front().program.program().ranks;
  CORTADO_ASSIGN_OR_RETURN(const auto target_request, device_.request(ranks, machine));
  return open_target(target_request, machine);
}

std::uint32_t SweepOptions::threads() const {
  return threads_.value_or(available_cores());
}

}  // namespace cortado::cli
