#include "sweep_studies.hpp"

#include <optional>
#include <string>

#include "cortado/study.hpp"

#include "collective_request.hpp"
#include "overlap_request.hpp"
#include "pipeline/bench.hpp"
#include "pipeline/choose.hpp"
#include "pipeline/kv/study.hpp"
#include "serve/serve.hpp"
#include "study_requests.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

using report::Document;

/// With --clock, if that is given.
Result<const Machine*> clocked(const Arguments& arguments, const Machine& machine, std::optional<Machine>& changed) {
  if (!arguments.given("--clock")) return &machine;
  changed = machine;
  CORTADO_RETURN_IF_ERROR(set_clock(arguments, *changed));
  return &*changed;
}

// --- overlap ---------------------------------------------------------------------------------------------------------

struct OverlapAsked {
  OverlapProblem problem;
  pipeline::OverlapOptions options;
};

Result<OverlapAsked> overlap_asked(const Arguments& arguments, const Machine& machine) {
  std::vector<std::string_view> modes{"sim", "gemm", "now"};
  for (const std::string_view mode : overlap_modes(arguments)) modes.push_back(mode);
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  OverlapAsked asked;
  CORTADO_ASSIGN_OR_RETURN(asked.problem, overlap_problem(arguments, arguments.text("collective"), machine));
  CORTADO_ASSIGN_OR_RETURN(asked.options.knobs, strategy_knobs(arguments));
  if (arguments.given("--strategy")) asked.options.strategies = arguments.names("--strategy");
  for (const std::string& name : asked.options.strategies) {
    if (name == pipeline::kAutoStrategy || name == pipeline::kAllStrategies) continue;
    CORTADO_RETURN_IF_ERROR(find_strategy(name, asked.options.knobs));
  }
  if (const auto objective = report::find_objective(arguments.text("--objective")))
    asked.options.objective = *objective;
  return asked;
}

Status check_overlap(const Arguments& arguments, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(overlap_asked(arguments, machine));
  return {};
}

class OverlapCommandStudy : public CommandStudy {
 public:
  explicit OverlapCommandStudy(const Machine& machine) : machine_(machine) {}

  Outcome<Document> ask(const Arguments& arguments) override {
    std::optional<Machine> changed;
    const auto machine = clocked(arguments, machine_, changed);
    if (!machine) return fail_at(Stage::plan, machine.error());
    const auto asked = overlap_asked(arguments, **machine);
    if (!asked) return fail_at(Stage::plan, asked.error());
    const auto report = pipeline::study_overlap(asked->problem, **machine, asked->options);
    if (!report) return tl::unexpected(report.error());
    return pipeline::overlap_document(*report);
  }

 private:
  const Machine& machine_;
};

// --- bench -----------------------------------------------------------------------------------------------------------

constexpr const char* kSizesByDefault = "1KiB:1MiB";

Result<pipeline::BenchRequest> bench_asked(const Arguments& arguments) {
  std::vector<std::string_view> modes{"alone", "sim"};
  if (leaves_open(arguments.text("--variant"))) modes.push_back("auto");
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  CORTADO_ASSIGN_OR_RETURN(pipeline::BenchRequest request,
                           sweep_request(arguments, arguments.text("what"), arguments.text("--variant"),
                                         arguments.find("--sizes").value_or(kSizesByDefault)));
  request.iterations = 1;
  request.warmup = 0;
  return request;
}

Status check_bench(const Arguments& arguments, const Machine&) {
  CORTADO_RETURN_IF_ERROR(bench_asked(arguments));
  return {};
}

class BenchCommandStudy : public CommandStudy {
 public:
  explicit BenchCommandStudy(const Machine& machine) : machine_(machine), chooser_(machine, {}) {}

  Outcome<Document> ask(const Arguments& arguments) override {
    const auto request = bench_asked(arguments);
    if (!request) return fail_at(Stage::plan, request.error());
    const auto plan = pipeline::plan_bench(*request, machine_, {}, &chooser_);
    if (!plan) return tl::unexpected(plan.error());
    const auto target = open_target({.name = std::string(kSimulator)}, machine_);
    if (!target) return fail_at(Stage::plan, target.error());
    pipeline::PointRunner runner(*plan, *request, **target, {}, 1);
    report::BenchReport report;
    report.header = {arguments.text("what"),
                     machine_.name,
                     plan->points.front().program.program().ranks,
                     (*target)->where(),
                     true,
                     request->warmup,
                     request->iterations,
                     {}};
    report.skipped = plan->skipped;
    for (std::size_t i = 0; i < plan->points.size(); ++i) {
      const auto row = runner.run(i);
      if (!row) return tl::unexpected(row.error());
      report.rows.push_back(*row);
    }
    return report::bench_document(report);
  }

 private:
  const Machine& machine_;
  pipeline::Chooser chooser_;
};

// --- power -----------------------------------------------------------------------------------------------------------

Status check_power(const Arguments& arguments, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_power_flags(arguments));
  CORTADO_RETURN_IF_ERROR(power_request(arguments, machine));
  CORTADO_RETURN_IF_ERROR(power_options(arguments));
  return {};
}

class PowerCommandStudy : public CommandStudy {
 public:
  explicit PowerCommandStudy(const Machine& machine) : machine_(machine) {}

  Outcome<Document> ask(const Arguments& arguments) override {
    if (const Status checked = check_power_flags(arguments); !checked) return fail_at(Stage::plan, checked.error());
    const auto request = power_request(arguments, machine_);
    if (!request) return fail_at(Stage::plan, request.error());
    auto options = power_options(arguments);
    if (!options) return fail_at(Stage::plan, options.error());
    options->threads = 1;
    const auto report = pipeline::study_power(*request, machine_, *options);
    if (!report) return tl::unexpected(report.error());
    return report::power_document(*report);
  }

 private:
  const Machine& machine_;
};

// --- model -----------------------------------------------------------------------------------------------------------

Status check_model(const Arguments& arguments, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(arguments.check(model_modes(arguments)));
  CORTADO_RETURN_IF_ERROR(model_power(arguments));
  CORTADO_RETURN_IF_ERROR(model_request(arguments, arguments.text("name"), machine));
  return {};
}

class ModelCommandStudy : public CommandStudy {
 public:
  explicit ModelCommandStudy(const Machine& machine) : machine_(machine), study_(machine) {}

  Outcome<Document> ask(const Arguments& arguments) override {
    if (const Status checked = check_model(arguments, machine_); !checked) return fail_at(Stage::plan, checked.error());
    if (!arguments.given("--clock") && !arguments.given("--cap")) return ask(arguments, machine_, study_);
    Machine machine = machine_;
    Status changed = set_clock(arguments, machine);
    if (changed) changed = set_cap(arguments, machine);
    if (!changed) return fail_at(Stage::plan, changed.error());
    pipeline::ModelStudy study(machine);
    return ask(arguments, machine, study);
  }

 private:
  static Outcome<Document> ask(const Arguments& arguments, const Machine& machine, pipeline::ModelStudy& study) {
    const auto request = model_request(arguments, arguments.text("name"), machine);
    if (!request) return fail_at(Stage::plan, request.error());
    pipeline::ModelOptions options{.threads = 1};
    if (arguments.given("--system")) options.systems = arguments.names("--system");
    auto report = study.run(*request, options);
    if (!report) return tl::unexpected(report.error());
    const auto power = model_power(arguments);
    if (!power) return fail_at(Stage::plan, power.error());
    if (const auto added = add_policies(*power, options, study, *report); !added) return tl::unexpected(added.error());
    return pipeline::model_document(*report, false);
  }

  const Machine& machine_;
  pipeline::ModelStudy study_;
};

// --- kv --------------------------------------------------------------------------------------------------------------

Status check_kv(const Arguments& arguments, const Machine&) {
  CORTADO_RETURN_IF_ERROR(arguments.check({}));
  CORTADO_RETURN_IF_ERROR(kv_request(arguments));
  return {};
}

class KvCommandStudy : public CommandStudy {
 public:
  explicit KvCommandStudy(const Machine& machine) : machine_(machine) {}

  Outcome<Document> ask(const Arguments& arguments) override {
    const auto request = kv_request(arguments);
    if (!request) return fail_at(Stage::plan, request.error());
    const auto report = pipeline::study_kv(*request, machine_, 1);
    if (!report) return tl::unexpected(report.error());
    return pipeline::kv_document(*report);
  }

 private:
  const Machine& machine_;
};

// --- serve-sim -------------------------------------------------------------------------------------------------------

Status check_serve(const Arguments& arguments, const Machine&) {
  CORTADO_RETURN_IF_ERROR(arguments.check(serve_modes(arguments)));
  CORTADO_RETURN_IF_ERROR(serve_request(arguments));
  return {};
}

class ServeCommandStudy : public CommandStudy {
 public:
  explicit ServeCommandStudy(const Machine& machine) : machine_(machine), study_(machine) {}

  Outcome<Document> ask(const Arguments& arguments) override {
    const auto request = serve_request(arguments);
    if (!request) return fail_at(Stage::plan, request.error());
    std::optional<Machine> changed;
    const auto machine = clocked(arguments, machine_, changed);
    if (!machine) return fail_at(Stage::plan, machine.error());
    const auto report = changed ? serve::ServingStudy(*changed).run(*request, {}) : study_.run(*request, {});
    if (!report) return tl::unexpected(report.error());
    return serve::serve_document(*report);
  }

 private:
  const Machine& machine_;
  serve::ServingStudy study_;
};

// --- All of them -----------------------------------------------------------------------------------------------------

template <class Study>
std::unique_ptr<CommandStudy> study_on(const Machine& machine) {
  return std::make_unique<Study>(machine);
}

}  // namespace

const std::vector<SweptCommand>& swept_commands() {
  static const std::vector<SweptCommand> all{
      {"overlap",
       "collective",
       "collective",
       {.label = "strategy", .column = "time_us", .condition = "NOT bound", .score = "speedup"},
       check_overlap,
       study_on<OverlapCommandStudy>},
      {"bench",
       "what",
       "collective",
       {.label = "variant", .column = "time_us", .score = "busbw_GBps"},
       check_bench,
       study_on<BenchCommandStudy>},
      {"model",
       "name",
       "model",
       {.label = "system", .column = "time_us", .condition = "system <> 'ideal'", .score = "speedup"},
       check_model,
       study_on<ModelCommandStudy>},
      {"kv",
       "",
       "",
       {.label = "strategy", .column = "time_us", .score = "of_recompute"},
       check_kv,
       study_on<KvCommandStudy>},
      {"serve-sim",
       "",
       "",
       {.label = "way", .column = "output_tokens_per_s", .greatest = true, .score = "output_tokens_per_s"},
       check_serve,
       study_on<ServeCommandStudy>},
      {"power",
       "collective",
       "collective",
       {.label = "policy", .column = "time_us", .score = "energy_J"},
       check_power,
       study_on<PowerCommandStudy>}};
  return all;
}

}  // namespace cortado::cli
