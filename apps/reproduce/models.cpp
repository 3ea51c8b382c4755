// Whole models (published/steps/models.toml): each step on its machine, by the system that ran it.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "base/check.hpp"
#include "reproduce/published/steps.hpp"
#include "reproduce/reproducer.hpp"
#include "serve/serve.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kMedian = "median error";

/// A machine with the measured boards, and the results on it.
struct Bench {
  Machine machine;
  std::unique_ptr<ModelStudy> study;
  std::unique_ptr<serve::ServingStudy> serving;
};

class ModelSteps {
 public:
  ModelSteps(const Machine& given, std::uint32_t threads) : given_(given), threads_(threads) {}

  Outcome<double> value_of(const published::ModelStep& step) {
    const auto bench = bench_of(step);
    if (!bench) return fail_at(Stage::plan, bench.error());
    const auto request = request_of(step);
    if (!request) return fail_at(Stage::plan, request.error());
    if (step.phase == "serve") return served(step, *request, *(*bench)->serving);
    const auto report = (*bench)->study->run(*request, {.systems = systems_of(step), .threads = threads_});
    if (!report) return fail(report.error());
    const SystemRow& row = *report->row(step.system);
    if (step.metric == "seconds") return row.seconds;
    if (step.metric == "tokens_per_s") return row.tokens_per_second;
    if (step.metric == "tokens_per_s_per_gpu") return row.tokens_per_second / report->gpus;
    if (step.metric == "tflops_per_gpu") return row.flops_per_gpu * 1e-12;
    if (step.metric == "tflops_6n_per_gpu") {
      return row.tokens_per_second / report->gpus * flops_of_token(request->model, step.tokens) * 1e-12;
    }
    return 100 * (report->row(step.over)->seconds / row.seconds - 1);
  }

 private:
  /// As many training programs count: six per parameter, including embeddings, and attention without its mask.
  static double flops_of_token(const Model& model, std::uint64_t tokens) {
    const auto parameters = static_cast<double>(count_parameters(model).total);
    const auto width = static_cast<double>(model.attention.heads * model.attention.head_dim);
    return 6 * parameters + 12 * static_cast<double>(model.layers.size()) * width * static_cast<double>(tokens);
  }

  static std::vector<std::string> systems_of(const published::ModelStep& step) {
    std::vector<std::string> systems{step.system};
    if (step.metric == "gain") systems.push_back(step.over);
    return systems;
  }

  Result<Bench*> bench_of(const published::ModelStep& step) {
    const std::string key =
        fmt::format("{} {} {} {} {}", step.machine, step.cap_w.value_or(0), step.memory_gb.value_or(0),
                    step.memory_share.value_or(1), step.all_reduce_bytes.value_or(0));
    const auto known = benches_.find(key);
    if (known != benches_.end()) return known->second.get();
    auto made = std::make_unique<Bench>();
    CORTADO_ASSIGN_OR_RETURN(made->machine, machine_of_row(step.machine, given_));
    if (step.cap_w && made->machine.power) made->machine.power->cap_w = *step.cap_w;
    if (step.memory_gb) made->machine.memory_bytes = {static_cast<std::uint64_t>(*step.memory_gb * 1e9)};
    if (step.memory_share) made->machine.timing->memory.rate.value *= *step.memory_share;
    if (step.all_reduce_bytes && made->machine.timing->serving) {
      made->machine.timing->serving->all_reduce_bytes = {*step.all_reduce_bytes};
    }
    made->study = std::make_unique<ModelStudy>(made->machine);
    made->serving = std::make_unique<serve::ServingStudy>(made->machine);
    return benches_.emplace(key, std::move(made)).first->second.get();
  }

  static Result<ModelRequest> request_of(const published::ModelStep& step) {
    ModelRequest request;
    CORTADO_ASSIGN_OR_RETURN(request.model, load_model(step.model));
    if (step.layers) request.model.layers.resize(*step.layers);
    request.layout = {.tp = step.tp,
                      .sp = step.sp,
                      .ep = step.ep,
                      .fsdp = step.fsdp,
                      .dp = step.dp,
                      .pp = step.pp,
                      .stages_per_gpu = step.stages,
                      .micro_batches = step.micro_batches};
    if (step.schedule == "interleaved") request.layout.schedule = PipelineSchedule::interleaved;
    CORTADO_ASSIGN_OR_RETURN(request.phase.kind, parse_phase(step.phase == "serve" ? "prefill" : step.phase));
    request.phase.batch = step.batch;
    request.phase.tokens = step.tokens;
    request.phase.output = request.phase.kind == PhaseKind::generate ? step.output : 0;
    CORTADO_ASSIGN_OR_RETURN(request.phase.recompute, parse_recompute(step.recompute));
    CORTADO_ASSIGN_OR_RETURN(request.phase.dtype, parse_dtype(step.dtype));
    CORTADO_ASSIGN_OR_RETURN(request.phase.kv_dtype, parse_dtype(step.kv_dtype));
    return request;
  }

  /// All requests at once, through the simulator of serving.
  static Outcome<double> served(const published::ModelStep& step, const ModelRequest& request,
                                serve::ServingStudy& study) {
    serve::ServeRequest serving;
    serving.model = request.model;
    serving.layout = {.tp = step.tp, .ep = step.ep};
    serving.dtype = request.phase.dtype;
    serving.kv_dtype = request.phase.kv_dtype;
    serving.limits.max_sequences = static_cast<std::uint32_t>(step.batch);
    if (step.max_tokens) serving.limits.max_tokens = static_cast<std::uint32_t>(*step.max_tokens);
    const auto length = [](std::uint64_t tokens) {
      const auto whole = static_cast<std::uint32_t>(tokens);
      return serve::Length{whole, whole};
    };
    serving.arrivals =
        serve::Generated{.requests = step.requests, .input = length(step.tokens), .output = length(step.output)};
    const auto report = study.run(serving);
    if (!report) return fail(report.error());
    const serve::ServeRow& row = report->rows.front();
    const std::uint64_t what = step.metric == "requests_per_s" ? row.tally.finished : row.tally.output_tokens;
    return static_cast<double>(what) / row.seconds();
  }

  const Machine& given_;
  std::uint32_t threads_;
  std::map<std::string, std::unique_ptr<Bench>> benches_;
};

/// Of the figures in percent to which nothing was fitted.
double median_error(const std::vector<report::ReproducedFigure>& figures) {
  std::vector<double> errors;
  for (const report::ReproducedFigure& figure : figures) {
    if (figure.published.used_for == published::UsedFor::calibration) continue;
    if (figure.published.errors == published::Errors::percent) errors.push_back(std::abs(figure.row().error));
  }
  std::ranges::sort(errors);
  return errors.empty() ? 0 : errors[errors.size() / 2];
}

}  // namespace

Outcome<report::Reproduction> reproduce_models(const published::Publication& publication, const Machine& machine,
                                               const ReproduceOptions& options) {
  const auto steps = published::load_steps("models");
  if (!steps) return fail_at(Stage::plan, steps.error());
  std::set<std::string> names;
  for (const published::ModelStep& step : *steps) names.insert(step.machine);
  const auto machines = machines_of_rows(names, publication.name, machine);
  if (!machines) return fail_at(Stage::plan, machines.error());
  report::Reproduction ours{publication.name, publication.title, publication.source, *machines, {}, {}, {}};
  ModelSteps values(machine, options.threads);
  std::size_t done = 0;
  for (const published::Figure& figure : publication.figures) {
    if (figure.name == kMedian) {
      ours.figures.push_back({figure, median_error(ours.figures)});
      continue;
    }
    const auto step = std::ranges::find(*steps, figure.name, &published::ModelStep::name);
    CORTADO_CHECK(step != steps->end(), "every figure of models.toml has its step");
    auto value = values.value_of(*step);
    if (!value) return fail(value.error());
    if (step->metric == "relative") {
      const auto basis = std::ranges::find(*steps, step->over, &published::ModelStep::name);
      CORTADO_CHECK(basis != steps->end(), "what a step is compared with is in the list");
      const auto of_basis = values.value_of(*basis);
      if (!of_basis) return fail(of_basis.error());
      *value /= *of_basis;
    }
    ours.figures.push_back({figure, *value});
    if (options.progress && !options.progress(++done, steps->size())) {
      return fail_at(Stage::run, {"reproduce.interrupted", "interrupted before it was finished", ""});
    }
  }
  return ours;
}

}  // namespace cortado::pipeline
