// cortado model --on soft: a small model that really runs.
#include "cortado/target.hpp"

#include "command.hpp"
#include "pipeline/run_model.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

/// The flag, or a default that suits a model on a CPU.
std::uint64_t number_or(const Arguments& arguments, const char* flag, std::uint64_t otherwise) {
  return arguments.given(flag) ? *arguments.number<std::uint64_t>(flag) : otherwise;
}

}  // namespace

Result<Exit> model_on_device(const Arguments& arguments, Console& console) {
  CORTADO_RETURN_IF_ERROR(arguments.check({"device", "generate"}));
  const TableOutput table(arguments);
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine"), arguments.text("name")}));
  CORTADO_ASSIGN_OR_RETURN(const std::string name, arguments.required("name"));
  pipeline::ModelRunRequest request;
  CORTADO_ASSIGN_OR_RETURN(request.model, load_model(name));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(arguments.text("--machine")));
  request.tp = *arguments.number("--tp");
  request.strategy = arguments.text("--strategy");
  request.sequences = number_or(arguments, "--batch", request.sequences);
  request.prompt = number_or(arguments, "--input", request.prompt);
  request.output = number_or(arguments, "--output", request.output);
  const device::RunOptions options = device_run_options(arguments);
  request.seed = options.seed;
  request.adversarial_seed = options.adversarial_seed;
  request.timeout = options.timeout;
  CORTADO_ASSIGN_OR_RETURN(const auto asked, target_request(arguments, arguments.text("--on"), machine.gpus, machine));
  CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(asked, machine));
  console.stage("running");
  const auto run = pipeline::run_model(request, machine, *target);
  if (!run) return console.failure(run.error());
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::model_run_document(*run)));
  if (run->wrong_bytes == 0) return Exit::ok;
  if (run->first_wrong) console.error(*run->first_wrong);
  return Exit::failed;
}

}  // namespace cortado::cli
