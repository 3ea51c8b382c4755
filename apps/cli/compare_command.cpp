// cortado compare: a measured run beside the simulated one.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/bench.hpp"
#include "cortado/pipeline/calibrate.hpp"
#include "cortado/pipeline/compare.hpp"
#include "cortado/report/bandwidth.hpp"
#include "cortado/report/energy.hpp"
#include "cortado/report/trace.hpp"
#include "cortado/sim/simulate.hpp"
#include "cortado/target/target.hpp"

#include "grid_options.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "program_input.hpp"
#include "subcommand.hpp"
#include "task.hpp"

namespace cortado::cli {
namespace {

/// One row, before it is run.
struct Point {
  std::string what;  ///< name of a program, or variant of a collective
  std::optional<CollectiveRequest> request;
  VerifiedProgram program;
};

struct ComparedRow {
  const Point* point;
  pipeline::Comparison times;
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
    app.add_flag("--json", json_, "JSON instead of the table");
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
    const std::string node = device.where();
    if (!json_) {
      console.out(fmt::format("# {}: measured on {}; simulated on {}\n", what_, node, machine.name));
      console.out(fmt::format("# {:>10}  {:<12}  {:<9}  {:>13}  {:>14}  {:>5}{}\n", "size (B)", "what", "prelaunch",
                              "measured (us)", "simulated (us)", "ratio",
                              machine.power ? fmt::format("  {:>10}  {:>9}", "energy (J)", "power (W)") : ""));
    }
    std::vector<ComparedRow> rows;
    Exit exit = Exit::ok;
    for (const Point& point : points) {
      if (interrupted() || console.reader_gone()) break;
      console.progress(fmt::format("{} of {}", rows.size() + 1, points.size()));
      auto times = pipeline::compare_verified(point.program, device, {.iterations = iterations_, .warmup = warmup_});
      console.clear_progress();
      if (!times) return console.failure(times.error());
      if (times->wrong_bytes > 0) {
        exit = Exit::failed;
        console.talk(fmt::format("{}: {} output bytes are not what the contract says", point.what, times->wrong_bytes));
      }
      rows.push_back({&point, *std::move(times)});
      if (!json_) console.out(line(rows.back()));
    }
    if (interrupted()) {
      console.talk(fmt::format("interrupted: {} of {} rows are done", rows.size(), points.size()));
    }
    if (rows.empty()) return Exit::interrupted;
    if (trace_) {
      const auto traced = trace(points[rows.size() - 1], device);
      if (!traced) return console.failure(traced.error());
      CORTADO_RETURN_IF_ERROR(write_file(*trace_, *traced));
    }
    std::vector<double> errors;
    for (const ComparedRow& row : rows) errors.push_back(row.times.error());
    const pipeline::ErrorSummary summary = pipeline::summary_of(std::move(errors));
    if (json_) {
      console.out(to_text(json(rows, node, machine, summary)));
    } else {
      console.out(fmt::format("# error of the simulation: median {:.1f} %, worst {:.1f} %, {} rows\n",
                              100 * summary.median, 100 * summary.worst, rows.size()));
    }
    return interrupted() ? Exit::interrupted : exit;
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

  static std::string line(const ComparedRow& row) {
    const auto& request = row.point->request;
    const auto& energy = row.times.energy;
    return fmt::format(
        "  {:>10}  {:<12}  {:<9}  {:>13.2f}  {:>14.2f}  {:>5.2f}{}\n", bytes_of(*row.point).value, row.point->what,
        request ? (request->prelaunch ? "yes" : "no") : "", microseconds(row.times.measured),
        microseconds(row.times.simulated), row.times.ratio(),
        energy ? fmt::format("  {:>10}  {:>9}", report::joules_text(energy), report::watts_text(energy)) : "");
  }

  Json json(const std::vector<ComparedRow>& rows, const std::string& node, const Machine& machine,
            const pipeline::ErrorSummary& summary) const {
    Json list = Json::array();
    for (const ComparedRow& row : rows) {
      const auto& request = row.point->request;
      const Json object{{"what", row.point->what},
                        {"bytes", bytes_of(*row.point).value},
                        {"prelaunch", request ? Json(request->prelaunch) : Json()},
                        {"measured_us", microseconds(row.times.measured)},
                        {"simulated_us", microseconds(row.times.simulated)},
                        {"ratio", row.times.ratio()},
                        {"wrong", row.times.wrong_bytes}};
      list.push_back(report::with_energy(object, row.times.energy));
    }
    return {{"schema", "cortado.compare"},
            {"what", what_},
            {"node", node},
            {"machine", machine.name},
            {"iterations", iterations_},
            {"rows", std::move(list)},
            {"median_error_pct", 100 * summary.median},
            {"worst_error_pct", 100 * summary.worst},
            {"interrupted", interrupted()}};
  }

  std::string what_;
  std::string on_ = "soft,sim";
  std::optional<std::string> machine_;
  GridOptions grid_{"64KiB:1MiB"};
  std::uint32_t iterations_ = 20;
  std::uint32_t warmup_ = 5;
  std::optional<std::uint32_t> workers_;
  std::optional<std::string> trace_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_compare() {
  return std::make_unique<CompareCommand>();
}

}  // namespace cortado::cli
