// cortado simulate: a program file or a collective on a modelled machine.
#include <array>

#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/pipeline/simulate.hpp"
#include "cortado/report/energy.hpp"
#include "cortado/report/timeline_picture.hpp"
#include "cortado/report/trace.hpp"
#include "cortado/timeline/critical_path.hpp"

#include "json.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "program_input.hpp"
#include "subcommand.hpp"
#include "task.hpp"

namespace cortado::cli {
namespace {

/// Spans of more commands than these are kept only if the user asks for a trace: they would take gigabytes.
constexpr std::uint64_t kMaxCommandsInPath = 1'000'000;

/// Rules that the simulator can do without: a program that breaks them is still one.
constexpr std::array kProofs{"verify.deadlock", "verify.equal_wait", "verify.race", "verify.contract"};

class SimulateCommand : public Subcommand {
 public:
  std::string_view name() const override { return "simulate"; }
  std::string_view description() const override { return "Predict when everything happens on a modelled machine"; }
  std::vector<Example> examples() const override {
    return {{"cortado simulate all-gather --variant b2b --bytes 64KiB", "plan, prove and predict"},
            {"cortado simulate ag.json --machine mi300x-8 --trace t.json", "a program file; t.json opens in Perfetto"},
            {"cortado simulate all-to-all --bytes 1MiB --prelaunch --iters 10 --json", "ten in a row, for a script"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("what", what_, "Program file (- for standard input) or a collective")->required()->type_name("");
    app.add_option("--machine", machine_, fmt::format("Machine (default: the file's own, or {})", kDefaultMachine))
        ->type_name("NAME");
    plan_.add_to(app);
    add_number(app, "--iters", options_.iterations, "Iterations in a row, with no barrier between",
               {.least = 1, .most = sim::kMaxIterations})
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--sharing", sharing_, "How rates are shared: exact, or local (approximate, for large programs)")
        ->type_name("MODE")
        ->capture_default_str();
    app.add_option("--trace", trace_, "Write a Perfetto trace")->type_name("FILE");
    app.add_option("--picture", picture_, "Write a picture of all queues over time, as SVG")->type_name("FILE");
    app.add_flag("--unproved", unproved_, "Do not prove first that it ends, has no races and keeps its contract");
    app.add_flag("--json", json_, "JSON");
  }

  Result<Exit> run(Console& console) override {
    if (options_.iterations == 0) return fail("usage.iters", "--iters 0 simulates nothing", "give 1 or more");
    if (sharing_ != "exact" && sharing_ != "local") {
      return fail("usage.sharing", fmt::format("--sharing {} is not known", sharing_), "give exact or local");
    }
    if (sharing_ == "local") options_.sharing.mode = sim::SharingMode::local;
    if (trace_) CORTADO_RETURN_IF_ERROR(check_output_path(*trace_, {what_, machine_.value_or("")}));
    if (picture_) {
      CORTADO_RETURN_IF_ERROR(check_output_path(*picture_, {what_, machine_.value_or(""), trace_.value_or("")}));
    }
    CORTADO_ASSIGN_OR_RETURN(Task task, load_task(what_, machine_, plan_, console));
    CORTADO_RETURN_IF_ERROR(sim::check_timing(task.input.machine));
    CORTADO_RETURN_IF_ERROR(check_ranks(task.input.program, task.input.machine, what_));
    options_.trace = trace_.has_value() || picture_.has_value() || commands(task.input.program) <= kMaxCommandsInPath;

    options_.progress = [&console](std::uint64_t done, std::uint64_t of) { console.stage_at(done, of); };
    const auto on_stage = [&console](pipeline::Stage stage) {
      console.stage(stage == pipeline::Stage::verify ? "proving" : "simulating");
    };
    VerifyOptions proof;
    if (unproved_) proof.skip_rules = {kProofs.begin(), kProofs.end()};
    const auto report =
        trace_
            ? pipeline::simulate_traced(std::move(task.input.program), task.input.machine, options_, proof, on_stage)
            : pipeline::simulate_program(std::move(task.input.program), task.input.machine, options_, proof, on_stage);
    if (!report) return task_failure(console, report.error(), json_ ? "cortado.simulate" : nullptr);
    if (trace_) {
      CORTADO_RETURN_IF_ERROR(
          write_file(*trace_, report::perfetto_trace(report->simulated.timeline, report->program.program())));
    }
    if (picture_) {
      const std::string heading =
          fmt::format("{}, {}", report->program.program().name, report->simulated.timeline.where);
      CORTADO_RETURN_IF_ERROR(
          write_file(*picture_, report::timeline_picture(report->simulated.timeline, {.title = heading})));
    }
    console.out(json_ ? to_text(json(task, *report)) : text(task, *report));
    return Exit::ok;
  }

 private:
  std::uint64_t commands(const Program& program) const {
    std::uint64_t all = 0;
    for (const Queue& queue : program.queues) all += queue.commands.size();
    return all * options_.iterations;
  }

  std::string text(const Task& task, const pipeline::SimulationReport& report) const {
    const Program& program = report.program.program();
    const Timeline& timeline = report.simulated.timeline;
    std::string text = title(task, program) + "\n";
    text += fmt::format("  simulated on {}{}\n", report.program.machine().name, sharing_note());
    text += fmt::format("  {}\n", describe_counts(program));
    text += fmt::format("  time {:.2f} us{}{}\n", microseconds(report.time),
                        options_.iterations == 1 ? "" : fmt::format(" (median of {})", options_.iterations),
                        bandwidth_text(report));
    text += fmt::format("  {} bytes moved, {} events\n", timeline.bytes_moved.value, report.simulated.events);
    if (report.energy) {
      text += fmt::format("  energy {} J, {} W a GPU on average: {}\n", report::joules_text(report.energy),
                          report::watts_text(report.energy), report::components_text(*report.energy));
    }
    text += fmt::format("  critical path{}: {}\n", options_.iterations == 1 ? "" : " of the last iteration",
                        path_text(timeline));
    if (trace_) text += fmt::format("  trace in {}: open it at https://ui.perfetto.dev\n", *trace_);
    if (picture_) text += fmt::format("  picture in {}\n", *picture_);
    return text;
  }

  std::string sharing_note() const {
    if (options_.sharing.mode == sim::SharingMode::exact) return {};
    return fmt::format(", local sharing within {:g} %", 100 * options_.sharing.tolerance);
  }

  std::string path_text(const Timeline& timeline) const {
    if (!options_.trace) return fmt::format("not kept beyond {} commands; --trace keeps it", kMaxCommandsInPath);
    const auto parts = critical_path(timeline).in_order();
    const double total = microseconds(timeline.iteration_times.back());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].value == 0) continue;
      texts.push_back(fmt::format("{} {:.2f} us ({:.1f} %)", kCriticalPathNames[i], microseconds(parts[i]),
                                  100 * microseconds(parts[i]) / total));
    }
    return join(texts);
  }

  Json json(const Task& task, const pipeline::SimulationReport& report) const {
    const Program& program = report.program.program();
    const Timeline& timeline = report.simulated.timeline;
    std::vector<double> times;
    for (const Nanoseconds time : timeline.iteration_times) times.push_back(microseconds(time));
    Json path;  // null if it was not kept
    if (options_.trace) {
      const auto parts = critical_path(timeline).in_order();
      for (std::size_t i = 0; i < parts.size(); ++i) path[std::string(kCriticalPathNames[i])] = microseconds(parts[i]);
    }
    const auto& bandwidths = report.bandwidths;
    Json json = document("cortado.simulate");
    json.update({{"ok", true},
                 {"program", program.name},
                 {"machine", report.program.machine().name},
                 {"ranks", program.ranks},
                 {"in_place", task.request ? Json(task.request->in_place) : Json()},
                 {"simulated", true},
                 {"bytes", report.bytes.value},
                 {"iterations", options_.iterations},
                 {"sharing", sharing_},
                 {"time_us", microseconds(report.time)},
                 {"times_us", std::move(times)},
                 {"algbw_GBps", bandwidths ? Json(bandwidths->algorithm) : Json()},
                 {"busbw_GBps", bandwidths ? Json(bandwidths->bus) : Json()},
                 {"bytes_moved", timeline.bytes_moved.value},
                 {"events", report.simulated.events},
                 {"critical_path_us", std::move(path)}});
    json.update(to_json_value(report.counts));
    report::add_energy(report.energy, json);
    if (trace_) json["trace"] = *trace_;
    if (picture_) json["picture"] = *picture_;
    return json;
  }

  std::string what_;
  std::optional<std::string> machine_;
  PlanOptions plan_;
  sim::SimulateOptions options_;
  std::string sharing_ = "exact";
  bool unproved_ = false;
  std::optional<std::string> trace_;
  std::optional<std::string> picture_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_simulate() {
  return std::make_unique<SimulateCommand>();
}

}  // namespace cortado::cli
