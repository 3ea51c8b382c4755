// cortado plan: a collective, or a GEMM and a collective together, as a program file.
#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "collective_request.hpp"
#include "command.hpp"
#include "overlap_request.hpp"
#include "pipeline/explain.hpp"
#include "reproduce/evidence.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kPlanExamples[] = {
    {"cortado plan all-gather --variant bcst --prelaunch --bytes 1MiB --machine mi300x-8 -o ag.json",
     "all-gather with two-destination copies, prelaunched, for 8 GPUs"},
    {"cortado plan all-to-all --variant swap --bytes 64KiB | cortado verify -", "plan and verify through a pipe"},
    {"cortado plan all-gather --variant auto --bytes 64KiB --prelaunch -o small.json",
     "the variant that the simulator finds fastest at this size"},
    {"cortado plan all-gather --bytes 256KiB --prelaunch --explain",
     "what auto picks when queues can be submitted ahead of time, and why"},
    {"cortado plan all-to-all --bytes 1MiB --out-of-place --among pcpy,b2b --explain",
     "the choice between two variants"},
    {"cortado plan reduce-scatter --bytes 1MiB --ranks 4 --dtype bf16 -o rs.json", "DMA copies and reduction kernels"},
    {"cortado plan overlap all-gather --gemm 16384x2048x16384 --strategy hetero-fused-1d -o g1.json",
     "an all-gather and the GEMM that needs it, split into steps"},
    {"cortado plan overlap all-to-all --gemm 1024x1024x2048 --tokens 3:1:1:1 --ranks 4 --strategy uniform-fused-1d -o "
     "moe.json",
     "tokens for experts, one of which is three times as popular as the others"},
    {"cortado plan overlap reduce-scatter --gemm 1024x512x128 --dtype f16 --machine t3-ring-8 --strategy t3 -o t3.json",
     "a GEMM whose tracked stores go around a ring and are added up in memory"},
    {"cortado plan overlap all-gather --gemm 4096x4096x4096 --bytes 64MiB --independent --strategy "
     "conccl/bcst-prelaunch -o conccl.json",
     "a GEMM next to an unrelated all-gather on DMA engines"}};

Result<Machine> open_machine(const Arguments& arguments) {
  CORTADO_ASSIGN_OR_RETURN(Machine machine, machine_of(arguments));
  const std::string output = arguments.text("--output");
  if (output != "-") CORTADO_RETURN_IF_ERROR(check_output_path(output, {arguments.text("--machine")}));
  return machine;
}

Result<Exit> write_program(const Arguments& arguments, const Program& program, const Machine& machine,
                           const std::string& description, Console& console) {
  if (arguments.given("--planner")) {  // tests prove what Cortado's own planners write
    console.stage("proving");
    if (const auto proved = prove(program, machine); !proved) return console.failure(proved.error());
  }
  const std::string summary = description + ": " + describe_counts(count(program));
  const std::string output = arguments.text("--output");
  if (output == "-") {
    console.out(to_json(program));
    console.talk(summary);
    return Exit::ok;
  }
  CORTADO_RETURN_IF_ERROR(write_file(output, to_json(program)));
  console.talk(fmt::format("{}; wrote {}", summary, output));
  return Exit::ok;
}

Status explain_variant(const Arguments& arguments, const CollectiveRequest& request, const Machine& machine,
                       Console& console) {
  CORTADO_ASSIGN_OR_RETURN(std::vector<Bytes> sizes, parse_sizes(arguments.text("--sizes")));
  std::ranges::sort(sizes);
  pipeline::Chooser chooser(machine, chooser_options(arguments));
  const auto evidence = pipeline::collective_evidence(request.collective, machine);
  if (!evidence) return fail(evidence.error().errors.front());
  const auto explanation = pipeline::explain(
      choice_request(arguments, request), machine, chooser, sizes, *evidence,
      [&](std::size_t done, std::size_t all) { console.progress(fmt::format("{} of {} simulations", done, all)); });
  console.clear_progress();
  if (!explanation) return fail(explanation.error());
  keep_times(chooser, console);
  const std::string collective(request.collective.name());
  report::Document document = pipeline::explain_document(*explanation, collective);
  document.notes.insert(document.notes.begin(), request.prelaunch
                                                    ? "prelaunched variants are included because of --prelaunch"
                                                    : "prelaunched variants are left out; --prelaunch includes them");
  return TableOutput(arguments).show(console, document);
}

Result<Exit> plan_alone(const Arguments& arguments, Console& console) {
  const bool explain = arguments.given("--explain");
  const std::string variant = asked_variant(arguments, explain ? kAutoVariant : "pcpy");
  std::vector<std::string_view> modes{"alone"};
  if (variant == kAutoVariant) modes.push_back("auto");
  if (explain) modes.push_back("explain");
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  if (explain && variant != kAutoVariant) {
    return fail("usage.option", "--explain explains what auto chooses, but a variant was named", "drop --variant");
  }
  CORTADO_RETURN_IF_ERROR(TableOutput(arguments).check({arguments.text("--machine"), arguments.text("--output")}));
  CORTADO_ASSIGN_OR_RETURN(CollectiveRequest request, collective_request(arguments, arguments.text("what"), variant));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, open_machine(arguments));
  if (explain) {
    CORTADO_RETURN_IF_ERROR(explain_variant(arguments, request, machine, console));
    if (arguments.text("--output") == "-") return Exit::ok;
  }
  CORTADO_ASSIGN_OR_RETURN(request, settled(request, arguments, machine, console));
  CORTADO_ASSIGN_OR_RETURN(const Program program, plan_collective(request, machine));
  return write_program(arguments, program, machine, describe(request, program), console);
}

Result<Exit> plan_together(const Arguments& arguments, Console& console) {
  std::vector<std::string_view> modes = overlap_modes(arguments);
  if (asked_strategy(arguments) == pipeline::kAutoStrategy) modes.push_back("auto");
  if (arguments.given("--explain")) modes.push_back("explain");
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  CORTADO_ASSIGN_OR_RETURN(const std::string collective, arguments.required("collective"));
  if (arguments.given("--explain")) return explain_strategy(arguments, console, collective);
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, open_machine(arguments));
  CORTADO_ASSIGN_OR_RETURN(const OverlapProblem problem, overlap_problem(arguments, collective, machine));
  CORTADO_ASSIGN_OR_RETURN(const StrategyKnobs knobs, strategy_knobs(arguments));
  const auto planned =
      pipeline::plan_strategy(problem, machine, asked_strategy(arguments), knobs, threads_of(arguments));
  if (!planned) return console.failure(planned.error());
  const std::string memory =
      planned->footprint.value == 0 ? "" : fmt::format(", {} of memory", format_bytes(planned->footprint));
  auto written = write_program(arguments, planned->program, machine,
                               fmt::format("{} ({}: {}) on {} ranks of {}{}", planned->program.name, planned->name,
                                           planned->how, planned->program.ranks, machine.name, memory),
                               console);
  if (written && *written == Exit::ok) tell_policy(planned->arbitration, machine, console);
  return written;
}

Result<Exit> run_plan(const Arguments& arguments, Console& console) {
  console.stage("planning");
  return arguments.text("what") == "overlap" ? plan_together(arguments, console) : plan_alone(arguments, console);
}

}  // namespace

constinit const Subcommand kPlanCommand{
    "plan", "Plan a collective, or a GEMM and a collective together, and write a program file", kPlanExamples,
    run_plan};

}  // namespace cortado::cli
