// cortado bench: a sweep in the look of nccl-tests.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/pipeline/bench.hpp"

#include "grid_options.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "subcommand.hpp"
#include "sweep_options.hpp"

namespace cortado::cli {
namespace {

class BenchCommand : public Subcommand {
 public:
  std::string_view name() const override { return "bench"; }
  std::string_view description() const override { return "Measure or predict variants and sizes of a collective"; }
  std::vector<Example> examples() const override {
    return {
        {"cortado bench all-gather --on soft --variant all --sizes 1KiB:8KiB", "all variants, sizes doubling"},
        {"cortado bench all-gather --on sim --machine mi300x-8 --sizes 1KiB:8KiB", "what 8 MI300X would do"},
        {"cortado bench all-to-all --variant swap,b2b --sizes 64KiB,256KiB --prelaunch on --json", "rows for a script"},
        {"cortado bench all-gather --sizes 1KiB:4KiB --iters 50 --csv ag.csv", "rows for a spreadsheet as well"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("collective", collective_, "Which one (cortado list collectives)")->required()->type_name("");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    grid_.add_to(app);
    sweep_.add_to(app);
    app.add_option("--csv", csv_, "Write the rows as CSV, too")->type_name("FILE");
    app.add_flag("--json", json_, "JSON instead of the table");
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(grid_.fill(collective_, request_));
    CORTADO_RETURN_IF_ERROR(sweep_.fill(request_));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    if (csv_) CORTADO_RETURN_IF_ERROR(check_output_path(*csv_, {machine_}));
    watch_for_interrupt();
    pipeline::Chooser chooser(machine, grid_.automatic().chooser_options());
    const auto go_on = [&console](std::size_t done, std::size_t of) {
      console.progress(fmt::format("planning {} of {}", done + 1, of));
      return !interrupted();
    };
    const auto plan = pipeline::plan_bench(request_, machine, go_on, &chooser);
    console.clear_progress();
    if (!plan && interrupted()) {
      console.talk("interrupted while planning");
      return Exit::interrupted;
    }
    if (!plan) return console.failure(plan.error());
    keep_times(chooser, console);
    CORTADO_ASSIGN_OR_RETURN(const auto runner, sweep_.runner(*plan, request_, machine));

    report_.header = {collective_,        machine.name,        plan->points.front().program.program().ranks,
                      runner->where(),    runner->simulated(), request_.warmup,
                      request_.iterations};
    for (const pipeline::BenchPoint& point : plan->points) {
      report_.header.variant_width = std::max(report_.header.variant_width, point.label.size());
    }
    report_.skipped = plan->skipped;
    const Exit exit = run_points(console, *plan, *runner);
    if (json_) console.out(report::bench_json(report_));
    if (csv_) CORTADO_RETURN_IF_ERROR(write_file(*csv_, report::bench_csv(report_)));
    return exit;
  }

 private:
  /// Shows rows as they come and keeps them in report_.
  Exit run_points(Console& console, const pipeline::BenchPlan& plan, pipeline::PointRunner& runner) {
    if (!json_) {
      console.out(report::bench_heading(report_.header));
      for (const report::SkippedRow& row : plan.skipped) console.out(report::bench_line(row));
    }
    Exit exit = Exit::ok;
    for (std::size_t i = 0; i < plan.points.size() && !console.reader_gone(); ++i) {
      if (interrupted()) break;
      const CollectiveRequest& point = plan.points[i].request;
      console.progress(fmt::format("{} of {}: {} {}{}", i + 1, plan.points.size(), format_bytes(point.bytes),
                                   plan.points[i].label, point.prelaunch ? " prelaunch" : ""));
      const auto row = runner.run(i);
      console.clear_progress();
      if (!row && row.error().errors.front().about == About::machine) {  // a device of engines only: go on with those
        report_.skipped.push_back({point.bytes, point.variant, point.prelaunch, row.error().errors.front()});
        if (!json_) console.out(report::bench_line(report_.skipped.back()));
        continue;
      }
      if (!row) return console.failure(row.error());
      if (!json_) console.out(report::bench_line(report_.header, *row));
      if (row->wrong.value_or(0) > 0) exit = Exit::failed;
      report_.rows.push_back(*row);
    }
    if (!interrupted()) return exit;
    report_.interrupted = true;
    console.talk(fmt::format("interrupted: {} of {} rows are done", report_.rows.size(), plan.points.size()));
    return Exit::interrupted;
  }

  std::string collective_;
  std::string machine_ = kDefaultMachine;
  GridOptions grid_{"1KiB:1MiB"};
  SweepOptions sweep_;
  std::optional<std::string> csv_;
  bool json_ = false;
  pipeline::BenchRequest request_;
  report::BenchReport report_;
};

}  // namespace

std::unique_ptr<Subcommand> make_bench() {
  return std::make_unique<BenchCommand>();
}

}  // namespace cortado::cli
