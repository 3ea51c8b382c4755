// cortado compare: a measured run beside the simulated one.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/bench.hpp"
#include "cortado/pipeline/calibrate.hpp"
#include "cortado/pipeline/compare.hpp"
#include "cortado/report/bandwidth.hpp"
#include "cortado/report/trace.hpp"
#include "cortado/sim/simulate.hpp"
#include "cortado/target/target.hpp"

#include "grid_options.hpp"
#include "interrupt.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "program_input.hpp"
#include "subcommand.hpp"
#include "table_options.hpp"
#include "task.hpp"

namespace cortado::cli {
namespace {

/// One row, before it is run.
struct Point {
  std::string what;  ///< name of a program, or variant of a collective
  std::optional<CollectiveRequest> request;
  VerifiedProgram program;
};

class CompareCommand : public Subcommand {
 public:
  std::string_view name() const override { return "compare"; }
  std::string_view description() const override { return "Lay a measured run beside the simulated one"; }
  std::vector<Example> examples() const override {
    return {
        {"cortado compare all-gather --bytes 64KiB:256KiB --machine here.toml", "here.toml is from cortado calibrate"},
        {"cortado compare ag.json --on soft,sim --machine here.toml --trace both.json", "both timelines in one trace"},
        {"cortado compare all-to-all --variant swap --bytes 64KiB --machine here.toml --json", "rows for a script"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("what", what_, "Program file (- for standard input) or a collective")->required()->type_name("");
    app.add_option("--on", on_, "A device and sim, separated by a comma")->type_name("PLACES")->capture_default_str();
    app.add_option("--machine", machine_,
                   "Machine file of this computer (cortado calibrate); without it, it is calibrated first")
        ->type_name("NAME");
    grid_.add_to(app);
    add_number(app, "--iters", iterations_, "Measured iterations; their median counts", {.least = 1})
        ->type_name("N")
        ->capture_default_str();
    add_number(app, "--warmup", warmup_, "Iterations before")->type_name("N")->capture_default_str();
    add_number(app, "--workers", workers_, "soft: threads beside the caller's (default: cores - 1)")->type_name("N");
    app.add_option("--trace", trace_, "Write both timelines of the last row as one Perfetto trace")->type_name("FILE");
    table_.add_to(app);
  }

  Result<Exit> run(Console& console) override {
    if (iterations_ == 0) return fail("usage.iters", "--iters 0 measures nothing", "give 1 or more");
    if (trace_) CORTADO_RETURN_IF_ERROR(check_output_path(*trace_, {what_, machine_.value_or("")}));
    CORTADO_ASSIGN_OR_RETURN(const std::string device, device_name());
    CORTADO_ASSIGN_OR_RETURN(const bool collective, names_collective(what_, grid_.first_given()));
    std::optional<Program> program;
    if (!collective) {
      CORTADO_ASSIGN_OR_RETURN(program, load_program(what_));
    }
    const std::string base = machine_.value_or(program ? program->machine : kDefaultMachine);
    CORTADO_ASSIGN_OR_RETURN(Machine machine, load_machine(base));
    if (program) CORTADO_RETURN_IF_ERROR(check_ranks(*program, machine, what_));
    pipeline::BenchRequest request;
    if (!program) CORTADO_RETURN_IF_ERROR(grid_.fill(what_, request));
    watch_for_interrupt();
    if (!machine_) {
      console.talk(fmt::format("no --machine given: calibrating this computer in the shape of {} first", base));
      const auto calibrated = calibrate(console, machine);
      if (!calibrated && interrupted()) {
        console.talk("interrupted while calibrating");
        return Exit::interrupted;
      }
      if (!calibrated) return console.failure(calibrated.error());
      machine = *calibrated;
    }
    CORTADO_RETURN_IF_ERROR(sim::check_timing(machine));
    if (device == "soft") CORTADO_RETURN_IF_ERROR(pipeline::check_calibrated(machine));
    const auto points = plan(console, std::move(program), request, machine);
    if (!points) return console.failure(points.error());

    TargetRequest request_of_device{device, points->front().program.program().ranks, {}};
    request_of_device.soft.workers = workers_;
    CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request_of_device, machine));
    return compare(console, *points, *target, machine);
  }

 private:
  /// The device of --on, which names it and the simulator.
  Result<std::string> device_name() const {
    const std::size_t comma = on_.find(',');
    const std::string first = on_.substr(0, comma);
    const std::string second = comma == std::string::npos ? "" : on_.substr(comma + 1);
    if ((first == "sim") == (second == "sim") || first.empty() || second.empty()) {
      return fail("usage.on", fmt::format("--on {}: one device and the simulator are compared", on_), "give soft,sim");
    }
    return first == "sim" ? second : first;
  }

  Outcome<Machine> calibrate(Console& console, const Machine& base) const {
    pipeline::CalibrateOptions options;
    options.workers = workers_;
    options.progress = [&console](std::uint32_t done, std::uint32_t of) {
      console.progress(fmt::format("calibrating: {} of {}", done, of));
      return !interrupted();
    };
    auto machine = pipeline::calibrate(base, options);
    console.clear_progress();
    return machine;
  }

  static Outcome<std::vector<Point>> plan(Console& console, std::optional<Program> program,
                                          const pipeline::BenchRequest& request, const Machine& machine) {
    std::vector<Point> points;
    if (program) {
      std::string name = program->name;
      auto verified = verify(*std::move(program), machine);
      if (!verified) return fail_at(Stage::verify, verified.error());
      points.push_back({std::move(name), {}, *std::move(verified)});
      return points;
    }
    pipeline::Chooser chooser(machine, {});  // nothing is kept: the machine may have been calibrated just now
    auto swept = pipeline::plan_bench(request, machine, {}, &chooser);
    if (!swept) return tl::unexpected(swept.error());
    for (const report::SkippedRow& row : swept->skipped) {
      console.talk(fmt::format("skipped {} {}: {} (hint: {})", format_bytes(row.bytes), row.variant, row.reason.message,
                               row.reason.hint));
    }
    for (pipeline::BenchPoint& point : swept->points) {
      points.push_back({point.label, point.request, std::move(point.program)});
    }
    return points;
  }

  Result<Exit> compare(Console& console, const std::vector<Point>& points, Target& device,
                       const Machine& machine) const {
    report::TextOptions text = table_.text();
    text.mark_heading = true;
    pipeline::ComparedReport report{what_, device.where(), machine.name, iterations_, false, {}};
    const report::Document empty = pipeline::compare_document(report);
    const report::TableLines lines(empty.tables.front(), text);
    if (!table_.json()) console.out(report::comment_lines({empty.title}, text) + lines.heading());
    Exit exit = Exit::ok;
    for (const Point& point : points) {
      if (interrupted() || console.reader_gone()) break;
      console.progress(fmt::format("{} of {}", report.rows.size() + 1, points.size()));
      auto times = pipeline::compare_verified(point.program, device, {.iterations = iterations_, .warmup = warmup_});
      console.clear_progress();
      if (!times) return console.failure(times.error());
      if (times->wrong_bytes > 0) {
        exit = Exit::failed;
        console.talk(fmt::format("{}: {} output bytes are not what the contract says", point.what, times->wrong_bytes));
      }
      report.rows.push_back({point.what, bytes_of(point),
                             point.request ? std::optional(point.request->prelaunch) : std::nullopt,
                             *std::move(times)});
      if (!table_.json()) console.out(lines.line(pipeline::compare_document(report).tables.front().rows.back()));
    }
    report.interrupted = interrupted();
    if (report.interrupted) {
      console.talk(fmt::format("interrupted: {} of {} rows are done", report.rows.size(), points.size()));
    }
    if (report.rows.empty()) return Exit::interrupted;
    if (trace_) {
      const auto traced = trace(points[report.rows.size() - 1], device);
      if (!traced) return console.failure(traced.error());
      CORTADO_RETURN_IF_ERROR(write_file(*trace_, *traced));
    }
    const report::Document document = pipeline::compare_document(report);
    console.out(table_.json() ? report::to_json(document) : report::comment_lines(document.notes, text));
    return report.interrupted ? Exit::interrupted : exit;
  }

  /// Times of a traced run are longer, so it is a run of its own.
  Outcome<std::string> trace(const Point& point, Target& device) const {
    const auto times = pipeline::compare_verified(point.program, device,
                                                  {.iterations = iterations_, .warmup = warmup_, .trace = true});
    if (!times) return tl::unexpected(times.error());
    return report::side_by_side_trace(*times->measured_timeline, *times->simulated_timeline, point.program.program());
  }

  static Bytes bytes_of(const Point& point) {
    return point.request ? point.request->bytes : report::whole_buffer(point.program.program());
  }

  std::string what_;
  std::string on_ = "soft,sim";
  std::optional<std::string> machine_;
  GridOptions grid_{"64KiB:1MiB"};
  std::uint32_t iterations_ = 20;
  std::uint32_t warmup_ = 5;
  std::optional<std::uint32_t> workers_;
  std::optional<std::string> trace_;
  TableOptions table_;
};

}  // namespace

std::unique_ptr<Subcommand> make_compare() {
  return std::make_unique<CompareCommand>();
}

}  // namespace cortado::cli
