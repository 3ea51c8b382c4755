// cortado overlap: a GEMM and a collective at the same time, by every strategy.
#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/overlap.hpp"
#include "cortado/pipeline/what_if.hpp"
#include "cortado/report/trace.hpp"

#include "auto_options.hpp"
#include "dependence_options.hpp"
#include "device_options.hpp"
#include "interrupt.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"
#include "table_options.hpp"

namespace cortado::cli {
namespace {

class OverlapCommand : public Subcommand {
 public:
  std::string_view name() const override { return "overlap"; }
  std::string_view description() const override {
    return "Compare strategies that run a GEMM and a collective at the same time";
  }
  std::vector<Example> examples() const override {
    return {
        {"cortado overlap all-gather --gemm 16384x3584x8192",
         "a GEMM on the output of an all-gather: every strategy on eight MI300X, predicted, and which to use"},
        {"cortado overlap all-gather --gemm 16384x3584x8192 --strategy auto -o best.json",
         "only what a search predicts to be fastest, beside serial; and its program"},
        {"cortado overlap reduce-scatter --gemm 16384x8192x2048 --why",
         "a reduce-scatter of the GEMM's output, with the losses by decomposition and contention"},
        {"cortado overlap all-gather --gemm 8192x57344x8192 --bytes 896MiB --independent",
         "a GEMM beside a collective that has nothing to do with it"},
        {"cortado overlap all-to-all --gemm 64x8192x28672 --bytes 64MiB --independent --strategy c3-sp,conccl/b2b "
         "--json",
         "two strategies, one with a given variant of the collective, for a script"},
        {"cortado overlap all-gather --gemm 256x256x256 --dtype fp32 --bytes 1MiB --independent --on soft --ranks 4",
         "really run, with every byte and every GEMM checked"},
        {"cortado overlap all-gather --gemm 4096x4096x4096 --bytes 64MiB --independent --strategy conccl -o "
         "conccl.json "
         "--trace t.json",
         "the program, for cortado verify and run, and its predicted trace"},
        {"cortado overlap all-to-all --gemm 2048x2048x4096 --tokens 4:1:1:1:1:1:1:1 --strategy "
         "serial,hetero-fused-1d/4,hetero-fused-1d/16",
         "tokens for experts, one of which is popular, in 4 and in 16 steps"},
        {"cortado overlap reduce-scatter --gemm 8192x4256x1064 --dtype fp16 --machine t3-ring-16 --strategy "
         "serial,t3,t3-mca,ideal",
         "hardware that tracks stores and adds in memory"},
        {"cortado overlap reduce-scatter --gemm 8192x8192x3584 --with tracker,nmc,mca",
         "the effect of hardware features that the machine lacks"},
        {"cortado overlap all-gather --gemm 4096x4096x4096 --bytes 64MiB --independent --objective energy",
         "the strategy that takes the least energy"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("collective", collective_, "Collective (cortado list collectives)")->required()->type_name("NAME");
    app.add_option("--gemm", gemm_, "What one GPU multiplies, C = A B: rows of A x columns of B x columns of A")
        ->required()
        ->type_name("MxNxK");
    app.add_option("--dtype", dtype_, "Element type of the GEMM: fp32, fp16, bf16, fp8")
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    add_number(app, "--ranks", ranks_, "GPUs that take part (default: all of the machine)", {.least = 2})
        ->type_name("N");
    app.add_option(
           "--strategy", strategies_,
           "Strategies separated by commas (cortado list strategies): NAME, a FiCCO schedule with its number of "
           "chunks (hetero-fused-1d/8), a strategy with a variant of the collective (conccl/bcst-prelaunch) or "
           "CUs for it (c3-sp/32); auto for the fastest by search, all for every one (default: those that are "
           "usually compared)")
        ->type_name("NAMES");
    app.add_flag("--independent", independent_, "Neither needs the other (default: one needs the other's output)");
    of_independent_ = {
        app.add_option("--bytes", bytes_,
                       "--independent: size of the collective's whole buffer, as nccl-tests count it: 64KiB, 896MiB")
            ->type_name("SIZE"),
        app.add_flag("--leave-own-block", leave_own_block_,
                     "--independent all-to-all: a rank's block for itself stays where it is"),
        add_number(app, "--cus-gemm", knobs_.gemm_cus, "--independent: CUs of the GEMM in every strategy but serial",
                   {.least = 1})
            ->type_name("N"),
        add_number(app, "--cus-comm", knobs_.comm_cus,
                   "--independent: CUs of a collective that runs on them, in every strategy but serial", {.least = 1})
            ->type_name("N")};
    dependence_.add_to(app, "dependent: ");
    of_dependent_ = dependence_.options();
    of_dependent_.push_back(add_number(app, "--pieces", knobs_.pieces,
                                       "t3: pieces of a chunk that travel when each is complete", {.least = 1})
                                ->type_name("N"));
    app.add_flag("--why", why_, "With the losses by contention, at three simulations per strategy; see --wide");
    add_what_if(app);
    app.add_option(
           "--objective", objective_,
           "What the strategy to use is chosen by: time, energy, or edp (their product); what a strategy leaves "
           "open is still searched by time")
        ->type_name("NAME")
        ->capture_default_str();
    place_.add_to(app);
    iterations_option_ = add_number(app, "--iters,--iterations", iterations_,
                                    "Measured iterations of each program, in three rounds", {.least = 1})
                             ->type_name("N")
                             ->capture_default_str();
    app.add_option("--trace", trace_, "Write a Perfetto trace of the strategy to use")->type_name("FILE");
    app.add_option("-o,--output", output_, "Write the program of the strategy to use")->type_name("FILE");
    table_.add_to(app, {.csv = true, .html = true});
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(check_flags());
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    CORTADO_ASSIGN_OR_RETURN(const OverlapProblem problem, this->problem(machine));
    CORTADO_ASSIGN_OR_RETURN(pipeline::OverlapOptions options, this->options());
    CORTADO_ASSIGN_OR_RETURN(const auto target, open(machine));
    options.threads = available_cores();
    options.progress = [&console](std::size_t done, std::size_t of) {
      console.progress(fmt::format("{} of {}", done, of));
      return !interrupted();
    };
    watch_for_interrupt();
    if (with_) return run_what_if(console, problem, machine, options);
    const auto report = pipeline::study_overlap(problem, machine, *target, options);
    console.clear_progress();
    if (!report) return failed(console, report.error());
    CORTADO_RETURN_IF_ERROR(table_.show(console, pipeline::overlap_document(*report)));
    if (trace_ || output_) {
      const auto written = write_choice(*report, machine, *target, options.run);
      if (!written) return console.failure(written.error());
    }
    for (const pipeline::OverlapRow& row : report->rows) {
      if (row.wrong.value_or(0) > 0) return Exit::failed;
    }
    return Exit::ok;
  }

 private:
  static constexpr std::uint32_t kWarmup = 2;

  void add_what_if(CLI::App& app) {
    std::vector<std::string> features;
    for (const pipeline::FeatureInfo& feature : pipeline::list_features()) {
      features.push_back(fmt::format("{} ({})", feature.name, feature.summary));
    }
    app.add_option(
           "--with", with_,
           "The same table with hardware features that the machine lacks, separated by commas: " + join(features, "; "))
        ->type_name("NAMES");
    as_option_ = app.add_option("--as", as_, "--with: machine whose features they are: entries, costs, thresholds")
                     ->type_name("NAME")
                     ->capture_default_str();
  }

  Status check_flags() const {
    for (const CLI::Option* option : independent_ ? of_dependent_ : of_independent_) {
      if (option->count() == 0) continue;
      return fail("usage.option",
                  fmt::format("{} is for {} problems", option->get_name(), independent_ ? "dependent" : "independent"),
                  independent_ ? "leave it out, or leave --independent out" : "leave it out, or give --independent");
    }
    if (independent_ && bytes_.empty()) {
      return fail("usage.size", "--bytes is required with --independent: the size of the collective's whole buffer",
                  "give for example --bytes 64MiB");
    }
    if (iterations_ == 0) return fail("usage.iters", "--iters 0 measures nothing", "give 1 or more");
    if (trace_) CORTADO_RETURN_IF_ERROR(check_output_path(*trace_, {machine_, output_.value_or("")}));
    if (output_) CORTADO_RETURN_IF_ERROR(check_output_path(*output_, {machine_}));
    CORTADO_RETURN_IF_ERROR(table_.check({machine_, output_.value_or(""), trace_.value_or("")}));
    if (with_ && (trace_ || output_ || !place_.simulated())) {
      return fail("usage.option", "--with predicts: there is no program for hardware that does not exist",
                  "leave --trace, -o and --on out");
    }
    if (!with_ && as_option_->count() > 0) return fail("usage.option", "--as is for --with", "leave it out");
    return {};
  }

  Result<OverlapProblem> problem(const Machine& machine) const {
    CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(dtype_));
    CORTADO_ASSIGN_OR_RETURN(const GemmShape gemm, parse_shape(gemm_, dtype));
    const std::uint32_t ranks = ranks_.value_or(machine.gpus);
    if (!independent_) return dependence_.problem(collective_, gemm, ranks);
    CollectiveRequest collective;
    CORTADO_ASSIGN_OR_RETURN(collective.collective, find_collective(collective_));
    CORTADO_ASSIGN_OR_RETURN(collective.bytes, parse_bytes(bytes_));
    collective.in_place = default_in_place(collective.collective, collective.variant);
    collective.own_block = !leave_own_block_;
    return OverlapProblem{.gemms = {gemm}, .collectives = {collective}, .ranks = ranks};
  }

  Result<pipeline::OverlapOptions> options() const {
    pipeline::OverlapOptions options;
    if (strategies_) options.strategies = split_names(*strategies_);
    options.knobs = knobs_;
    CORTADO_ASSIGN_OR_RETURN(options.knobs.chunks, dependence_.chunks());
    CORTADO_ASSIGN_OR_RETURN(options.knobs.exchange, dependence_.exchange());
    options.knobs.means = dependence_.means();
    options.contention = why_;
    CORTADO_ASSIGN_OR_RETURN(options.objective, objective());
    options.run.device = place_.run_options();
    options.run.device.check = device::CheckOutputs::last;
    options.run.device.stop = interrupted;
    if (place_.simulated()) return options;
    options.run.iterations = iterations_;
    options.run.warmup = kWarmup;
    return options;
  }

  Result<report::Objective> objective() const {
    if (const auto known = report::find_objective(objective_)) return *known;
    std::vector<std::string> names;
    for (const auto& [name, objective] : report::kObjectives) names.emplace_back(name);
    return fail("usage.objective", fmt::format("unknown objective '{}'", objective_),
                fmt::format("give {}", join(names, " or ")));
  }

  Result<std::unique_ptr<Target>> open(const Machine& machine) const {
    if (place_.simulated()) {
      CORTADO_RETURN_IF_ERROR(place_.check_for_simulator());
      if (iterations_option_->count() > 0) {
        return fail("usage.option", "--iters is for devices: a simulated run is the same every time", "leave it out");
      }
    }
    CORTADO_ASSIGN_OR_RETURN(const auto request, place_.request(ranks_.value_or(machine.gpus), machine));
    return open_target(request, machine);
  }

  Result<Exit> run_what_if(Console& console, const OverlapProblem& problem, const Machine& machine,
                           const pipeline::OverlapOptions& options) const {
    CORTADO_ASSIGN_OR_RETURN(const Machine as, load_machine(as_));
    const auto report = pipeline::what_if(problem, machine, split_names(*with_), as, options);
    console.clear_progress();
    if (!report) return failed(console, report.error());
    CORTADO_RETURN_IF_ERROR(table_.show(console, pipeline::what_if_document(*report)));
    return Exit::ok;
  }

  static Result<Exit> failed(Console& console, const Failure& failure) {
    if (!interrupted()) return console.failure(failure);
    console.talk("interrupted before all was timed: there is nothing to compare");
    return Exit::interrupted;
  }

  /// The program of the choice, and its trace, predicted or measured.
  Outcome<void> write_choice(const pipeline::OverlapReport& report, const Machine& machine, Target& target,
                             RunOptions options) const {
    if (!report.chosen) {
      return fail_at(Stage::plan, {"overlap.program",
                                   fmt::format("{} is not one program: the GEMM, then the collective", report.choice),
                                   "name a strategy with --strategy; serial-dma is one program"});
    }
    if (report.problem.collective().collective == "all-reduce" && !independent_) {
      return fail_at(Stage::plan,
                     {"overlap.program", "an all-reduce is a program that overlaps and an all-gather behind it",
                      "ask for reduce-scatter with -o and --trace"});
    }
    if (output_) {
      const Status written = write_file(*output_, to_json(report.chosen->program));
      if (!written) return fail_at(Stage::prepare, written.error());
    }
    if (!trace_) return {};
    options.trace = true;
    options.watts = true;
    options.sim.arbitration = report.chosen->arbitration;
    const auto run = run_on(target, report.chosen->program, machine, options);
    if (!run) return tl::unexpected(run.error());
    const Status written = write_file(*trace_, report::perfetto_trace(run->timeline, report.chosen->program));
    if (!written) return fail_at(Stage::prepare, written.error());
    return {};
  }

  std::string collective_;
  std::string gemm_;
  std::string dtype_ = "bf16";
  std::string machine_ = kDefaultMachine;
  std::optional<std::uint32_t> ranks_;
  std::optional<std::string> strategies_;
  StrategyKnobs knobs_;
  bool independent_ = false;
  std::string bytes_;
  bool leave_own_block_ = false;
  std::vector<const CLI::Option*> of_independent_;
  DependenceOptions dependence_;
  std::vector<const CLI::Option*> of_dependent_;
  bool why_ = false;
  std::optional<std::string> with_;
  std::string as_ = "mi300x-8+t3";
  const CLI::Option* as_option_ = nullptr;
  std::string objective_ = std::string(name_of(report::Objective::time));
  DeviceOptions place_{kSimulator};
  const CLI::Option* iterations_option_ = nullptr;
  std::uint32_t iterations_ = 10;
  std::optional<std::string> trace_;
  std::optional<std::string> output_;
  TableOptions table_;
};

}  // namespace

std::unique_ptr<Subcommand> make_overlap() {
  return std::make_unique<OverlapCommand>();
}

}  // namespace cortado::cli
