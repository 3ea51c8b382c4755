// cortado run --on soft,sim: a measured run next to the simulated one.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/report.hpp"
#include "cortado/timeline.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "collective_request.hpp"
#include "flags.hpp"
#include "pipeline/calibrate.hpp"
#include "pipeline/compare.hpp"
#include "program_input.hpp"
#include "sim/gpu/simulate.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"
#include "task.hpp"

namespace cortado::cli {
namespace {

constexpr std::uint32_t kIterationsOfBoth = 20;
constexpr std::string_view kSizesOfBoth = "64KiB:1MiB";

/// One row, before it is run.
struct Point {
  std::string what;  ///< name of a program, or variant of a collective
  std::optional<CollectiveRequest> request;
  VerifiedProgram program;
};

class RunBoth {
 public:
  RunBoth(const Arguments& arguments, TaskKind kind, std::string device, Console& console)
      : arguments_(arguments), kind_(kind), device_(std::move(device)), console_(console), table_(arguments) {}

  Result<Exit> run() {
    const auto trace = arguments_.find("--trace");
    if (trace) CORTADO_RETURN_IF_ERROR(check_output_path(*trace, {what(), arguments_.or_empty("--machine")}));
    options_.device = device_run_options(arguments_);
    if (arguments_.given("--check")) options_.device.check = check_of(arguments_);
    options_.iterations = arguments_.number("--iters").value_or(kIterationsOfBoth);
    options_.warmup = *arguments_.number("--warmup");
    pipeline::BenchRequest sweep;
    std::optional<Program> program;
    Machine machine;
    if (kind_ == TaskKind::alone) {
      CORTADO_ASSIGN_OR_RETURN(sweep, sweep_request(arguments_, what(), arguments_.find("--variant").value_or("all"),
                                                    arguments_.find("--bytes").value_or(std::string(kSizesOfBoth))));
      CORTADO_ASSIGN_OR_RETURN(machine,
                               load_machine(arguments_.find("--machine").value_or(std::string(kDefaultMachine))));
    } else {
      auto task = load_task(arguments_, kind_, console_);
      if (!task) return console_.failure(task.error());
      program = std::move(task->program);
      machine = std::move(task->machine);
      CORTADO_RETURN_IF_ERROR(check_gemms(*program));
    }
    watch_for_interrupt();
    if (!arguments_.given("--machine")) {
      const auto calibrated = calibrate(machine);
      if (!calibrated) return study_failure(console_, calibrated.error());
      machine = *calibrated;
    }
    CORTADO_RETURN_IF_ERROR(sim::check_timing(machine));
    if (device_ == "soft") CORTADO_RETURN_IF_ERROR(pipeline::check_calibrated(machine));
    const auto points = plan(std::move(program), sweep, machine);
    if (!points) return console_.failure(points.error());
    const std::uint32_t ranks = points->front().program.program().ranks;
    CORTADO_ASSIGN_OR_RETURN(const auto request, target_request(arguments_, device_, ranks, machine));
    CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request, machine));
    return compare(*points, *target, machine);
  }

 private:
  std::string what() const { return arguments_.text("what"); }

  /// Calibration measures copies: a calibrated machine says nothing about GEMMs.
  Status check_gemms(const Program& program) const {
    const auto multiplies = [](const Queue& queue) {
      return std::ranges::any_of(queue.commands, [](const Command& c) { return std::holds_alternative<Gemm>(c); });
    };
    if (arguments_.given("--machine") || std::ranges::none_of(program.queues, multiplies)) return {};
    return fail("usage.on", "GEMMs of this computer cannot be simulated: calibration only measures copies",
                fmt::format("run it with --on {}, predict it for a modelled machine with --on sim, or pass --machine a "
                            "calibrated file that has a section [compute]",
                            device_));
  }

  Outcome<Machine> calibrate(const Machine& base) const {
    console_.talk(fmt::format("no --machine given: calibrating this computer in the shape of {} first", base.name));
    pipeline::CalibrateOptions options;
    options.workers = arguments_.number("--workers");
    options.progress = show_progress(console_, "measuring");
    auto machine = pipeline::calibrate(base, options);
    console_.clear_progress();
    return machine;
  }

  Outcome<std::vector<Point>> plan(std::optional<Program> program, const pipeline::BenchRequest& request,
                                   const Machine& machine) const {
    std::vector<Point> points;
    if (program) {
      std::string name = program->name;
      auto verified = verify(*std::move(program), machine);
      if (!verified) return fail_at(Stage::verify, verified.error());
      points.push_back({std::move(name), {}, *std::move(verified)});
      return points;
    }
    pipeline::Chooser chooser(machine, {});  // nothing is saved: the machine may just have been calibrated
    auto swept = pipeline::plan_bench(request, machine, {}, &chooser);
    if (!swept) return fail(swept.error());
    for (const report::SkippedRow& row : swept->skipped) {
      console_.talk(fmt::format("skipped {} {}: {} (hint: {})", format_bytes(row.bytes), row.variant,
                                row.reason.message, row.reason.hint));
    }
    for (pipeline::BenchPoint& point : swept->points) {
      points.push_back({point.label, point.request, std::move(point.program)});
    }
    return points;
  }

  Result<Exit> compare(const std::vector<Point>& points, Target& device, const Machine& machine) const {
    report::TextOptions text = table_.text();
    text.mark_heading = true;
    pipeline::ComparedReport report{what(), device.where(), machine.name, options_.iterations, false, {}};
    const report::Document empty = pipeline::compare_document(report);
    const report::TableLines lines(empty.tables.front(), text);
    if (!table_.json()) console_.out(report::comment_lines({empty.title}, text) + lines.heading());
    Exit exit = Exit::ok;
    for (const Point& point : points) {
      if (interrupted() || console_.reader_gone()) break;
      console_.progress(fmt::format("{} of {}", report.rows.size() + 1, points.size()));
      auto times = pipeline::compare_verified(point.program, device, options_);
      console_.clear_progress();
      if (!times) return console_.failure(times.error());
      if (times->wrong_bytes > 0) {
        exit = Exit::failed;
        console_.talk(fmt::format("{}: {} output bytes violate the contract", point.what, times->wrong_bytes));
      }
      report.rows.push_back({point.what, bytes_of(point),
                             point.request ? std::optional(point.request->prelaunch) : std::nullopt,
                             *std::move(times)});
      if (!table_.json()) console_.out(lines.line(pipeline::compare_document(report).tables.front().rows.back()));
    }
    report.interrupted = interrupted();
    if (report.interrupted) {
      console_.talk(fmt::format("interrupted: {} of {} rows are done", report.rows.size(), points.size()));
    }
    if (report.rows.empty()) return Exit::interrupted;
    if (const auto trace = arguments_.find("--trace")) {
      const auto traced = both_traces(points[report.rows.size() - 1], device);
      if (!traced) return console_.failure(traced.error());
      CORTADO_RETURN_IF_ERROR(write_file(*trace, *traced));
    }
    const report::Document document = pipeline::compare_document(report);
    console_.out(table_.json() ? report::to_json(document) : report::comment_lines(document.notes, text));
    return report.interrupted ? Exit::interrupted : exit;
  }

  /// Tracing takes time, so the traced run is a separate one.
  Outcome<std::string> both_traces(const Point& point, Target& device) const {
    RunOptions options = options_;
    options.trace = true;
    const auto times = pipeline::compare_verified(point.program, device, options);
    if (!times) return fail(times.error());
    return report::side_by_side_trace(*times->measured_timeline, *times->simulated_timeline, point.program.program());
  }

  static Bytes bytes_of(const Point& point) {
    return point.request ? point.request->bytes : whole_buffer(point.program.program());
  }

  const Arguments& arguments_;
  TaskKind kind_;
  std::string device_;
  Console& console_;
  TableOutput table_;
  RunOptions options_;
};

}  // namespace

Result<Exit> run_both(const Arguments& arguments, TaskKind kind, const std::string& device, Console& console) {
  return RunBoth(arguments, kind, device, console).run();
}

}  // namespace cortado::cli
