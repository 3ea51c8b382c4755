// cortado kv: fetch a cached prefix from host memory, or recompute it?
#include <fmt/format.h>

#include "cortado/model.hpp"
#include "cortado/program.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "pipeline/kv/study.hpp"
#include "serve/first_token.hpp"
#include "study_progress.hpp"
#include "study_requests.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kKvExamples[] = {
    {"cortado kv --model llama-3.1-70b --tp 8 --tokens 32k", "every strategy, compared with recomputing the prefix"},
    {"cortado kv --model llama-3.1-8b --tokens 10000 --layout cross-layer --machine h100-8",
     "blocks that hold all layers contiguously"},
    {"cortado kv --model deepseek-v3 --tp 8 --tokens 8k --strategy b2b,bcst,shard+gather --json",
     "latents that every GPU holds; as JSON for a script"}};

Result<Exit> run_kv(const Arguments& arguments, Console& console) {
  CORTADO_RETURN_IF_ERROR(arguments.check({}));
  const TableOutput table(arguments);
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine"), arguments.text("--model")}));
  CORTADO_ASSIGN_OR_RETURN(const pipeline::KvStudyRequest request, kv_request(arguments));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_with_features(arguments));
  tell_what_is_borrowed(machine, console);
  const auto report = serve::study_kv_request(request, machine, threads_of(arguments));
  if (!report) return study_failure(console, report.error());
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::kv_document(*report)));
  return Exit::ok;
}

}  // namespace

Result<pipeline::KvStudyRequest> kv_request(const Arguments& arguments) {
  if (!arguments.given("--model")) {
    return fail("usage.model", "no model given",
                "pass --model, for example --model llama-3.1-70b (see cortado list models)");
  }
  pipeline::KvStudyRequest request;
  CORTADO_ASSIGN_OR_RETURN(request.model, load_model(arguments.text("--model")));
  request.tokens = *arguments.number<std::uint64_t>("--tokens");
  request.blocks.tp = *arguments.number("--tp");
  request.blocks.tokens = *arguments.number<std::uint64_t>("--block");
  request.blocks.layout = arguments.text("--layout");
  CORTADO_ASSIGN_OR_RETURN(request.blocks.dtype, parse_dtype(arguments.text("--kv-dtype")));
  const std::string stored(to_string(usual_type(request.model.weights)));
  CORTADO_ASSIGN_OR_RETURN(request.dtype, parse_dtype(arguments.find("--dtype").value_or(stored)));
  if (arguments.given("--strategy")) request.strategies = arguments.names("--strategy");
  return request;
}

constinit const Subcommand kKvCommand{
    "kv", "Compare strategies for fetching a cached KV prefix from host memory with recomputing it", kKvExamples,
    run_kv};

}  // namespace cortado::cli
