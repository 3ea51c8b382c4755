// cortado model: what a step of a whole model takes on a machine, by every system.
#include <charconv>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/report.hpp"
#include "cortado/study.hpp"

#include "base/file.hpp"
#include "borrowed.hpp"
#include "command.hpp"
#include "output_file.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kModelExamples[] = {
    {"cortado model llama-3.1-70b --phase prefill --tp 8 --tokens 8192",
     "a prompt of 8192 tokens on 8 GPUs, by every system"},
    {"cortado model llama-3.1-70b --phase decode --tp 8 --dtype fp8 --context 2048 --by-operator",
     "one token; what every kernel takes"},
    {"cortado model llama-3.1-8b --phase train --fsdp 8 --batch 2 --tokens 8192 --system c3,conccl,auto",
     "a training step whose weights are gathered layer by layer"},
    {"cortado model llama-3.1-70b --phase generate --tp 8 --dtype fp8 --input 128 --output 2048 --system serial --json",
     "a whole answer, for a script"},
    {"cortado model mixtral-8x7b --phase prefill --dp 8 --ep 8 --tokens 4096 --html model.html",
     "experts on GPUs of their own; a page with bars"}};

Result<DType> dtype_of(const std::string& name) {
  return parse_dtype(name == "fp8" ? "f8" : name);
}

Result<Layout> layout_of(const Arguments& arguments) {
  Layout layout;
  layout.tp = *arguments.number("--tp");
  layout.sp = arguments.given("--sp");
  layout.ep = *arguments.number("--ep");
  layout.fsdp = *arguments.number("--fsdp");
  layout.dp = *arguments.number("--dp");
  layout.pp = *arguments.number("--pp");
  layout.micro_batches = arguments.number("--micro-batches").value_or(layout.pp);
  layout.stages_per_gpu = *arguments.number("--stages");
  layout.prefetch = *arguments.number("--prefetch");
  if (arguments.text("--schedule") == "interleaved") layout.schedule = PipelineSchedule::interleaved;
  return layout;
}

Result<double> skew_of(const Arguments& arguments) {
  const auto text = arguments.find("--skew");
  if (!text) return 0.0;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error == std::errc{} && end == text->data() + text->size() && value >= 0 && value <= 10) return value;
  return fail("usage.skew", fmt::format("--skew {} is no exponent", *text), "give a number from 0 to 10, such as 0.5");
}

Result<Phase> phase_of(const Arguments& arguments, const Model& model) {
  Phase phase;
  CORTADO_ASSIGN_OR_RETURN(phase.kind, parse_phase(arguments.text("--phase")));
  phase.batch = *arguments.number<std::uint64_t>("--batch");
  phase.context = *arguments.number<std::uint64_t>("--context");
  const bool generates = phase.kind == PhaseKind::generate;
  if (generates) phase.output = *arguments.number<std::uint64_t>("--output");
  if (phase.kind != PhaseKind::decode) {
    phase.tokens = *arguments.number<std::uint64_t>(generates ? "--input" : "--tokens");
  }
  CORTADO_ASSIGN_OR_RETURN(phase.recompute, parse_recompute(arguments.text("--recompute")));
  const std::string stored = !phase.trains() && model.weights.name == "fp8" ? "f8" : "bf16";
  CORTADO_ASSIGN_OR_RETURN(phase.dtype, dtype_of(arguments.find("--dtype").value_or(stored)));
  CORTADO_ASSIGN_OR_RETURN(phase.kv_dtype, dtype_of(arguments.text("--kv-dtype")));
  CORTADO_ASSIGN_OR_RETURN(phase.skew, skew_of(arguments));
  phase.fused_attention = !arguments.given("--unfused-attention");
  return phase;
}

std::vector<std::string_view> modes_of(const Arguments& arguments) {
  const std::string phase = arguments.text("--phase");
  if (phase == "train") return {"train", "prompt"};
  if (phase == "generate") return {"generate", "inference"};
  if (phase == "decode") return {"inference", "cached"};
  return {"prompt", "inference", "cached"};
}

/// Inference divides its batch among micro-batches: there are no more of them than sequences.
Status fit_micro_batches(const Arguments& arguments, const Phase& phase, Layout& layout) {
  if (phase.trains() || layout.micro_batches <= phase.batch) return {};
  if (!arguments.given("--micro-batches")) {
    layout.micro_batches = static_cast<std::uint32_t>(phase.batch);
    return {};
  }
  return fail("model.layout", fmt::format("--micro-batches {} for a batch of {}", layout.micro_batches, phase.batch),
              fmt::format("give --micro-batches 1 to {}, or a larger --batch", phase.batch));
}

Result<Exit> run_model(const Arguments& arguments, Console& console) {
  CORTADO_RETURN_IF_ERROR(arguments.check(modes_of(arguments)));
  const TableOutput table(arguments);
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine"), arguments.text("name")}));
  CORTADO_ASSIGN_OR_RETURN(const std::string name, arguments.required("name"));
  const auto trace = arguments.find("--trace");
  if (trace) CORTADO_RETURN_IF_ERROR(check_output_path(*trace, {name}));
  CORTADO_ASSIGN_OR_RETURN(const Model model, load_model(name));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_of(arguments));
  pipeline::ModelRequest request{.model = model};
  CORTADO_ASSIGN_OR_RETURN(request.layout, layout_of(arguments));
  CORTADO_ASSIGN_OR_RETURN(request.phase, phase_of(arguments, model));
  CORTADO_RETURN_IF_ERROR(fit_micro_batches(arguments, request.phase, request.layout));
  tell_what_is_borrowed(machine, console);
  pipeline::ModelOptions options{.threads = threads_of(arguments), .progress = show_progress(console)};
  if (arguments.given("--system")) options.systems = arguments.names("--system");
  watch_for_interrupt();
  pipeline::ModelStudy study(machine);
  const auto report = study.run(request, options);
  if (!report) return study_failure(console, report.error());
  console.clear_progress();
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::model_document(*report, arguments.given("--by-operator"))));
  if (trace) {
    const auto timeline = study.layer_timeline(request, report->best().system);
    if (!timeline) return study_failure(console, timeline.error());
    CORTADO_RETURN_IF_ERROR(write_file(*trace, report::perfetto_trace(*timeline, Program{})));
  }
  return Exit::ok;
}

}  // namespace

Subcommand model_command() {
  return {"model", "Predict what a step of a whole model takes, by every system", kModelExamples, run_model};
}

}  // namespace cortado::cli
