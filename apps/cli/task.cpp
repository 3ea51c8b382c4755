#include "task.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

#include "json.hpp"

namespace cortado::cli {

Result<bool> names_collective(const std::string& what, const std::string& given) {
  if (find_collective(what)) return true;
  std::error_code ignored;
  if (what != "-" && !std::filesystem::exists(what, ignored)) {
    return fail("usage.what", fmt::format("'{}' is neither a collective nor a file", what),
                cortado::did_you_mean(what, {Collective::kNames.begin(), Collective::kNames.end()},
                                      "cortado list collectives"));
  }
  if (!given.empty()) {
    return fail("usage.option", fmt::format("{} describes a collective, but {} is a finished program", given, what),
                "leave it out, or name a collective instead of a file");
  }
  return false;
}

Result<Task> load_task(const std::string& what, const std::optional<std::string>& machine, const PlanOptions& plan,
                       Console& console) {
  CORTADO_ASSIGN_OR_RETURN(const bool collective, names_collective(what, plan.first_given()));
  console.stage(collective ? "planning" : "reading");
  if (collective) {
    CORTADO_ASSIGN_OR_RETURN(CollectiveRequest request, plan.request(what));
    CORTADO_ASSIGN_OR_RETURN(Machine loaded, load_machine(machine.value_or(kDefaultMachine)));
    CORTADO_ASSIGN_OR_RETURN(request, plan.settled(request, loaded, console));
    CORTADO_ASSIGN_OR_RETURN(Program program, plan_collective(request, loaded));
    return Task{{std::move(program), std::move(loaded)}, request};
  }
  CORTADO_ASSIGN_OR_RETURN(ProgramInput input, read_program(what, machine));
  return Task{std::move(input), {}};
}

Exit task_failure(Console& console, const Failure& failure, const char* schema) {
  if (schema != nullptr && failure.program_failed()) {
    Json json = document(schema);
    json.update({{"ok", false}, {"errors", to_json_value(failure.errors)}});
    console.out(to_text(json));
  }
  return console.failure(failure);
}

std::string title(const Task& task, const Program& program) {
  return task.request ? describe(*task.request, program) : program.name;
}

std::string bandwidth_text(const Run& run) {
  if (!run.bandwidths) return {};
  return fmt::format(", algbw {:.2f} GB/s, busbw {:.2f} GB/s", run.bandwidths->algorithm, run.bandwidths->bus);
}

}  // namespace cortado::cli
