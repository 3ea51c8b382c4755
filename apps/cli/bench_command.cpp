// cortado bench: a sweep in the style of nccl-tests, the phases of one copy, or GEMMs alone.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cortado/target.hpp"

#include "base/text.hpp"
#include "collective_request.hpp"
#include "command.hpp"
#include "pipeline/bench.hpp"
#include "pipeline/breakdown.hpp"
#include "pipeline/explain.hpp"
#include "pipeline/feature_gains.hpp"
#include "reproduce/evidence.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kBenchExamples[] = {
    {"cortado bench all-gather --on soft --variant all --sizes 1KiB:8KiB", "all variants, at doubling sizes"},
    {"cortado bench all-gather --on sim --machine mi300x-8 --sizes 1KiB:8KiB", "predict the times on 8 MI300X"},
    {"cortado bench all-to-all --variant swap,b2b --sizes 64KiB,256KiB --prelaunch --json",
     "two variants, prelaunched, as JSON for a script"},
    {"cortado bench all-gather --sizes 1KiB:4KiB --iters 50 --csv ag.csv", "also write a CSV file for a spreadsheet"},
    {"cortado bench all-gather --on sim --sizes 1KiB:64MiB --html ag.html",
     "also write a page with the bandwidths as a chart"},
    {"cortado bench all-gather --sizes 1KiB:1MiB --explain", "what auto picks at each size, and why"},
    {"cortado bench copy --phases --on sim", "predict where the time of one copy between two GPUs goes"},
    {"cortado bench copy --phases --sizes 4KiB:1MiB", "the same, measured on the embedded node"},
    {"cortado bench gemm --shapes 4096x4096x4096,16x7168x2048 --machine h100-8",
     "GEMMs on their own, predicted by the model"},
    {"cortado bench features", "what future features of DMA engines would gain"},
    {"cortado bench host-copy --on sim --machine h100-8 --sizes 32KiB,2MiB",
     "copies of blocks to and from host memory"},
    {"cortado bench gemm --shapes 8192x8192x8192 --cus 128", "a GEMM on some of the CUs"}};

constexpr std::string_view kSizesOfSweep = "1KiB:1MiB";
constexpr std::string_view kSizesOfCopy = "1KiB:64MiB";

/// For the phases of a measured copy; a trace keeps the last 16 iterations.
constexpr std::uint32_t kTracedIterations = 16;
constexpr std::uint32_t kTracedWarmup = 5;

class Sweep {
 public:
  Sweep(const Arguments& arguments, Console& console) : arguments_(arguments), console_(console), table_(arguments) {}

  Result<Exit> run() {
    const std::string collective = arguments_.text("what");
    CORTADO_ASSIGN_OR_RETURN(request_, sweep_request(arguments_, collective, arguments_.text("--variant"),
                                                     arguments_.find("--sizes").value_or(std::string(kSizesOfSweep))));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_with_features(arguments_));
    CORTADO_RETURN_IF_ERROR(table_.check({arguments_.text("--machine")}));
    watch_for_interrupt();
    pipeline::Chooser chooser(machine, chooser_options(arguments_));
    if (arguments_.given("--explain")) return explain(machine, chooser);
    const bool simulated = arguments_.text("--on") == kSimulator;
    if (simulated) tell_what_is_borrowed(machine, console_);
    request_.iterations = arguments_.number("--iters").value_or(simulated ? 1 : request_.iterations);
    request_.warmup = simulated ? 0 : *arguments_.number("--warmup");
    const auto go_on = [this](std::size_t done, std::size_t of) {
      console_.progress(fmt::format("planning {} of {}", done + 1, of));
      return !interrupted();
    };
    const auto plan = pipeline::plan_bench(request_, machine, go_on, &chooser);
    if (!plan) return study_failure(console_, plan.error());
    console_.clear_progress();
    keep_times(chooser, console_);
    const std::uint32_t ranks = plan->points.front().program.program().ranks;
    CORTADO_ASSIGN_OR_RETURN(const auto request, target_request(arguments_, arguments_.text("--on"), ranks, machine));
    CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request, machine));
    pipeline::PointRunner runner(*plan, request_, *target, device_run_options(arguments_), threads_of(arguments_));

    report_.header = {collective,      machine.name,        ranks, target->where(), target->predicts(),
                      request_.warmup, request_.iterations, {}};
    const bool single = request_.base.host != HostThreads::per_rank && !machine.spans_hosts(ranks);
    report_.header.threads =
        single && request_.base.runtime == RuntimeMode::raw ? "one host thread" : "one host thread per GPU";
    if (arguments_.given("--runtime") && single) {
      report_.header.hosts =
          request_.base.runtime == RuntimeMode::raw
              ? "raw: one host thread submits to the engines of all GPUs; the other modes use one thread per GPU. "
                "Compare with --hosts per-rank"
              : "one host thread per GPU; raw uses one thread for all GPUs unless --hosts per-rank is given";
    }
    for (const pipeline::BenchPoint& point : plan->points) {
      report_.header.variant_width = std::max(report_.header.variant_width, point.label.size());
    }
    report_.skipped = plan->skipped;
    const Exit exit = run_points(*plan, runner);
    const report::Document document = report::bench_document(report_);
    if (table_.json()) console_.out(report::to_json(document));
    CORTADO_RETURN_IF_ERROR(table_.write_files(document));
    return exit;
  }

 private:
  /// What auto chooses at every size of the sweep.
  Result<Exit> explain(const Machine& machine, pipeline::Chooser& chooser) {
    std::ranges::sort(request_.sizes);
    const auto evidence = pipeline::collective_evidence(request_.base.collective, machine);
    if (!evidence) return console_.failure(evidence.error());
    std::vector<pipeline::Explanation> by_size;
    for (const Bytes size : request_.sizes) {
      if (interrupted()) break;
      console_.progress(fmt::format("{} of {}: {}", by_size.size() + 1, request_.sizes.size(), format_bytes(size)));
      CollectiveRequest asked = request_.base;
      asked.variant = kAutoVariant;
      asked.bytes = size;
      asked.prelaunch = request_.prelaunch.back();
      CORTADO_ASSIGN_OR_RETURN(by_size.emplace_back(), pipeline::explain(choice_request(arguments_, asked), machine,
                                                                         chooser, request_.sizes, *evidence));
    }
    console_.clear_progress();
    keep_times(chooser, console_);
    const std::string collective = arguments_.text("what");
    report::Document document = pipeline::explain_sizes_document(by_size, collective);
    document.about.emplace_back(request_.prelaunch.back()
                                    ? "prelaunched variants are included; --no-prelaunch leaves them out"
                                    : "prelaunched variants are left out because of --no-prelaunch");
    CORTADO_RETURN_IF_ERROR(table_.show(console_, document));
    return interrupted() ? Exit::interrupted : Exit::ok;
  }

  /// A planner was named, but there is no row of it.
  bool planner_failed(const pipeline::BenchPlan& plan) const {
    return !request_.planner.empty() && std::ranges::none_of(plan.points, [&](const pipeline::BenchPoint& point) {
      return point.request.variant == request_.planner;
    });
  }

  /// Shows each row when it is ready, and keeps it in report_.
  Exit run_points(const pipeline::BenchPlan& plan, pipeline::PointRunner& runner) {
    if (!table_.json()) console_.out(report::bench_heading(report_.header, table_.text()));
    Exit exit = Exit::ok;
    for (std::size_t i = 0; i < plan.points.size(); ++i) {
      if (interrupted() || (console_.reader_gone() && !table_.wants_files())) break;
      const CollectiveRequest& point = plan.points[i].request;
      console_.progress(fmt::format("{} of {}: {} {}{}", i + 1, plan.points.size(), format_bytes(point.bytes),
                                    plan.points[i].label, point.prelaunch ? " prelaunch" : ""));
      const auto row = runner.run(i);
      console_.clear_progress();
      if (!row && row.error().errors.front().about ==
                      About::machine) {  // a device with engines only: continue with those variants
        report_.skipped.push_back({point.bytes, point.variant, point.prelaunch, row.error().errors.front()});
        continue;
      }
      if (!row) return console_.failure(row.error());
      if (!table_.json()) console_.out(report::bench_line(report_.header, *row, table_.text()));
      if (row->wrong.value_or(0) > 0) exit = Exit::failed;
      report_.rows.push_back(*row);
    }
    if (!table_.json()) console_.out(report::bench_notes(report_, table_.text()));
    if (!interrupted()) return planner_failed(plan) ? Exit::failed : exit;
    report_.interrupted = true;
    console_.talk(fmt::format("interrupted: {} of {} rows are done", report_.rows.size(), plan.points.size()));
    return Exit::interrupted;
  }

  const Arguments& arguments_;
  Console& console_;
  TableOutput table_;
  pipeline::BenchRequest request_;
  report::BenchReport report_;
};

/// Where the time of one copy goes, size by size.
Result<Exit> run_phases(const Arguments& arguments, Console& console) {
  const TableOutput table(arguments);
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes,
                           parse_sizes(arguments.find("--sizes").value_or(std::string(kSizesOfCopy))));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_with_features(arguments));
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine")}));
  CORTADO_ASSIGN_OR_RETURN(const auto request, target_request(arguments, arguments.text("--on"), 2, machine));
  CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request, machine));
  RunOptions options{.device = device_run_options(arguments)};
  if (!target->predicts()) {
    options.iterations = kTracedIterations;
    options.warmup = kTracedWarmup;
  }
  watch_for_interrupt();
  pipeline::Breakdown breakdown{machine.name,
                                target->predicts() ? machine.name : target->where(),
                                target->predicts(),
                                kTracedWarmup,
                                kTracedIterations,
                                false,
                                {}};
  for (const Bytes bytes : sizes) {
    if (interrupted()) break;
    console.progress(fmt::format("{} of {}: {}", breakdown.rows.size() + 1, sizes.size(), format_bytes(bytes)));
    const auto phases = pipeline::copy_phases(bytes, machine, *target, options);
    console.clear_progress();
    if (!phases) return console.failure(phases.error());
    breakdown.rows.push_back({bytes, *phases});
  }
  breakdown.interrupted = breakdown.rows.size() < sizes.size();
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::breakdown_document(breakdown)));
  if (!breakdown.interrupted) return Exit::ok;
  console.talk(fmt::format("interrupted: {} of {} rows are done", breakdown.rows.size(), sizes.size()));
  return Exit::interrupted;
}

/// GEMMs are predicted unless a device is requested.
std::string_view place_of(const Arguments& arguments, bool gemms) {
  return target_mode(gemms && !arguments.given("--on") ? std::string(kSimulator) : arguments.text("--on"));
}

/// What features of DMA engines would gain; all that the machine lacks unless --with names some.
Result<Exit> bench_features(const Arguments& arguments, Console& console) {
  const TableOutput table(arguments);
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine")}));
  if (arguments.given("--on") && arguments.text("--on") != kSimulator) {
    return fail("usage.option", "features that no machine has can only be predicted", "drop --on, or use --on sim");
  }
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(arguments.text("--machine")));
  std::vector<std::string> features;
  if (arguments.given("--with")) {
    features = arguments.names("--with");
  } else {
    features = pipeline::lacking_features(machine);
  }
  if (features.empty()) {
    const auto known = pipeline::engine_features();
    return fail("what-if.feature", fmt::format("{} already has all features of DMA engines", machine.name),
                fmt::format("use a machine that lacks one of {}", fmt::join(known, ", ")));
  }
  const auto gains = pipeline::feature_gains(machine, features);
  if (!gains) return console.failure(gains.error());
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::feature_gains_document(*gains)));
  return Exit::ok;
}

Result<Exit> run_bench(const Arguments& arguments, Console& console) {
  const bool gemms = arguments.text("what") == "gemm";
  const bool copy = arguments.text("what") == "copy";
  const bool hosts = arguments.text("what") == "host-copy";
  const bool features = arguments.text("what") == "features";
  std::vector<std::string_view> modes{gemms      ? "gemms"
                                      : copy     ? "phases"
                                      : hosts    ? "hosts"
                                      : features ? "features"
                                                 : "alone"};
  if (arguments.given("--explain")) {
    modes.insert(modes.end(), {"explain", "auto"});
  } else {
    modes.push_back(place_of(arguments, gemms || features));
    if (leaves_open(arguments.text("--variant"))) modes.push_back("auto");
  }
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  if (gemms) return bench_gemm(arguments, console);
  if (hosts) return bench_host_copies(arguments, console);
  if (features) return bench_features(arguments, console);
  if (!copy) return Sweep(arguments, console).run();
  if (!arguments.given("--phases")) {
    return fail("usage.option", "bench copy only breaks a copy down into phases",
                "pass --phases, or use bench point-to-point");
  }
  return run_phases(arguments, console);
}

}  // namespace

constinit const Subcommand kBenchCommand{
    "bench", "Measure or predict a collective by variant and size, the phases of a copy, or GEMMs", kBenchExamples,
    run_bench};

}  // namespace cortado::cli
