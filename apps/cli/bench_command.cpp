// cortado bench: a sweep in the look of nccl-tests.
#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/pipeline/bench.hpp"

#include "grid_options.hpp"
#include "interrupt.hpp"
#include "subcommand.hpp"
#include "sweep_options.hpp"
#include "table_options.hpp"

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
        {"cortado bench all-gather --sizes 1KiB:4KiB --iters 50 --csv ag.csv", "rows for a spreadsheet as well"},
        {"cortado bench all-gather --on sim --sizes 1KiB:64MiB --html ag.html", "bandwidths as a picture as well"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("collective", collective_, "Which one (cortado list collectives)")->required()->type_name("");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    grid_.add_to(app);
    sweep_.add_to(app);
    table_.add_to(app, {.csv = true, .html = true});
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(grid_.fill(collective_, request_));
    CORTADO_RETURN_IF_ERROR(sweep_.fill(request_));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    CORTADO_RETURN_IF_ERROR(table_.check({machine_}));
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
    CORTADO_ASSIGN_OR_RETURN(const auto target, sweep_.open(*plan, machine));
    pipeline::PointRunner runner(*plan, request_, *target, sweep_.run_options(), sweep_.threads());

    report_.header = {collective_,        machine.name,       plan->points.front().program.program().ranks,
                      target->where(),    target->predicts(), request_.warmup,
                      request_.iterations};
    for (const pipeline::BenchPoint& point : plan->points) {
      report_.header.variant_width = std::max(report_.header.variant_width, point.label.size());
    }
    report_.skipped = plan->skipped;
    const Exit exit = run_points(console, *plan, runner);
    const report::Document document = report::bench_document(report_);
    if (table_.json()) console.out(report::to_json(document));
    CORTADO_RETURN_IF_ERROR(table_.write_files(document));
    return exit;
  }

 private:
  /// Shows rows as they come and keeps them in report_.
  Exit run_points(Console& console, const pipeline::BenchPlan& plan, pipeline::PointRunner& runner) {
    if (!table_.json()) {
      console.out(report::bench_heading(report_.header, table_.text()));
      for (const report::SkippedRow& row : plan.skipped) console.out(report::bench_line(row, table_.text()));
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
        if (!table_.json()) console.out(report::bench_line(report_.skipped.back(), table_.text()));
        continue;
      }
      if (!row) return console.failure(row.error());
      if (!table_.json()) console.out(report::bench_line(report_.header, *row, table_.text()));
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
  TableOptions table_;
  pipeline::BenchRequest request_;
  report::BenchReport report_;
};

}  // namespace

std::unique_ptr<Subcommand> make_bench() {
  return std::make_unique<BenchCommand>();
}

}  // namespace cortado::cli
