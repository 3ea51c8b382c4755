// cortado power: the power of a GEMM and a collective, alone and at once, under power-management policies.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "overlap_request.hpp"
#include "study_progress.hpp"
#include "study_requests.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kPowerExamples[] = {
    {"cortado power all-gather --gemm 4096x4096x8192 --bytes 64MiB --independent --policy all",
     "power by component, time and energy of the GEMM, the collective and both, under every policy"},
    {"cortado power all-gather --gemm 4096x4096x8192 --strategy hetero-fused-1d --policy none",
     "a GEMM that consumes an all-gather, with a strategy of cortado overlap"},
    {"cortado power all-gather --bytes 64MiB --variant pcpy --policy none --html power.html",
     "an all-gather on DMA engines; also write a page with power over time"},
    {"cortado power --gemm 4096x4096x8192 --policy uniform-cap,component-shift --cap 600 --limit 500 --json",
     "a GEMM under lower power caps, as JSON for a script"},
    {"cortado power --gemm 4096x4096x8192 --cap none", "the clocks of the machine file, whatever power they draw"}};

constexpr std::string_view kNoCap = "none";

Result<std::vector<Component>> components(const std::vector<std::string>& names) {
  std::vector<Component> components;
  for (const std::string& name : names) {
    const auto known = std::ranges::find(kComponentNames, name);
    if (known == kComponentNames.end()) {
      return fail("usage.component", fmt::format("unknown component {}", name), "choose from xcd, iod and hbm");
    }
    components.push_back(kComponents[static_cast<std::size_t>(known - kComponentNames.begin())]);
  }
  return components;
}

Result<Exit> run_power(const Arguments& arguments, Console& console) {
  CORTADO_RETURN_IF_ERROR(check_power_flags(arguments));
  const TableOutput table(arguments);
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine")}));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(arguments.text("--machine")));
  CORTADO_ASSIGN_OR_RETURN(const pipeline::PowerRequest request, power_request(arguments, machine));
  CORTADO_ASSIGN_OR_RETURN(pipeline::PowerOptions options, power_options(arguments));
  options.progress = show_progress(console);
  tell_what_is_borrowed(machine, console);
  const auto report = pipeline::study_power(request, machine, options);
  if (!report) return study_failure(console, report.error());
  console.clear_progress();
  CORTADO_RETURN_IF_ERROR(table.show(console, report::power_document(*report)));
  return Exit::ok;
}

}  // namespace

Status check_power_flags(const Arguments& arguments) {
  const bool gemm = arguments.given("--gemm");
  const bool collective = arguments.given("collective");
  std::vector<std::string_view> modes;
  if (gemm && collective) modes = overlap_modes(arguments);
  if (!gemm && collective) modes.push_back("alone");
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  if (gemm || collective) return {};
  return fail("usage.power", "no GEMM and no collective given", "pass --gemm MxNxK, COLLECTIVE --bytes SIZE, or both");
}

Result<pipeline::PowerRequest> power_request(const Arguments& arguments, const Machine& machine) {
  const std::string name = arguments.text("collective");
  pipeline::PowerRequest request;
  request.ranks = arguments.number("--ranks").value_or(0);
  if (arguments.given("--gemm")) {
    CORTADO_ASSIGN_OR_RETURN(request.gemm, gemm_of(arguments));
  }
  if (name.empty()) return request;
  CollectiveRequest collective;
  if (request.gemm) {
    CORTADO_ASSIGN_OR_RETURN(const OverlapProblem problem, overlap_problem(arguments, name, machine));
    collective = problem.collective();
    request.relation = problem.relation;
    request.tokens = problem.tokens;
    const bool at_once = problem.relation == Relation::independent && !arguments.given("--strategy");
    if (!at_once) request.strategy = arguments.text("--strategy");
    CORTADO_ASSIGN_OR_RETURN(request.knobs, strategy_knobs(arguments));
  } else {
    CORTADO_ASSIGN_OR_RETURN(collective.collective, find_collective(name));
    CORTADO_ASSIGN_OR_RETURN(collective.bytes, arguments.bytes("--bytes"));
    collective.own_block = !arguments.given("--leave-own-block");
  }
  collective.variant = arguments.text("--variant");
  collective.prelaunch = arguments.given("--prelaunch");
  collective.ranks = request.ranks;
  collective.in_place = default_in_place(collective.collective, collective.variant);
  request.collective = collective;
  return request;
}

Result<pipeline::PowerOptions> power_options(const Arguments& arguments) {
  pipeline::PowerOptions options;
  options.over_time = arguments.given("--html");
  if (arguments.text("--policy") != pipeline::kAllPowerPolicies) {
    CORTADO_ASSIGN_OR_RETURN(options.policies, sim::parse_power_policies(arguments.names("--policy")));
  }
  options.managed = arguments.text("--cap") != kNoCap;
  if (options.managed) {
    CORTADO_ASSIGN_OR_RETURN(options.cap_w, arguments.watts("--cap"));
  }
  CORTADO_ASSIGN_OR_RETURN(options.limit_w, arguments.watts("--limit"));
  if (arguments.given("--components")) {
    CORTADO_ASSIGN_OR_RETURN(options.components, components(arguments.names("--components")));
  }
  options.threads = threads_of(arguments);
  return options;
}

constinit const Subcommand kPowerCommand{
    "power", "Predict power and energy of a GEMM and a collective, alone and together, by power policy", kPowerExamples,
    run_power};

}  // namespace cortado::cli
