// cortado model: the time of a step of a whole model on a machine, by every system.
#include <numeric>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/report.hpp"
#include "cortado/study.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "report/energy.hpp"
#include "study_progress.hpp"
#include "study_requests.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kModelExamples[] = {
    {"cortado model llama-3.1-70b --phase prefill --tp 8 --tokens 8192",
     "a prompt of 8192 tokens on 8 GPUs, with every system"},
    {"cortado model llama-3.1-70b --phase decode --tp 8 --dtype fp8 --context 2048 --by-operator",
     "one decode step, with the time of every operator"},
    {"cortado model llama-3.1-8b --phase train --fsdp 8 --batch 2 --tokens 8192 --system c3,conccl,auto",
     "a training step that gathers its weights layer by layer"},
    {"cortado model llama-3.1-70b --phase generate --tp 8 --dtype fp8 --input 128 --output 2048 --system serial --json",
     "a complete generation, as JSON for a script"},
    {"cortado model llama-3.1-8b --phase train --fsdp 8 --tokens 4096 --system conccl --power-policy all",
     "joules per token and watts by component, under every power policy"},
    {"cortado model mixtral-8x7b --phase prefill --dp 8 --ep 8 --tokens 4096 --html model.html",
     "experts split over the GPUs; also write a page with charts"},
    {"cortado model tiny-llama --on soft --tp 4 --strategy hetero-fused-1d",
     "actually run a small model: every program is proved, every output checked"}};

Layout layout_of(const Arguments& arguments, const Machine& machine) {
  Layout layout;
  layout.tp = *arguments.number("--tp");
  layout.sp = arguments.given("--sp");
  layout.dp = *arguments.number("--dp");
  layout.pp = *arguments.number("--pp");
  const std::uint32_t others = layout.tp * layout.dp * layout.pp;
  layout.fsdp = arguments.number("--fsdp").value_or(std::max(machine.gpus / std::max(others, 1U), 1U));
  layout.ep = arguments.number("--ep").value_or(layout.tp > 1 ? layout.tp : layout.replicas());
  layout.micro_batches = arguments.number("--micro-batches").value_or(layout.pp);
  layout.stages_per_gpu = *arguments.number("--stages");
  layout.prefetch = *arguments.number("--prefetch");
  if (arguments.text("--schedule") == "interleaved") layout.schedule = PipelineSchedule::interleaved;
  return layout;
}

Result<double> skew_of(const Arguments& arguments) {
  const auto text = arguments.find("--skew");
  if (!text) return 0.0;
  const auto value = parse_number<double>(*text);
  if (value && *value >= 0 && *value <= 10) return *value;
  return fail("usage.skew", fmt::format("--skew {} is not an exponent", *text),
              "use a number from 0 to 10, such as 0.5");
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
  const std::string stored(to_string(phase.trains() ? DType::bf16 : usual_type(model.weights)));
  CORTADO_ASSIGN_OR_RETURN(phase.dtype, parse_dtype(arguments.find("--dtype").value_or(stored)));
  CORTADO_ASSIGN_OR_RETURN(phase.kv_dtype, parse_dtype(arguments.text("--kv-dtype")));
  CORTADO_ASSIGN_OR_RETURN(phase.skew, skew_of(arguments));
  phase.fused_attention = !arguments.given("--unfused-attention");
  return phase;
}

/// Inference divides its batch into micro-batches: at most as many as sequences.
Status fit_micro_batches(const Arguments& arguments, const Phase& phase, Layout& layout) {
  if (phase.trains() || phase.batch == 0 || layout.micro_batches <= phase.batch) return {};
  if (!arguments.given("--micro-batches")) {
    layout.micro_batches = static_cast<std::uint32_t>(phase.batch);
    return {};
  }
  return fail("model.layout",
              fmt::format("--micro-batches {} is too many for a batch of {}", layout.micro_batches, phase.batch),
              fmt::format("use --micro-batches 1 to {}, or a larger --batch", phase.batch));
}

/// The power policies of the step and the timeline of a layer, if they are requested.
Outcome<void> add_details(const Arguments& arguments, const pipeline::ModelPower& power, const Machine& machine,
                          const pipeline::ModelOptions& options, pipeline::ModelStudy& study,
                          pipeline::ModelReport& report) {
  if (auto added = add_policies(power, machine, options, study, report); !added) return added;
  if (arguments.given("--trace") || arguments.given("--html")) {
    auto timeline = study.layer_timeline(report.request, report.best().system);
    if (!timeline) return fail(timeline.error());
    report.timeline = *std::move(timeline);
  }
  return {};
}

Result<Exit> run_model(const Arguments& arguments, Console& console) {
  if (arguments.text("--on") != kSimulator) return model_on_device(arguments, console);
  CORTADO_RETURN_IF_ERROR(arguments.check(model_modes(arguments)));
  const TableOutput table(arguments);
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine"), arguments.text("name")}));
  CORTADO_ASSIGN_OR_RETURN(const std::string name, arguments.required("name"));
  const auto trace = arguments.find("--trace");
  if (trace) CORTADO_RETURN_IF_ERROR(check_output_path(*trace, {name}));
  CORTADO_ASSIGN_OR_RETURN(Machine machine, machine_of(arguments));
  CORTADO_ASSIGN_OR_RETURN(const pipeline::ModelPower power, model_power(arguments));
  CORTADO_RETURN_IF_ERROR(set_cap(arguments, machine));
  CORTADO_ASSIGN_OR_RETURN(const pipeline::ModelRequest request, model_request(arguments, name, machine));
  tell_what_is_borrowed(machine, console);
  pipeline::ModelOptions options{.threads = threads_of(arguments), .progress = show_progress(console)};
  if (arguments.given("--system")) options.systems = arguments.names("--system");
  pipeline::ModelStudy study(machine);
  auto report = study.run(request, options);
  if (!report) return study_failure(console, report.error());
  if (const auto added = add_details(arguments, power, machine, options, study, *report); !added) {
    return study_failure(console, added.error());
  }
  console.clear_progress();
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::model_document(*report, arguments.given("--by-operator"))));
  if (trace) CORTADO_RETURN_IF_ERROR(write_file(*trace, report::perfetto_trace(*report->timeline, Program{})));
  return Exit::ok;
}

}  // namespace

std::vector<std::string_view> model_modes(const Arguments& arguments) {
  const std::string phase = arguments.text("--phase");
  std::vector<std::string_view> modes{"sim", "prompt", "inference", "cached"};
  if (phase == "train") modes = {"sim", "train", "prompt"};
  if (phase == "generate") modes = {"sim", "generate", "inference"};
  if (phase == "decode") modes = {"sim", "inference", "cached"};
  if (arguments.given("--power-policy")) modes.push_back("managed");
  const bool pipeline = *arguments.number("--pp") > 1;
  if (pipeline) modes.push_back("pipeline");
  if (pipeline && arguments.text("--schedule") == "interleaved") modes.push_back("interleaved");
  if (phase == "train" && arguments.number("--fsdp") != 1U) modes.push_back("sharded");
  return modes;
}

Result<pipeline::ModelRequest> model_request(const Arguments& arguments, const std::string& name,
                                             const Machine& machine) {
  pipeline::ModelRequest request;
  CORTADO_ASSIGN_OR_RETURN(request.model, load_model(name));
  request.layout = layout_of(arguments, machine);
  CORTADO_ASSIGN_OR_RETURN(request.phase, phase_of(arguments, request.model));
  CORTADO_RETURN_IF_ERROR(fit_micro_batches(arguments, request.phase, request.layout));
  return request;
}

Result<pipeline::ModelPower> model_power(const Arguments& arguments) {
  pipeline::ModelPower power;
  CORTADO_ASSIGN_OR_RETURN(power.limit_w, arguments.watts("--limit"));
  std::vector<const sim::PowerPolicy*>& policies = power.policies;
  if (!arguments.given("--power-policy")) return power;
  if (arguments.text("--power-policy") == pipeline::kAllPowerPolicies) {
    policies.assign(sim::power_policies().begin(), sim::power_policies().end());
    return power;
  }
  CORTADO_ASSIGN_OR_RETURN(policies, sim::parse_power_policies(arguments.names("--power-policy")));
  // All are compared with the board alone.
  std::erase(policies, &sim::kNoPowerPolicy);
  policies.insert(policies.begin(), &sim::kNoPowerPolicy);
  return power;
}

Status set_cap(const Arguments& arguments, Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const std::optional<double> cap, arguments.watts("--cap"));
  if (!cap) return {};
  CORTADO_RETURN_IF_ERROR(sim::check_power_management({.cap_w = cap}, machine));
  machine.power->cap_w = *cap;
  return {};
}

Outcome<void> add_policies(const pipeline::ModelPower& power, const Machine& machine,
                           const pipeline::ModelOptions& options, pipeline::ModelStudy& study,
                           pipeline::ModelReport& report) {
  if (power.policies.empty()) return {};
  const std::string best = report.best().system;
  auto rows = study.run_policies(report, best, power, options);
  if (!rows) return fail(rows.error());
  report.managed = best;
  report.policies = *std::move(rows);
  const auto watts = [](const pipeline::PolicyRow& row) {
    return std::accumulate(row.watts.begin(), row.watts.end(), 0.0);
  };
  for (std::size_t i = 0; i < report.policies.size(); ++i) {
    if (!power.policies[i]->has_limit) continue;
    const double limit = sim::watts_allowed({.policy = power.policies[i], .limit_w = power.limit_w}, *machine.power);
    const pipeline::PolicyRow& none = report.policies.front();
    if (report::slows_below_limit(watts(none), report.policies[i].seconds / none.seconds, limit)) {
      report.notes.push_back(report::below_limit_note("the step"));
    }
  }
  return {};
}

constinit const Subcommand kModelCommand{
    "model", "Predict the time of a training or inference step of a whole model, with every system", kModelExamples,
    run_model};

}  // namespace cortado::cli
