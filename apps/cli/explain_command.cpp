// cortado explain: which variant --variant auto takes, and why; and how a schedule is guessed from shapes.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/pipeline/choose_schedule.hpp"
#include "cortado/pipeline/explain.hpp"
#include "cortado/report/energy.hpp"

#include "dependence_options.hpp"
#include "json.hpp"
#include "plan_options.hpp"
#include "schedule_tree_text.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

Json phases_json(const pipeline::PathPhases& phases) {
  Json json = Json::object();
  for (std::size_t i = 0; i < pipeline::kPathPhaseNames.size(); ++i) {
    json[std::string(pipeline::kPathPhaseNames[i])] = microseconds(phases.in_order()[i]);
  }
  return json;
}

Json candidate_json(const TimedCandidate& candidate) {
  return {{"variant", candidate.request.variant},
          {"prelaunch", candidate.request.prelaunch},
          {"in_place", candidate.request.in_place},
          {"time_us", microseconds(candidate.time)}};
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
                   "Which one (cortado list collectives), or schedule: the tree that guesses one from shapes")
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
    app.add_flag("--json", json_, "JSON");
  }

  Result<Exit> run(Console& console) override {
    if (collective_ == kSchedule) return run_schedule(console);
    for (const CLI::Option* option : schedule_options_) {
      if (option->count() == 0) continue;
      return fail("usage.option", fmt::format("{} is for cortado explain schedule", option->get_name()),
                  "leave it out");
    }
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
    console.out(json_ ? to_text(json(*explanation)) : text(*explanation));
    return Exit::ok;
  }

 private:
  static constexpr const char* kSchedule = "schedule";

  Result<Exit> run_schedule(Console& console) const {
    const std::string flag = sizes_option_->count() > 0 ? "--sizes" : options_.first_given({"--ranks", "--dtype"});
    if (!flag.empty()) {
      return fail("usage.option", fmt::format("{} is for a collective alone", flag), "leave it out");
    }
    std::optional<ExplainedSchedule> product;
    if (gemm_) {
      CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
      CORTADO_ASSIGN_OR_RETURN(const DependentRequest request, dependent_request(machine));
      product.emplace();
      CORTADO_ASSIGN_OR_RETURN(product->features, schedule_features(request, machine));
      CORTADO_ASSIGN_OR_RETURN(product->choice, pipeline::ScheduleChooser().choose(request, machine));
    } else if (depends_ != "all-gather" || product_first_) {
      return fail("usage.gemm", "which product?", "give --gemm MxNxK, for example --gemm 16384x2048x131072");
    }
    console.out(json_ ? to_text(schedule_tree_json(product)) : schedule_tree_text(product));
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
    CORTADO_ASSIGN_OR_RETURN(const FiccoSchedule serial, find_schedule("serial"));
    CORTADO_RETURN_IF_ERROR(plan_ficco(request, serial, machine));
    return request;
  }

  static std::string energy_text(const pipeline::Explanation& explanation) {
    const auto both = [](const std::optional<EnergyUse>& energy) {
      return fmt::format("{} J, {} W a GPU on average", report::joules_text(energy), report::watts_text(energy));
    };
    std::string text = fmt::format("It takes {}", both(explanation.energy));
    if (explanation.runner_up_energy) text += fmt::format("; the second {}", both(explanation.runner_up_energy));
    return text + ".\n";
  }

  static std::string text(const pipeline::Explanation& explanation) {
    std::string text;
    for (const std::string& sentence : pipeline::sentences(explanation)) text += sentence + "\n";
    if (explanation.energy) text += energy_text(explanation);
    const ChoiceRow& row = explanation.row;
    TextTable table({"variant", "prelaunch", "in place", "time (us)", "of best"});
    for (const TimedCandidate& candidate : row.fitting) {
      const double ratio = microseconds(candidate.time) / microseconds(row.best().time);
      table.add_row({candidate.request.variant, candidate.request.prelaunch ? "yes" : "no",
                     candidate.request.in_place ? "yes" : "no", fmt::format("{:.2f}", microseconds(candidate.time)),
                     fmt::format("{:.2f}", ratio)});
    }
    text += "\n" + table.to_string("  ");
    for (const RefusedCandidate& refused : row.refused) {
      text += fmt::format("  {} does not fit: {}\n", way_name(refused.request), refused.reason.message);
    }
    return text;
  }

  Json json(const pipeline::Explanation& explanation) const {
    const ChoiceRow& row = explanation.row;
    Json candidates = Json::array();
    for (const TimedCandidate& candidate : row.fitting) candidates.push_back(candidate_json(candidate));
    Json refused = Json::array();
    for (const RefusedCandidate& candidate : row.refused) {
      refused.push_back({{"variant", candidate.request.variant},
                         {"prelaunch", candidate.request.prelaunch},
                         {"reason", cli::to_json_value(candidate.reason)}});
    }
    Json table = Json::array();
    for (const ChoiceRow& other : explanation.table) {
      Json winner{{"bytes", other.bytes.value}};
      winner.update(candidate_json(other.best()));
      table.push_back(std::move(winner));
    }
    return {{"collective", collective_},
            {"bytes", row.bytes.value},
            {"machine", explanation.machine},
            {"ranks", explanation.ranks},
            {"sentences", pipeline::sentences(explanation)},
            {"chosen", report::with_energy(candidate_json(row.best()), explanation.energy)},
            {"runner_up", row.fitting.size() > 1
                              ? report::with_energy(candidate_json(row.fitting[1]), explanation.runner_up_energy)
                              : Json()},
            {"phases_us", phases_json(explanation.phases)},
            {"runner_up_phases_us", explanation.runner_up ? phases_json(*explanation.runner_up) : Json()},
            {"candidates", std::move(candidates)},
            {"refused", std::move(refused)},
            {"best_by_size", std::move(table)}};
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
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_explain() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace cortado::cli
