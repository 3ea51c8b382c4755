#include "task.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "base/text.hpp"
#include "collective_request.hpp"
#include "flags.hpp"
#include "overlap_request.hpp"
#include "program_input.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kDefaultVariant = "pcpy";

Result<Task> load_alone(const Arguments& arguments, Console& console) {
  const std::string variant = asked_variant(arguments, kDefaultVariant);
  CORTADO_ASSIGN_OR_RETURN(CollectiveRequest request, collective_request(arguments, arguments.text("what"), variant));
  CORTADO_ASSIGN_OR_RETURN(Machine machine, machine_of(arguments));
  CORTADO_ASSIGN_OR_RETURN(request, settled(request, arguments, machine, console));
  CORTADO_ASSIGN_OR_RETURN(Program program, plan_collective(request, machine));
  std::string title = describe(request, program);
  return Task{std::move(program), std::move(machine), std::move(title), request.in_place};
}

Outcome<Task> load_together(const Arguments& arguments) {
  const auto collective = arguments.required("collective");
  if (!collective) return fail_at(Stage::plan, collective.error());
  auto machine = machine_of(arguments);
  if (!machine) return fail_at(Stage::plan, machine.error());
  const auto problem = overlap_problem(arguments, *collective, *machine);
  if (!problem) return fail_at(Stage::plan, problem.error());
  const auto knobs = strategy_knobs(arguments);
  if (!knobs) return fail_at(Stage::plan, knobs.error());
  auto planned = pipeline::plan_strategy(*problem, *machine, asked_strategy(arguments), *knobs, threads_of(arguments));
  if (!planned) return fail(planned.error());
  std::string title = fmt::format("{} ({}: {}) on {} ranks of {}", planned->program.name, planned->name, planned->how,
                                  planned->program.ranks, machine->name);
  return Task{std::move(planned->program), *std::move(machine), std::move(title), {}, planned->arbitration};
}

Result<Task> load_file(const Arguments& arguments) {
  CORTADO_ASSIGN_OR_RETURN(ProgramInput input, read_program(arguments.text("what"), arguments.find("--machine")));
  CORTADO_RETURN_IF_ERROR(set_clock(arguments, input.machine));
  std::string title = input.program.name;
  return Task{std::move(input.program), std::move(input.machine), std::move(title)};
}

}  // namespace

Result<TaskKind> task_kind(const Arguments& arguments) {
  const std::string what = arguments.text("what");
  if (what == "overlap") return TaskKind::overlap;
  if (find_collective(what)) return TaskKind::alone;
  std::error_code ignored;
  if (what == "-" || std::filesystem::exists(what, ignored)) return TaskKind::file;
  return fail(
      "usage.what", fmt::format("'{}' is neither a collective nor a file", what),
      did_you_mean(what, {Collective::kNames.begin(), Collective::kNames.end()}, "see cortado list collectives"));
}

Outcome<Task> load_task(const Arguments& arguments, TaskKind kind, Console& console) {
  console.stage(kind == TaskKind::file ? "reading" : "planning");
  if (kind == TaskKind::overlap) return load_together(arguments);
  auto task = kind == TaskKind::file ? load_file(arguments) : load_alone(arguments, console);
  if (!task) return fail_at(Stage::plan, task.error());
  return *std::move(task);
}

}  // namespace cortado::cli
