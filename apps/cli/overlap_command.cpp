// cortado overlap: a GEMM and a collective at the same time, by every strategy.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/report.hpp"
#include "cortado/study.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "device/soft/soft.hpp"
#include "gemm/gemm.hpp"
#include "overlap_request.hpp"
#include "pipeline/characterize.hpp"
#include "pipeline/explain.hpp"
#include "pipeline/overlap/times.hpp"
#include "plan/external.hpp"
#include "reproduce/evidence.hpp"
#include "software_products.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kOverlapExamples[] = {
    {"cortado overlap all-gather --gemm 16384x3584x8192",
     "a GEMM that consumes an all-gather: predict every strategy on eight MI300X, and recommend one"},
    {"cortado overlap all-gather --gemm 16384x3584x8192 --strategy auto -o best.json",
     "only the strategy that a search predicts to be fastest, next to serial; and write its program"},
    {"cortado overlap reduce-scatter --gemm 16384x8192x2048 --why",
     "a reduce-scatter of the GEMM's output, and the cost of decomposition and contention"},
    {"cortado overlap all-gather --gemm 49152x1920x5120 --strategy serial,ficco --explain",
     "what each strategy decides, and how a FiCCO schedule is guessed and searched"},
    {"cortado overlap all-gather --map --n 1024 --m 4096:65536 --k 1024:16384",
     "a map of the best strategy over M and K of the GEMM"},
    {"cortado overlap all-gather --gemm 8192x57344x8192 --bytes 896MiB --independent",
     "a GEMM next to an unrelated collective"},
    {"cortado overlap all-to-all --gemm 64x8192x28672 --bytes 64MiB --independent --strategy c3-sp,conccl/b2b --json",
     "two strategies, one with a given variant of the collective, as JSON for a script"},
    {"cortado overlap all-gather --gemm 256x256x256 --dtype fp32 --bytes 1MiB --independent --on soft --ranks 4",
     "actually run it, and check every byte and every GEMM"},
    {"cortado overlap all-gather --gemm 4096x4096x4096 --bytes 64MiB --independent --strategy conccl -o conccl.json "
     "--trace t.json",
     "write the program, for cortado verify and run, and its predicted trace"},
    {"cortado overlap all-to-all --gemm 2048x2048x4096 --tokens 4:1:1:1:1:1:1:1 --strategy "
     "serial,hetero-fused-1d/4,hetero-fused-1d/16",
     "tokens for experts, one of which is popular, in 4 and in 16 steps"},
    {"cortado overlap reduce-scatter --gemm 8192x4256x1064 --dtype fp16 --machine t3-ring-16 --strategy "
     "serial,t3,t3-mca,ideal",
     "hardware that tracks stores and adds in memory"},
    {"cortado overlap reduce-scatter --gemm 8192x8192x3584 --with tracker,nmc,mca",
     "the effect of hardware features that the machine lacks"},
    {"cortado overlap all-gather --gemm 4096x4096x4096 --bytes 64MiB --independent --objective energy",
     "the strategy that uses the least energy"},
    {"cortado overlap all-gather,reduce-scatter --gemm 8192x8192x8192,8192x28672x8192 --bytes 437MiB --independent",
     "FSDP: the GEMMs of a layer while the next layer's weights are gathered and the previous layer's gradients "
     "reduced"}};

constexpr std::uint32_t kWarmup = 2;
constexpr std::size_t kMostCells = 1024;

/// Ascending, each once.
Result<std::vector<std::uint64_t>> extents(const Arguments& arguments, const char* flag) {
  const auto counts = parse_counts(arguments.text(flag));
  if (!counts) {
    return fail("usage.map", fmt::format("{} {} is not a range of sizes", flag, arguments.text(flag)),
                "use FROM:TO, which doubles from FROM to TO, or numbers separated by commas");
  }
  const std::set<std::uint64_t> ascending(counts->begin(), counts->end());
  return std::vector<std::uint64_t>(ascending.begin(), ascending.end());
}

/// One run of the command.
class Overlap {
 public:
  Overlap(const Arguments& arguments, Console& console, std::string collective)
      : arguments_(arguments), console_(console), table_(arguments), collective_(std::move(collective)) {}

  Result<Exit> run(const std::vector<std::string>& strategies) {
    CORTADO_RETURN_IF_ERROR(check_files());
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_of(arguments_));
    if (arguments_.given("--map")) return run_map(machine);
    CORTADO_ASSIGN_OR_RETURN(const OverlapProblem problem, overlap_problem(arguments_, collective_, machine));
    CORTADO_RETURN_IF_ERROR(check_writable(problem, strategies));
    CORTADO_ASSIGN_OR_RETURN(pipeline::OverlapOptions options, this->options());
    options.strategies = strategies;
    const std::string on = arguments_.command() == "overlap" ? arguments_.text("--on") : std::string(kSimulator);
    CORTADO_ASSIGN_OR_RETURN(const auto request, target_request(arguments_, on, problem.ranks, machine));
    CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request, machine));
    if (target->predicts()) tell_what_is_borrowed(machine, console_);
    // What is predicted, or happens in this process alone, ends at once: there is nothing to clean up or to show.
    if (!target->predicts() && on != "soft") watch_for_interrupt();
    if (on == "soft") options.progress = measuring(problem, machine, options.run, request.soft);
    tell_many_chunks(options.knobs.chunks, problem.ranks == 0 ? machine.gpus : problem.ranks);
    if (arguments_.given("--with")) return run_what_if(problem, machine, options);
    const auto report = pipeline::study_overlap(problem, machine, *target, options);
    if (!report) return study_failure(console_, report.error());
    auto document = this->document(*report, machine);
    if (!document) return study_failure(console_, document.error());
    if (table_.wants_html() && target->predicts() && report->chosen && pipeline::check_one_program(report->problem)) {
      const auto timeline = choice_trace(*report, machine, *target, options.run);
      if (!timeline) return console_.failure(timeline.error());
      document->timelines.push_back({report->choice, *timeline});
    }
    console_.clear_progress();
    CORTADO_RETURN_IF_ERROR(table_.show(console_, *document));
    const auto written = write_choice(*report, machine, *target, options.run);
    if (!written) return console_.failure(written.error());
    const bool wrong = std::ranges::any_of(report->rows, [](const auto& row) { return row.wrong.value_or(0) > 0; });
    return wrong ? Exit::failed : Exit::ok;
  }

 private:
  std::optional<std::string> program_file() const {
    return arguments_.text("--output") == "-" ? std::nullopt : arguments_.find("--output");
  }

  /// Planning, proof and simulation of a step take a while for each pair of ranks.
  void tell_many_chunks(std::uint32_t chunks, std::uint32_t ranks) const {
    constexpr std::uint64_t kQuick = 16384;
    const std::uint64_t copies = std::uint64_t{chunks} * ranks * (ranks - 1);
    if (copies <= kQuick) return;
    console_.talk(
        fmt::format("--chunks {} means {} copies in every schedule; proving them may take minutes", chunks, copies));
  }

  Status check_files() const {
    const std::string machine = arguments_.text("--machine");
    const std::string output = program_file().value_or("");
    const auto trace = arguments_.find("--trace");
    if (trace) CORTADO_RETURN_IF_ERROR(check_output_path(*trace, {machine, output}));
    if (program_file()) CORTADO_RETURN_IF_ERROR(check_output_path(output, {machine}));
    return table_.check({machine, output, trace.value_or("")});
  }

  bool writes_choice() const { return program_file() || arguments_.find("--trace"); }

  /// Whether the choice can be a program, as far as that is known before it is made.
  Status check_writable(const OverlapProblem& problem, const std::vector<std::string>& strategies) const {
    if (!writes_choice() || arguments_.given("--with")) return {};
    CORTADO_RETURN_IF_ERROR(pipeline::check_one_program(problem));
    const auto no_program = [&](const std::string& name) {
      const auto named = find_strategy(name);
      if (!named) return false;
      return !named->strategy->plan ||
             ((name == "serial" || name == "serial-direct") && problem.relation != Relation::independent);
    };
    if (strategies.empty() || !std::ranges::all_of(strategies, no_program)) return {};
    return fail(not_a_program(strategies.front(), problem.relation));
  }

  static Diagnostic not_a_program(const std::string& name, Relation relation) {
    const auto named = find_strategy(name);
    const bool bound = named && !named->strategy->plan;
    const char* const parts =
        relation == Relation::gemm_needs_collective ? "the collective, then the GEMM" : "the GEMM, then the collective";
    return {"overlap.program",
            bound ? fmt::format("{} is a bound, not a program", name)
                  : fmt::format("{} is not a single program: it is {}", name, parts),
            "choose a strategy with --strategy; serial-dma is a single program"};
  }

  Result<pipeline::OverlapOptions> options() const {
    pipeline::OverlapOptions options;
    CORTADO_ASSIGN_OR_RETURN(options.knobs, strategy_knobs(arguments_));
    options.contention = arguments_.given("--why");
    if (const auto objective = report::find_objective(arguments_.text("--objective"))) options.objective = *objective;
    options.threads = threads_of(arguments_);
    const bool predicted = arguments_.command() != "overlap" || arguments_.text("--on") == kSimulator;
    options.progress = show_progress(console_, predicted ? "predicting" : "measuring");
    if (arguments_.command() != "overlap" || arguments_.text("--on") == kSimulator) return options;
    options.run.device = device_run_options(arguments_);
    options.run.device.check = device::CheckOutputs::last;
    options.run.device.stop = interrupted;
    options.run.iterations = *arguments_.number("--iters");
    options.run.warmup = kWarmup;
    return options;
  }

  /// Progress that begins with a warning if software multiplies for long: every program runs once to tell how long it
  /// takes, then the warm-up and the iterations of a round, then once with a trace.
  std::function<bool(std::size_t, std::size_t)> measuring(const OverlapProblem& problem, const Machine& machine,
                                                          const RunOptions& run,
                                                          const device::SoftOptions& soft) const {
    double flops_once = 0;
    for (const GemmShape& gemm : problem.gemms) flops_once += flops(gemm);
    flops_once *= problem.ranks == 0 ? machine.gpus : problem.ranks;
    const DType dtype = problem.gemms.front().dtype;
    constexpr double kBesideIterations = 3;
    return [this, flops_once, dtype, soft, iterations = run.iterations,
            progress = show_progress(console_, "measuring")](std::size_t done, std::size_t of) {
      if (done == 0) {
        const double runs = kBesideIterations + pipeline::iterations_of_round(iterations);
        const auto warning =
            software_products_warning(flops_once * runs * static_cast<double>(of), dtype, iterations > 1,
                                      [&](DType type) { return device::soft_gemm_rate(type, soft); });
        if (warning) console_.talk(*warning);
      }
      return progress(done, of);
    };
  }

  Outcome<report::Document> document(const pipeline::OverlapReport& report, const Machine& machine) const {
    if (arguments_.given("--explain")) {
      const auto schedule = pipeline::explain_schedule(report.problem, machine);
      if (!schedule) return fail_at(Stage::plan, schedule.error());
      const auto evidence = pipeline::overlap_evidence(report.problem, machine);
      if (!evidence) return fail(evidence.error());
      return pipeline::explain_overlap_document(report, *schedule, *evidence);
    }
    if (!arguments_.given("--why")) return pipeline::overlap_document(report);
    const DependentRequest request = dependent_request(overlapping_part(report.problem));
    auto costs = pipeline::characterize(request, machine,
                                        {.threads = threads_of(arguments_), .progress = show_progress(console_)});
    if (!costs) return fail(costs.error());
    return pipeline::why_document(report, *costs);
  }

  Result<Exit> run_what_if(const OverlapProblem& problem, const Machine& machine,
                           const pipeline::OverlapOptions& options) const {
    std::optional<Machine> as;
    if (const auto named = arguments_.find("--as")) {
      CORTADO_ASSIGN_OR_RETURN(as, load_machine(*named));
    }
    const auto report = pipeline::what_if(problem, machine, arguments_.names("--with"), as, options);
    if (!report) return study_failure(console_, report.error());
    console_.clear_progress();
    CORTADO_RETURN_IF_ERROR(table_.show(console_, pipeline::what_if_document(*report)));
    return Exit::ok;
  }

  Result<Exit> run_map(const Machine& machine) const {
    const auto n = arguments_.number<std::uint64_t>("--n");
    if (!n) return fail("usage.gemm", "the number of columns is missing", "pass --n, for example --map --n 2048");
    CORTADO_ASSIGN_OR_RETURN(const Collective collective, find_collective(collective_));
    if (collective == "all-reduce") {
      return fail("usage.map", "--map has no all-reduce: what overlaps with the GEMM is its reduce-scatter",
                  "map reduce-scatter, or ask about one GEMM with --gemm");
    }
    const OverlapProblem problem{
        .relation = relation_of(arguments_, collective_), .gemms = {{}}, .collectives = {{.collective = collective}}};
    pipeline::MapRequest request{.n = *n,
                                 .collective = collective,
                                 .dependence = dependent_request(problem).dependence,
                                 .ranks = arguments_.number("--ranks").value_or(0)};
    CORTADO_ASSIGN_OR_RETURN(request.dtype, parse_dtype(arguments_.text("--dtype")));
    CORTADO_ASSIGN_OR_RETURN(request.m, extents(arguments_, "--m"));
    CORTADO_ASSIGN_OR_RETURN(request.k, extents(arguments_, "--k"));
    if (request.m.size() * request.k.size() > kMostCells) {
      return fail("usage.map", fmt::format("a map of {} x {} GEMMs is too large", request.m.size(), request.k.size()),
                  fmt::format("use at most {} GEMMs", kMostCells));
    }
    const auto map = pipeline::map_schedules(request, machine,
                                             {.threads = threads_of(arguments_), .progress = show_progress(console_)});
    if (!map) return study_failure(console_, map.error());
    console_.clear_progress();
    const report::Document document = report::schedule_map_document(*map);
    console_.out(table_.json() ? report::to_json(document) : report::schedule_map_text(*map));
    CORTADO_RETURN_IF_ERROR(table_.write_html(document.title, {document}));
    return Exit::ok;
  }

  /// The program of the choice, and its trace, predicted or measured.
  Outcome<void> write_choice(const pipeline::OverlapReport& report, const Machine& machine, Target& target,
                             RunOptions options) const {
    const auto trace = arguments_.find("--trace");
    if (!writes_choice()) return {};
    if (!report.chosen) return fail_at(Stage::plan, not_a_program(report.choice, report.problem.relation));
    if (program_file()) {
      const Status written = write_file(*program_file(), to_json(report.chosen->program));
      if (!written) return fail_at(Stage::prepare, written.error());
      tell_policy(report.chosen->arbitration, machine, console_);
    }
    if (!trace) return {};
    options.watts = true;
    const auto timeline = choice_trace(report, machine, target, options);
    if (!timeline) return fail(timeline.error());
    const Status written = write_file(*trace, *timeline);
    if (!written) return fail_at(Stage::prepare, written.error());
    return {};
  }

  static Outcome<std::string> choice_trace(const pipeline::OverlapReport& report, const Machine& machine,
                                           Target& target, RunOptions options) {
    options.trace = true;
    options.sim.arbitration = report.chosen->arbitration;
    const auto run = run_on(target, report.chosen->program, machine, options);
    if (!run) return fail(run.error());
    return report::perfetto_trace(run->timeline, report.chosen->program);
  }

  const Arguments& arguments_;
  Console& console_;
  TableOutput table_;
  std::string collective_;
};

Result<Exit> run_overlap(const Arguments& arguments, Console& console) {
  const bool map = arguments.given("--map");
  const bool with = arguments.given("--with");
  std::vector<std::string_view> modes{target_mode(arguments.text("--on"))};
  if (map) modes.push_back("map");
  if (with) modes.push_back("with");
  if (!map) modes.push_back("gemm");
  if (!map && !with) modes.push_back("now");
  if (!map) {
    for (const std::string_view mode : overlap_modes(arguments)) modes.push_back(mode);
  }
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  const auto planner = arguments.find("--planner");
  std::vector<std::string> strategies;
  if (arguments.given("--strategy")) strategies = arguments.names("--strategy");
  if (planner && strategies.empty()) strategies = {std::string(pipeline::kAutoStrategy), "ideal"};
  if (planner) strategies.push_back(external_name(*planner));
  return Overlap(arguments, console, arguments.text("collective")).run(strategies);
}

}  // namespace

Result<Exit> explain_strategy(const Arguments& arguments, Console& console, const std::string& collective) {
  return Overlap(arguments, console, collective).run({asked_strategy(arguments)});
}

constinit const Subcommand kOverlapCommand{"overlap", "Compare strategies for overlapping a GEMM with a collective",
                                           kOverlapExamples, run_overlap};

}  // namespace cortado::cli
