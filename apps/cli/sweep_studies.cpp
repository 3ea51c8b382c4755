#include "sweep_studies.hpp"

#include <optional>
#include <string>

#include "cortado/study.hpp"

#include "collective_request.hpp"
#include "overlap_request.hpp"
#include "pipeline/bench.hpp"
#include "pipeline/choose.hpp"
#include "pipeline/kv/study.hpp"
#include "serve/first_token.hpp"
#include "serve/serve.hpp"
#include "study_requests.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

using report::Document;

/// For questions that remember nothing from point to point.
struct NoMemory {
  explicit NoMemory(const Machine&) {}
};

template <class Report>
Outcome<Document> shown(const Outcome<Report>& report, Document (*document)(const Report&)) {
  if (!report) return fail(report.error());
  return document(*report);
}

// Every question has what its flags say (asked; nothing is computed), the answer to it (and one that is empty), and
// what it remembers of a machine from one point to the next.

// --- overlap ---------------------------------------------------------------------------------------------------------

struct OverlapQuestion {
  using Memory = NoMemory;
  struct Asked {
    OverlapProblem problem;
    pipeline::OverlapOptions options;
  };

  static Result<Asked> asked(const Arguments& arguments, const Machine& machine) {
    std::vector<std::string_view> modes{"sim", "gemm", "now"};
    for (const std::string_view mode : overlap_modes(arguments)) modes.push_back(mode);
    CORTADO_RETURN_IF_ERROR(arguments.check(modes));
    Asked asked;
    CORTADO_ASSIGN_OR_RETURN(asked.problem, overlap_problem(arguments, arguments.text("collective"), machine));
    CORTADO_ASSIGN_OR_RETURN(asked.options.knobs, strategy_knobs(arguments));
    if (arguments.given("--strategy")) asked.options.strategies = arguments.names("--strategy");
    for (const std::string& name : asked.options.strategies) {
      if (name == pipeline::kAutoStrategy || name == pipeline::kAllStrategies) continue;
      CORTADO_RETURN_IF_ERROR(find_strategy(name, asked.options.knobs));
    }
    const auto objective = report::find_objective(arguments.text("--objective"));
    if (objective) asked.options.objective = *objective;
    return asked;
  }

  static Document empty() { return pipeline::overlap_document({}); }

  static Outcome<Document> answer(const Asked& asked, const Machine& machine, Memory&) {
    return shown(pipeline::study_overlap(asked.problem, machine, asked.options), pipeline::overlap_document);
  }
};

// --- bench -----------------------------------------------------------------------------------------------------------

constexpr const char* kSizesByDefault = "1KiB:1MiB";

struct BenchQuestion {
  struct Memory {
    explicit Memory(const Machine& machine) : chooser(machine, {}) {}
    pipeline::Chooser chooser;
  };
  using Asked = pipeline::BenchRequest;

  static Result<Asked> asked(const Arguments& arguments, const Machine&) {
    std::vector<std::string_view> modes{"alone", "sim"};
    if (leaves_open(arguments.text("--variant"))) modes.push_back("auto");
    CORTADO_RETURN_IF_ERROR(arguments.check(modes));
    CORTADO_ASSIGN_OR_RETURN(Asked request,
                             sweep_request(arguments, arguments.text("what"), arguments.text("--variant"),
                                           arguments.find("--sizes").value_or(kSizesByDefault)));
    request.iterations = 1;
    request.warmup = 0;
    return request;
  }

  static Document empty() { return report::bench_document({}); }

  static Outcome<Document> answer(const Asked& request, const Machine& machine, Memory& memory) {
    const auto plan = pipeline::plan_bench(request, machine, {}, &memory.chooser);
    if (!plan) return fail(plan.error());
    const auto target = open_target({.name = std::string(kSimulator)}, machine);
    if (!target) return fail_at(Stage::plan, target.error());
    pipeline::PointRunner runner(*plan, request, **target, {}, 1);
    report::BenchReport report;
    report.header = {std::string(request.base.collective.name()),
                     machine.name,
                     plan->points.front().program.program().ranks,
                     (*target)->where(),
                     true,
                     request.warmup,
                     request.iterations,
                     {}};
    report.skipped = plan->skipped;
    for (std::size_t i = 0; i < plan->points.size(); ++i) {
      const auto row = runner.run(i);
      if (!row) return fail(row.error());
      report.rows.push_back(*row);
    }
    return report::bench_document(report);
  }
};

// --- power -----------------------------------------------------------------------------------------------------------

struct PowerQuestion {
  using Memory = NoMemory;
  struct Asked {
    pipeline::PowerRequest request;
    pipeline::PowerOptions options;
  };

  static Result<Asked> asked(const Arguments& arguments, const Machine& machine) {
    CORTADO_RETURN_IF_ERROR(check_power_flags(arguments));
    Asked asked;
    CORTADO_ASSIGN_OR_RETURN(asked.request, power_request(arguments, machine));
    CORTADO_ASSIGN_OR_RETURN(asked.options, power_options(arguments));
    asked.options.threads = 1;
    return asked;
  }

  static Document empty() { return report::power_document({}); }

  static Outcome<Document> answer(const Asked& asked, const Machine& machine, Memory&) {
    return shown(pipeline::study_power(asked.request, machine, asked.options), report::power_document);
  }
};

// --- model -----------------------------------------------------------------------------------------------------------

struct ModelQuestion {
  struct Memory {
    explicit Memory(const Machine& machine) : study(machine) {}
    pipeline::ModelStudy study;
  };
  struct Asked {
    pipeline::ModelRequest request;
    pipeline::ModelPower power;
    pipeline::ModelOptions options{.threads = 1};
  };

  static Result<Asked> asked(const Arguments& arguments, const Machine& machine) {
    CORTADO_RETURN_IF_ERROR(arguments.check(model_modes(arguments)));
    Asked asked;
    CORTADO_ASSIGN_OR_RETURN(asked.power, model_power(arguments));
    CORTADO_ASSIGN_OR_RETURN(asked.request, model_request(arguments, arguments.text("name"), machine));
    if (arguments.given("--system")) asked.options.systems = arguments.names("--system");
    return asked;
  }

  static Document empty() { return pipeline::model_document({}, false); }

  static Outcome<Document> answer(const Asked& asked, const Machine& machine, Memory& memory) {
    auto report = memory.study.run(asked.request, asked.options);
    if (!report) return fail(report.error());
    const auto added = add_policies(asked.power, machine, asked.options, memory.study, *report);
    if (!added) return fail(added.error());
    return pipeline::model_document(*report, false);
  }
};

// --- kv --------------------------------------------------------------------------------------------------------------

struct KvQuestion {
  using Memory = NoMemory;
  using Asked = pipeline::KvStudyRequest;

  static Result<Asked> asked(const Arguments& arguments, const Machine&) {
    CORTADO_RETURN_IF_ERROR(arguments.check({}));
    return kv_request(arguments);
  }

  static Document empty() { return pipeline::kv_document({}); }

  static Outcome<Document> answer(const Asked& request, const Machine& machine, Memory&) {
    return shown(serve::study_kv_request(request, machine, 1), pipeline::kv_document);
  }
};

// --- serve-sim -------------------------------------------------------------------------------------------------------

struct ServeQuestion {
  struct Memory {
    explicit Memory(const Machine& machine) : study(machine) {}
    serve::ServingStudy study;
  };
  using Asked = serve::ServeRequest;

  static Result<Asked> asked(const Arguments& arguments, const Machine&) {
    CORTADO_RETURN_IF_ERROR(arguments.check(serve_modes(arguments)));
    return serve_request(arguments);
  }

  static Document empty() { return serve::serve_document({}); }

  static Outcome<Document> answer(const Asked& request, const Machine&, Memory& memory) {
    return shown(memory.study.run(request, {}), serve::serve_document);
  }
};

// --- All of them -----------------------------------------------------------------------------------------------------

/// With the changes by flags of the point: --clock, --with and, for a model, --cap. None if there is no such flag.
Result<std::optional<Machine>> changed_machine(const Arguments& arguments, const Machine& machine) {
  const bool caps = arguments.command() == "model" && arguments.given("--cap");
  if (!caps && !arguments.given("--clock") && !arguments.given("--with")) return std::optional<Machine>{};
  CORTADO_ASSIGN_OR_RETURN(Machine changed, machine_with_features(arguments, machine));
  if (arguments.given("--clock")) CORTADO_RETURN_IF_ERROR(set_clock(arguments, changed));
  if (caps) CORTADO_RETURN_IF_ERROR(set_cap(arguments, changed));
  return std::optional(std::move(changed));
}

template <class Question>
Status check_question(const Arguments& arguments, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const std::optional<Machine> changed, changed_machine(arguments, machine));
  CORTADO_RETURN_IF_ERROR(Question::asked(arguments, changed ? *changed : machine));
  return {};
}

template <class Question>
class StudyOf : public CommandStudy {
 public:
  explicit StudyOf(const Machine& machine) : machine_(machine), memory_(machine) {}

  Outcome<Document> ask(const Arguments& arguments) override {
    const auto changed = changed_machine(arguments, machine_);
    if (!changed) return fail_at(Stage::plan, changed.error());
    const Machine& machine = *changed ? **changed : machine_;
    const auto asked = Question::asked(arguments, machine);
    if (!asked) return fail_at(Stage::plan, asked.error());
    if (!*changed) return Question::answer(*asked, machine, memory_);
    typename Question::Memory memory(machine);
    return Question::answer(*asked, machine, memory);
  }

 private:
  const Machine& machine_;
  typename Question::Memory memory_;
};

template <class Question>
SweptCommand swept(std::string_view command, std::string_view argument, std::string_view parameter,
                   sweep::Ranking ranking) {
  return {command,
          argument,
          parameter,
          std::move(ranking),
          Question::empty,
          check_question<Question>,
          [](const Machine& machine) -> std::unique_ptr<CommandStudy> {
            return std::make_unique<StudyOf<Question>>(machine);
          }};
}

}  // namespace

const std::vector<SweptCommand>& swept_commands() {
  static const std::vector<SweptCommand> all{
      swept<OverlapQuestion>("overlap", "collective", "collective",
                             {.label = "strategy", .column = "time_us", .condition = "NOT bound", .score = "speedup"}),
      swept<BenchQuestion>("bench", "what", "collective",
                           {.label = "variant", .column = "time_us", .within = "bytes", .score = "busbw_GBps"}),
      swept<ModelQuestion>(
          "model", "name", "model",
          {.label = "system", .column = "time_us", .condition = "system <> 'ideal'", .score = "speedup"}),
      swept<KvQuestion>("kv", "", "", {.label = "strategy", .column = "time_us", .score = "of_recompute"}),
      swept<ServeQuestion>(
          "serve-sim", "", "",
          {.label = "way", .column = "output_tokens_per_s", .greatest = true, .score = "output_tokens_per_s"}),
      // A GEMM or a collective alone is a part of what is asked about, unless there is nothing else.
      swept<PowerQuestion>("power", "collective", "collective",
                           {.label = "policy",
                            .column = "time_us",
                            .condition = "what = 'both' OR coalesce(gemm, '') = '' OR coalesce(collective, '') = ''",
                            .score = "energy_J"})};
  return all;
}

}  // namespace cortado::cli
