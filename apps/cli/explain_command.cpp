// cortado explain: which variant --variant auto takes, and why; and how a schedule is guessed from shapes.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/pipeline/explain.hpp"
#include "cortado/plan/ficco.hpp"
#include "cortado/plan/schedule_heuristic.hpp"

#include "dependence_options.hpp"
#include "json.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"
#include "table_options.hpp"

namespace cortado::cli {
namespace {

std::string guess_text(const ScheduleGuess& guess) {
  return fmt::format("guess: {}, fastest for {:.1f} % of such shapes in the training set, mean loss {:.1f} %\n",
                     name_of(guess.schedule), 100 * guess.confidence, 100 * guess.mean_loss);
}

/// What `auto` takes, and how it came to it.
std::string choice_text(const ScheduleChoice& choice) {
  std::string text = fmt::format("auto: {}, by {}, {:.1f} us predicted", full_name(choice.schedule),
                                 cortado::name_of(choice.by), microseconds(choice.time));
  if (choice.by == ChosenBy::heuristic) return text + "; everything else is several times as slow by rough times\n";
  const SearchWork& work = choice.work;
  text += fmt::format("; of {} candidates {} were estimated and {} simulated", work.candidates, work.estimated,
                      work.simulated);
  if (choice.runner_up) {
    text += fmt::format(", next {}: {:.1f} us", full_name(choice.runner_up->schedule),
                        microseconds(choice.runner_up->time));
  }
  return text + "\n";
}

Json schedule_json(const ScheduleGuess& guess, const ScheduleChoice& choice) {
  Json next;
  if (choice.runner_up) {
    next = {{"schedule", full_name(choice.runner_up->schedule)}, {"time_us", microseconds(choice.runner_up->time)}};
  }
  Json json = document("cortado.explain-schedule");
  json.update({{"guess", name_of(guess.schedule)},
               {"share_fastest", guess.confidence},
               {"mean_loss", guess.mean_loss},
               {"auto",
                {{"schedule", full_name(choice.schedule)},
                 {"by", cortado::name_of(choice.by)},
                 {"time_us", microseconds(choice.time)},
                 {"candidates", choice.work.candidates},
                 {"estimated", choice.work.estimated},
                 {"simulated", choice.work.simulated},
                 {"next", std::move(next)}}}});
  return json;
}

class ExplainCommand : public Subcommand {
 public:
  std::string_view name() const override { return "explain"; }
  std::string_view description() const override {
    return "Say which variant is fastest by simulation, or how a schedule is guessed, and why";
  }
  std::vector<Example> examples() const override {
    return {
        {"cortado explain all-gather --bytes 256KiB --prelaunch", "what auto takes when queues can be submitted ahead"},
        {"cortado explain all-to-all --bytes 1MiB --out-of-place --among pcpy,b2b", "between two variants"},
        {"cortado explain all-gather --bytes 64KiB --machine virtual-64 --ranks 8 --sizes 1KiB:1MiB --json",
         "numbers and the winner of each size, for a script"},
        {"cortado explain schedule --gemm 49152x1920x5120 --collective all-gather",
         "how a product and the collective that it needs are cut, guessed from their shapes"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("collective", collective_,
                   "Which one (cortado list collectives), or schedule: how a product and a collective are cut")
        ->required()
        ->type_name("");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    options_.add_to(app);
    sizes_option_ =
        app.add_option("--sizes", sizes_, "Where to look for changes of the choice: FIRST:LAST (doubling), or sizes")
            ->type_name("SIZES")
            ->capture_default_str();
    schedule_options_ = {
        app.add_option("--gemm", gemm_, "schedule: rows of all GPUs x columns and k that one GPU multiplies")
            ->type_name("MxNxK"),
        app.add_option("--collective", depends_, "schedule: all-gather, all-to-all or reduce-scatter")
            ->type_name("NAME")
            ->capture_default_str(),
        app.add_flag("--product-first", product_first_,
                     "schedule: the collective takes the product away, as a reduce-scatter always does")};
    table_.add_to(app, {.html = true});
  }

  Result<Exit> run(Console& console) override {
    if (collective_ == kSchedule) return run_schedule(console);
    for (const CLI::Option* option : schedule_options_) {
      if (option->count() == 0) continue;
      return fail("usage.option", fmt::format("{} is for cortado explain schedule", option->get_name()),
                  "leave it out");
    }
    CORTADO_RETURN_IF_ERROR(table_.check({machine_}));
    CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest request, options_.request(collective_));
    CORTADO_ASSIGN_OR_RETURN(std::vector<Bytes> sizes, parse_sizes(sizes_));
    std::sort(sizes.begin(), sizes.end());
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    pipeline::Chooser chooser(machine, options_.automatic().chooser_options());
    const auto explanation = pipeline::explain(
        options_.choice(request), machine, chooser, sizes,
        [&](std::size_t done, std::size_t all) { console.progress(fmt::format("{} of {} simulations", done, all)); });
    console.clear_progress();
    if (!explanation) return fail(explanation.error());
    keep_times(chooser, console);
    CORTADO_RETURN_IF_ERROR(table_.show(console, pipeline::explain_document(*explanation, collective_)));
    return Exit::ok;
  }

 private:
  static constexpr const char* kSchedule = "schedule";

  Result<Exit> run_schedule(Console& console) const {
    const std::string flag = sizes_option_->count() > 0 ? "--sizes" : options_.first_given({"--ranks", "--dtype"});
    if (!flag.empty() || table_.wants_html()) {
      return fail("usage.option", fmt::format("{} is for a collective alone", flag.empty() ? "--html" : flag),
                  "leave it out");
    }
    if (!gemm_) return fail("usage.gemm", "which product?", "give --gemm MxNxK, for example --gemm 16384x2048x131072");
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    CORTADO_ASSIGN_OR_RETURN(const DependentRequest request, dependent_request(machine));
    CORTADO_ASSIGN_OR_RETURN(const ScheduleGuess guess, guess_schedule(request, machine));
    CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice, pipeline::Chooser(machine, {}).schedule(request));
    console.out(table_.json() ? to_text(schedule_json(guess, choice)) : guess_text(guess) + choice_text(choice));
    return Exit::ok;
  }

  /// Of a request that can be done one after the other.
  Result<DependentRequest> dependent_request(const Machine& machine) const {
    CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest common, options_.CollectiveOptions::request({}));
    DependentRequest request;
    CORTADO_ASSIGN_OR_RETURN(request.gemm, parse_shape(*gemm_, options_.has_dtype() ? common.dtype : DType::bf16));
    CORTADO_ASSIGN_OR_RETURN(request.collective, find_collective(depends_));
    request.ranks = common.ranks == 0 ? machine.gpus : common.ranks;
    if (product_first_ || depends_ == "reduce-scatter") request.dependence = Dependence::product_first;
    CORTADO_ASSIGN_OR_RETURN(const FiccoSchedule serial, find_schedule("serial-dma"));
    CORTADO_RETURN_IF_ERROR(plan_ficco(request, serial, machine));
    return request;
  }

  std::string collective_;
  std::string machine_ = kDefaultMachine;
  PlanOptions options_{PlanOptions::Variant::chosen};
  std::string sizes_ = "1KiB:1GiB";
  const CLI::Option* sizes_option_ = nullptr;
  std::vector<const CLI::Option*> schedule_options_;
  std::optional<std::string> gemm_;
  std::string depends_ = "all-gather";
  bool product_first_ = false;
  TableOptions table_;
};

}  // namespace

std::unique_ptr<Subcommand> make_explain() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace cortado::cli
