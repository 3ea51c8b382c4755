// cortado overlap: a product and a collective at the same time: independent of each other, by every policy, or one of
// what the other brings or makes, by schedules that cut both.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/dependent.hpp"
#include "cortado/pipeline/fused.hpp"
#include "cortado/pipeline/overlap.hpp"
#include "cortado/pipeline/simulate.hpp"
#include "cortado/report/trace.hpp"

#include "auto_options.hpp"
#include "dependence_options.hpp"
#include "device_options.hpp"
#include "interrupt.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

constexpr const char* kAllSchedules = "all";
constexpr const char* kAllSystems = "systems";

class OverlapCommand : public Subcommand {
 public:
  std::string_view name() const override { return "overlap"; }
  std::string_view description() const override {
    return "Compare ways to run a product and a collective at the same time";
  }
  std::vector<Example> examples() const override {
    return {
        {"cortado overlap --gemm 8192x57344x8192 --dtype bf16 --collective all-gather --bytes 896MiB --independent",
         "every policy on eight MI300X, predicted, and which to use"},
        {"cortado overlap --gemm 64x8192x28672 --collective all-to-all --bytes 64MiB --independent --policy "
         "c3-sp,conccl-rp --json",
         "two policies, for a script"},
        {"cortado overlap --gemm 256x256x256 --dtype fp32 --collective all-gather --bytes 1MiB --independent --on "
         "soft --ranks 4",
         "really run, with every byte and every product checked"},
        {"cortado overlap --gemm 4096x4096x4096 --collective all-gather --bytes 64MiB --independent --policy conccl "
         "-o conccl.json --trace t.json",
         "the program, for cortado verify and run, and its predicted trace"},
        {"cortado overlap --gemm 131072x2048x16384 --collective all-gather --dependent",
         "the product of what an all-gather brings: both cut into steps, by every published schedule"},
        {"cortado overlap --gemm 16384x8192x2048 --collective reduce-scatter --dependent",
         "a product whose pieces are added up as they are made"},
        {"cortado overlap --gemm 16384x2048x4096 --collective all-to-all --tokens 4:1:1:1:1:1:1:1 --dependent "
         "--schedule serial,hetero-fused-1d/4,hetero-fused-1d/16",
         "tokens for experts, one of which is popular, in 4 and in 16 steps"},
        {"cortado overlap --gemm 16384x3584x8192 --collective all-gather --dependent --schedule auto -o best.json",
         "the schedule that is predicted to be fastest, number of steps included, against one after the other"},
        {"cortado overlap --gemm 8192x4256x1064 --dtype fp16 --collective reduce-scatter --dependent --schedule "
         "t3,t3-mca,sequential,ideal --machine t3-ring-16",
         "hardware that tracks stores and adds in memory"},
        {"cortado overlap --gemm 8192x8192x3584 --collective reduce-scatter --dependent --schedule systems --machine "
         "mi300x-8+t3",
         "every system in one table"},
        {"cortado overlap --gemm 4096x4096x4096 --collective all-gather --bytes 64MiB --independent --objective energy",
         "the policy that takes the least energy"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--gemm", gemm_,
                   "The product of every GPU, C = A B: rows of A x columns of B x columns of A. N is what one GPU "
                   "computes; with --dependent M are the rows of all GPUs together, before a reduce-scatter of each")
        ->required()
        ->type_name("MxNxK");
    app.add_option("--dtype", dtype_, "Its element type: fp32, fp16, bf16, fp8")
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_option("--collective", collective_, "Which one (cortado list collectives)")->required()->type_name("NAME");
    app.add_flag("--independent", independent_, "Neither needs what the other makes");
    app.add_flag("--dependent", dependent_,
                 "The product multiplies what the collective brings, all-gather or all-to-all, or the collective takes "
                 "away what the product makes, reduce-scatter or all-to-all (--product-first)");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    add_number(app, "--ranks", ranks_, "GPUs that take part (default: all of the machine)", {.least = 2})
        ->type_name("N");
    of_independent_ = {
        app.add_option("--bytes", bytes_,
                       "--independent: size of the collective's whole buffer, as nccl-tests count it: 64KiB, 896MiB")
            ->type_name("SIZE"),
        app.add_flag("--leave-own-block", leave_own_block_,
                     "--independent all-to-all: a rank's block for itself stays where it is"),
        app.add_option("--policy", policies_,
                       "--independent: policies separated by commas (cortado list policies), or all")
            ->type_name("NAMES")
            ->capture_default_str(),
        add_number(app, "--cus-gemm", gemm_units_,
                   "--independent: compute units of the product in every policy but serial, against which all are "
                   "measured",
                   {.least = 1})
            ->type_name("N"),
        add_number(app, "--cus-comm", comm_units_,
                   "--independent: compute units of a collective that runs on them, in every policy but serial",
                   {.least = 1})
            ->type_name("N")};
    of_dependent_ = {
        app.add_option(
               "--schedule", schedules_,
               "--dependent: schedules separated by commas (cortado list schedules), NAME/8 in 8 steps, auto, or "
               "all (default: serial, shard-p2p and the published ones). Of what takes a product away also "
               "sequential, t3, t3-mca, ficco, c3, ideal and ideal-rs+nmc, or systems for all of these")
            ->type_name("NAMES"),
        add_number(app, "--pieces", pieces_, "t3: pieces of a chunk that travel when each is complete", {.least = 1})
            ->type_name("N")};
    dependence_.add_to(app, "--dependent");
    of_dependent_.insert(of_dependent_.end(), dependence_.options().begin(), dependence_.options().end());
    app.add_option(
           "--objective", objective_,
           "What the way to use is chosen by: time, energy, or edp (their product); the last two among all that "
           "was simulated, while what auto, ficco and t3 leave open is still searched by time")
        ->type_name("NAME")
        ->capture_default_str();
    place_.add_to(app);
    iterations_option_ = add_number(app, "--iters,--iterations", iterations_,
                                    "Measured iterations of each way, in three rounds", {.least = 1})
                             ->type_name("N")
                             ->capture_default_str();
    app.add_option("--trace", trace_, "Write a Perfetto trace of the way to use")->type_name("FILE");
    app.add_option("-o,--output", output_, "Write the program of the way to use")->type_name("FILE");
    app.add_flag("--json", json_, "JSON instead of the table");
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(check_kind());
    if (ranks_ && *ranks_ == 0) {
      return fail("usage.ranks", "0 ranks asked for", "give --ranks 2 or more, or leave it out");
    }
    CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(dtype_));
    CORTADO_ASSIGN_OR_RETURN(const GemmShape gemm, parse_shape(gemm_, dtype));
    return independent_ ? run_independent(console, gemm) : run_dependent(console, gemm);
  }

 private:
  static constexpr std::uint32_t kWarmup = 2;

  /// Exactly one of the two, with no option of the other.
  Status check_kind() const {
    if (independent_ == dependent_) {
      return fail("usage.dependence",
                  independent_ ? "--independent and --dependent exclude each other"
                               : "it is not said whether one needs what the other makes",
                  "give --independent if neither needs what the other makes, --dependent if one does");
    }
    for (const CLI::Option* option : independent_ ? of_dependent_ : of_independent_) {
      if (option->count() == 0) continue;
      return fail("usage.option",
                  fmt::format("{} is for --{}", option->get_name(), independent_ ? "dependent" : "independent"),
                  "leave it out");
    }
    if (independent_ && bytes_.empty()) {
      return fail("usage.size", "--bytes is missing: how much the independent collective moves",
                  "give the size of its whole buffer: --bytes 64MiB");
    }
    return {};
  }

  Result<Exit> run_independent(Console& console, const GemmShape& gemm) {
    OverlapRequest request;
    request.gemm = gemm;
    CORTADO_ASSIGN_OR_RETURN(request.collective.collective, find_collective(collective_));
    CORTADO_ASSIGN_OR_RETURN(request.collective.bytes, parse_bytes(bytes_));
    request.collective.ranks = ranks_.value_or(0);
    request.collective.in_place = default_in_place(request.collective.collective, request.collective.variant);
    request.collective.own_block = !leave_own_block_;
    pipeline::OverlapOptions options;
    CORTADO_ASSIGN_OR_RETURN(options.objective, objective());
    CORTADO_ASSIGN_OR_RETURN(const Place place, this->place());
    if (policies_ != kAllPolicies) options.policies = split_names(policies_);
    options.gemm_units = gemm_units_;
    options.comm_units = comm_units_;
    watch(console, options);
    const auto report = place.driver ? pipeline::run_overlap(request, place.machine, *place.driver, settings(), options)
                                     : pipeline::simulate_overlap(request, place.machine, options);
    return finish(
        console, place, report, json_ ? report::overlap_json : report::overlap_text,
        [&](const pipeline::OverlapReport& done) { return plan_overlap(done.request, done.chosen(), place.machine); });
  }

  /// Whether what was asked for is compared with other systems than FiCCO.
  bool asks_for_systems() const {
    if (!schedules_) return collective_ == "all-reduce";
    const auto names = split_names(*schedules_);
    return *schedules_ == kAllSystems || std::ranges::any_of(names, pipeline::is_fused_way);
  }

  Result<Exit> run_fused(Console& console, const GemmShape& gemm) {
    const bool either = collective_ == "all-gather" || collective_ == "all-to-all";
    if (either && !dependence_.product_first()) {
      return fail("usage.dependence",
                  fmt::format("{} is a way to take a product away, but {} brings here what is multiplied",
                              schedules_.value_or(kAllSystems), collective_),
                  "give --product-first, or schedules of FiCCO (cortado list schedules)");
    }
    for (const CLI::Option* option : dependence_.options()) {
      if (option->count() == 0 || option->get_name() == "--product-first") continue;
      return fail("usage.option", fmt::format("{} is for schedules of FiCCO alone", option->get_name()),
                  "leave it out, or ask for those schedules only");
    }
    if (pieces_ && *pieces_ == 0) return fail("usage.pieces", "--pieces 0 cuts nothing", "give 1 or more");
    if (collective_ == "all-reduce" && (trace_ || output_)) {
      return fail("usage.option",
                  "an all-reduce is a program that overlaps and an all-gather behind it: not one program",
                  "give --collective reduce-scatter for -o and --trace");
    }
    pipeline::FusedOptions options;
    CORTADO_ASSIGN_OR_RETURN(options.objective, objective());
    CORTADO_ASSIGN_OR_RETURN(Place place, this->place());
    CORTADO_ASSIGN_OR_RETURN(pipeline::FusedRequest request,
                             fused_request(gemm, collective_, ranks_.value_or(place.machine.gpus)));
    request.pieces = pieces_.value_or(0);
    if (schedules_ && *schedules_ != kAllSystems) options.ways = split_names(*schedules_);
    watch(console, options);
    const auto report = place.driver ? pipeline::run_fused(request, place.machine, *place.driver, settings(), options)
                                     : pipeline::simulate_fused(request, place.machine, options);
    const std::string way = report ? pipeline::best_program(*report) : "";
    if (const auto policy = pipeline::policy_of(way, place.machine)) {  // so that the trace is that of the row
      place.machine.timing->memory.arbitration->policy = *policy;
    }
    return finish(
        console, place, report, json_ ? report::fused_json : report::fused_text,
        [&](const pipeline::FusedReport& done) { return pipeline::plan_fused(done.request, way, place.machine); });
  }

  Result<Exit> run_dependent(Console& console, const GemmShape& gemm) {
    if (asks_for_systems()) return run_fused(console, gemm);
    if (pieces_) return fail("usage.option", "--pieces is for t3", "leave it out, or give --schedule t3");
    pipeline::DependentOptions options;
    CORTADO_ASSIGN_OR_RETURN(options.objective, objective());
    CORTADO_ASSIGN_OR_RETURN(options.chunks, dependence_.chunks());
    options.means = dependence_.means();
    CORTADO_ASSIGN_OR_RETURN(options.exchange, dependence_.exchange());
    CORTADO_ASSIGN_OR_RETURN(const Place place, this->place());
    CORTADO_ASSIGN_OR_RETURN(const DependentRequest request,
                             dependence_.request(collective_, gemm, ranks_.value_or(place.machine.gpus)));
    if (schedules_ == kAllSchedules) {
      for (const FiccoScheduleInfo& info : list_schedules()) options.schedules.push_back(info.name);
    } else if (schedules_) {
      options.schedules = split_names(*schedules_);
    }
    options.contention = true;
    watch(console, options);
    const auto report = place.driver
                            ? pipeline::run_dependent(request, place.machine, *place.driver, settings(), options)
                            : pipeline::simulate_dependent(request, place.machine, options);
    return finish(console, place, report, json_ ? report::dependent_json : report::dependent_text,
                  [&](const pipeline::DependentReport& done) -> Result<Program> {
                    CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(done.request, done.chosen(), place.machine));
                    return std::move(plan.program);
                  });
  }

  Result<report::Objective> objective() const {
    if (const auto known = report::find_objective(objective_)) return *known;
    std::vector<std::string> names;
    for (const auto& [name, objective] : report::kObjectives) names.emplace_back(name);
    return fail("usage.objective", fmt::format("--objective {} is not known", objective_),
                fmt::format("give {}", join(names, " or ")));
  }

  /// Where it is run.
  struct Place {
    Machine machine;
    std::unique_ptr<device::Driver> driver;  ///< none: simulated
  };

  Result<Place> place() const {
    if (trace_) CORTADO_RETURN_IF_ERROR(check_output_path(*trace_, {machine_, output_.value_or("")}));
    if (output_) CORTADO_RETURN_IF_ERROR(check_output_path(*output_, {machine_}));
    if (iterations_ == 0) return fail("usage.iters", "--iters 0 measures nothing", "give 1 or more");
    Place place;
    CORTADO_ASSIGN_OR_RETURN(place.machine, load_machine(machine_));
    if (place_.simulated()) {
      CORTADO_RETURN_IF_ERROR(place_.check_for_simulator());
      if (iterations_option_->count() > 0) {
        return fail("usage.option", "--iters is for devices: a simulated run is the same every time", "leave it out");
      }
    } else {
      CORTADO_ASSIGN_OR_RETURN(const auto device, place_.request(ranks_.value_or(place.machine.gpus), place.machine));
      CORTADO_ASSIGN_OR_RETURN(place.driver, pipeline::open_device(device, place.machine));
    }
    return place;
  }

  template <class Options>
  static void watch(Console& console, Options& options) {
    options.threads = available_cores();
    options.progress = [&console](std::size_t done, std::size_t of) {
      console.progress(fmt::format("{} of {}", done, of));
      return !interrupted();
    };
    watch_for_interrupt();
  }

  /// Prints the report and writes the program of its choice.
  template <class Report, class Plan>
  Result<Exit> finish(Console& console, const Place& place, const pipeline::Outcome<Report>& report, auto&& text,
                      Plan&& plan) const {
    console.clear_progress();
    if (!report && interrupted()) {
      console.talk("interrupted before all was timed: there is nothing to compare");
      return Exit::interrupted;
    }
    if (!report) return console.failure(report.error());
    console.out(text(*report));
    if (trace_ || output_) {
      const auto written = write_program(plan(*report), place.machine, place.driver.get());
      if (!written) return console.failure(written.error());
    }
    for (const auto& row : report->rows) {
      if (row.wrong.value_or(0) > 0) return Exit::failed;
    }
    return Exit::ok;
  }

  pipeline::RunSettings settings() const {
    pipeline::RunSettings settings;
    settings.run = place_.run_options();
    settings.run.iterations = iterations_;
    settings.run.check = device::CheckOutputs::last;
    settings.run.stop = interrupted;
    settings.warmup = kWarmup;
    return settings;
  }

  /// The program of the choice, and its trace, predicted or measured.
  pipeline::Outcome<void> write_program(Result<Program> program, const Machine& machine, device::Driver* driver) const {
    using pipeline::fail_at;
    using pipeline::Stage;
    if (!program) return fail_at(Stage::plan, program.error());
    if (output_) {
      if (const Status written = write_file(*output_, to_json(*program)); !written) {
        return fail_at(Stage::prepare, written.error());
      }
    }
    if (!trace_) return {};
    const auto trace = driver != nullptr ? measured_trace(*std::move(program), machine, *driver)
                                         : predicted_trace(*std::move(program), machine);
    if (!trace) return tl::unexpected(trace.error());
    if (const Status written = write_file(*trace_, *trace); !written) return fail_at(Stage::prepare, written.error());
    return {};
  }

  static pipeline::Outcome<std::string> predicted_trace(Program program, const Machine& machine) {
    const auto simulated = pipeline::simulate_traced(std::move(program), machine);
    if (!simulated) return tl::unexpected(simulated.error());
    return report::perfetto_trace(simulated->simulated.timeline, simulated->program.program());
  }

  pipeline::Outcome<std::string> measured_trace(Program program, const Machine& machine, device::Driver& driver) const {
    pipeline::RunSettings traced = settings();
    traced.prepare.trace = true;
    const auto run = pipeline::run_program(std::move(program), machine, driver, traced);
    if (!run) return tl::unexpected(run.error());
    return report::perfetto_trace(run->result.timeline, run->program.program());
  }

  std::string gemm_;
  std::string dtype_ = "bf16";
  std::string collective_;
  std::string bytes_;
  bool independent_ = false;
  bool dependent_ = false;
  bool leave_own_block_ = false;
  std::string machine_ = kDefaultMachine;
  std::optional<std::uint32_t> ranks_;
  std::string policies_ = kAllPolicies;
  std::optional<std::uint32_t> gemm_units_;
  std::optional<std::uint32_t> comm_units_;
  std::optional<std::string> schedules_;
  DependenceOptions dependence_;
  std::optional<std::uint64_t> pieces_;
  std::string objective_ = std::string(name_of(report::Objective::time));
  std::vector<const CLI::Option*> of_independent_;
  std::vector<const CLI::Option*> of_dependent_;
  DeviceOptions place_{Places::devices_and_simulator, pipeline::kSimulator.name};
  const CLI::Option* iterations_option_ = nullptr;
  std::uint32_t iterations_ = 10;
  std::optional<std::string> trace_;
  std::optional<std::string> output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_overlap() {
  return std::make_unique<OverlapCommand>();
}

}  // namespace cortado::cli
