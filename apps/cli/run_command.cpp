// cortado run: a program file or a collective on a target. Devices check every output byte; the simulator predicts.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"
#include "cortado/report/timeline_picture.hpp"
#include "cortado/report/trace.hpp"
#include "cortado/target/target.hpp"
#include "cortado/timeline/critical_path.hpp"

#include "device_options.hpp"
#include "json.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "software_products.hpp"
#include "subcommand.hpp"
#include "task.hpp"

namespace cortado::cli {
namespace {

/// Spans of more commands than these are kept only if the user asks for a trace: they would take gigabytes.
constexpr std::uint64_t kMaxCommandsInPath = 1'000'000;

/// Rules that the simulator can do without: a program that breaks them is still one.
constexpr std::array kProofs{"verify.deadlock", "verify.equal_wait", "verify.race", "verify.contract"};

class RunCommand : public Subcommand {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view description() const override {
    return "Run a program file or a collective: on a device, with its bytes checked, or on the simulator";
  }
  std::vector<Example> examples() const override {
    return {
        {"cortado run all-gather --variant b2b --bytes 1MiB --on soft --iters 20", "plan, prove, run and check"},
        {"cortado run all-gather --variant b2b --bytes 64KiB --on sim", "plan, prove and predict"},
        {"cortado run ag.json --on soft --seed 7 --adversarial", "a program file, in the worst order that is allowed"},
        {"cortado run ag.json --on sim --machine mi300x-8 --trace t.json", "a trace for https://ui.perfetto.dev"},
        {"cortado run all-to-all --on sim --bytes 1MiB --prelaunch --iters 10 --json", "ten in a row, for a script"},
        {"cortado run ag.json --inject delay-signal:0.14:0:50000",
         "engine 14 of GPU 0 raises its first signal 50 us late"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("what", what_, "Program file (- for standard input) or a collective")->required()->type_name("");
    app.add_option("--machine", machine_, fmt::format("Machine (default: the file's own, or {})", kDefaultMachine))
        ->type_name("NAME");
    plan_.add_to(app);
    device_.add_to(app);
    add_number(app, "--iters", options_.iterations, "Iterations in a row, with no barrier between", {.least = 1})
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--trace", trace_, "Write a Perfetto trace; on devices, timestamps around each command slow it down")
        ->type_name("FILE");
    app.add_option("--picture", picture_, "Write a picture of all queues over time, as SVG")->type_name("FILE");
    of_devices_ = {
        app.add_option("--check", check_, "Devices: check outputs of every iteration, of the last, or of none")
            ->type_name("WHEN")
            ->capture_default_str()};
    of_simulator_ = {app.add_option("--sharing", sharing_,
                                    "sim: how rates are shared: exact, or local (approximate, for large programs)")
                         ->type_name("MODE")
                         ->capture_default_str(),
                     app.add_flag("--unproved", unproved_,
                                  "sim: do not prove first that it ends, has no races and keeps its contract")};
    app.add_flag("--json", json_, "JSON");
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(check_flags());
    CORTADO_ASSIGN_OR_RETURN(Task task, load_task(what_, machine_, plan_, console));
    const Machine& machine = task.input.machine;
    CORTADO_RETURN_IF_ERROR(check_ranks(task.input.program, machine, what_));
    CORTADO_ASSIGN_OR_RETURN(const auto request, device_.request(task.input.program.ranks, machine));
    CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request, machine));
    CORTADO_RETURN_IF_ERROR(set_options(console, task.input.program, request));
    const auto done = run_program(std::move(task.input.program), machine, *target);
    if (!done) return task_failure(console, done.error(), json_ ? "cortado.run" : nullptr);
    const auto& [checked, run] = *done;
    CORTADO_RETURN_IF_ERROR(write_pictures(run, checked.program()));
    console.out(json_ ? to_text(json(task, checked, run)) : text(task, checked, run));
    if (!run.check || run.check->wrong == 0) return Exit::ok;
    if (run.check->first_wrong) console.error(*run.check->first_wrong);
    return Exit::failed;
  }

 private:
  struct Done {
    CheckedProgram program;
    Run run;
  };

  Outcome<Done> run_program(Program program, const Machine& machine, Target& target) const {
    if (unproved_) {
      options_.on_stage(Stage::verify);
      const auto checked = check_program(std::move(program), machine, {.skip_rules = {kProofs.begin(), kProofs.end()}});
      if (!checked) return fail_at(Stage::verify, checked.error());
      auto run = simulate_checked(*checked, options_);
      if (!run) return tl::unexpected(run.error());
      return Done{*checked, *std::move(run)};
    }
    const auto verified = prove(std::move(program), machine, options_.on_stage);
    if (!verified) return tl::unexpected(verified.error());
    auto run = target.run(*verified, options_);
    if (!run) return tl::unexpected(run.error());
    return Done{*verified, *std::move(run)};
  }

  Status check_flags() {
    if (device_.simulated()) CORTADO_RETURN_IF_ERROR(device_.check_for_simulator());
    for (const CLI::Option* option : device_.simulated() ? of_devices_ : of_simulator_) {
      if (option->count() == 0) continue;
      return fail("usage.option",
                  fmt::format("{} is for {}", option->get_name(), device_.simulated() ? "devices" : "the simulator"),
                  device_.simulated() ? "leave it out, or run on soft or kfd" : "leave it out, or give --on sim");
    }
    if (options_.iterations == 0) return fail("usage.iters", "--iters 0 runs nothing", "give 1 or more");
    if (sharing_ != "exact" && sharing_ != "local") {
      return fail("usage.sharing", fmt::format("unknown --sharing {}", sharing_), "give exact or local");
    }
    if (trace_) CORTADO_RETURN_IF_ERROR(check_output_path(*trace_, {what_, machine_.value_or("")}));
    if (picture_) {
      CORTADO_RETURN_IF_ERROR(check_output_path(*picture_, {what_, machine_.value_or(""), trace_.value_or("")}));
    }
    return {};
  }

  Status set_options(Console& console, const Program& program, const TargetRequest& target) {
    std::uint64_t commands = 0;
    for (const Queue& queue : program.queues) commands += queue.commands.size();
    const bool small = device_.simulated() && commands * options_.iterations <= kMaxCommandsInPath;
    options_.trace = trace_.has_value() || picture_.has_value() || small;
    options_.sim.span_names = trace_.has_value() || picture_.has_value();
    options_.watts = trace_.has_value();
    if (sharing_ == "local") options_.sim.sharing.mode = sim::SharingMode::local;
    options_.device = device_.run_options();
    CORTADO_ASSIGN_OR_RETURN(options_.device.check, check());
    const auto progress = [&console](std::uint64_t done, std::uint64_t of) { console.stage_at(done, of); };
    options_.device.progress = progress;
    options_.sim.progress = progress;
    options_.on_stage = [&console, simulated = device_.simulated(), warning = warning(program, target)](Stage stage) {
      console.stage(stage == Stage::verify    ? "proving"
                    : stage == Stage::prepare ? "preparing"
                    : simulated               ? "simulating"
                                              : "running");
      if (stage == Stage::run && warning) console.talk(*warning);
    };
    return {};
  }

  std::optional<std::string> warning(const Program& program, const TargetRequest& target) const {
    if (target.name != "soft") return {};
    const auto rate = [&](DType dtype) { return device::soft_gemm_rate(dtype, target.soft); };
    return software_products_warning(program, options_.iterations, rate);
  }

  Result<device::CheckOutputs> check() const {
    if (check_ == "every") return device::CheckOutputs::every;
    if (check_ == "last") return device::CheckOutputs::last;
    if (check_ == "none") return device::CheckOutputs::none;
    return fail("usage.check", fmt::format("unknown --check {}", check_), "give every, last or none");
  }

  Status write_pictures(const Run& run, const Program& program) const {
    if (trace_) CORTADO_RETURN_IF_ERROR(write_file(*trace_, report::perfetto_trace(run.timeline, program)));
    if (!picture_) return {};
    const std::string heading = fmt::format("{}, {}", program.name, run.timeline.where);
    return write_file(*picture_, report::timeline_picture(run.timeline, {.title = heading}));
  }

  /// Long runs are traced at their end only.
  static std::uint32_t traced_iterations(const Timeline& timeline) {
    if (timeline.spans.empty()) return 0;
    const auto [first, last] =
        std::minmax_element(timeline.spans.begin(), timeline.spans.end(),
                            [](const Span& a, const Span& b) { return a.iteration < b.iteration; });
    return last->iteration - first->iteration + 1;
  }

  std::string text(const Task& task, const CheckedProgram& verified, const Run& run) const {
    const Program& program = verified.program();
    std::string text = title(task, program) + "\n";
    text += run.predicted ? fmt::format("  simulated on {}{}\n", verified.machine().name, sharing_note())
                          : fmt::format("  measured on {}\n", run.timeline.where);
    text += fmt::format("  {}\n", describe_counts(program));
    const bool once = options_.iterations == 1 && run.predicted;
    text += fmt::format("  time {:.2f} us{}{}\n", microseconds(run.time),
                        once ? "" : fmt::format(" (median of {})", options_.iterations), bandwidth_text(run));
    text += run.predicted ? predicted_text(run) : checked_text(run);
    if (trace_) {
      const std::uint32_t traced = traced_iterations(run.timeline);
      const std::string part = traced < options_.iterations
                                   ? fmt::format(" of the last {} of {} iterations", traced, options_.iterations)
                                   : "";
      text += fmt::format("  trace{} in {}: open it at https://ui.perfetto.dev\n", part, *trace_);
    }
    if (picture_) text += fmt::format("  picture in {}\n", *picture_);
    return text;
  }

  std::string checked_text(const Run& run) const {
    if (check_ == "none") return "  bytes not checked (--check none)\n";
    return fmt::format("  {} bytes checked, {} wrong\n", run.check->checked, run.check->wrong);
  }

  std::string predicted_text(const Run& run) const {
    std::string text =
        fmt::format("  {} bytes moved, {} events\n", run.timeline.bytes_moved.value, run.predicted->events);
    if (run.energy) {
      text += fmt::format("  energy of all GPUs {} J, {} W per GPU on average\n    by component: {}\n",
                          report::joules_text(run.energy), report::watts_text(run.energy),
                          report::components_text(*run.energy));
    }
    return text + fmt::format("  critical path{}: {}\n", options_.iterations == 1 ? "" : " of the last iteration",
                              path_text(run.timeline));
  }

  std::string sharing_note() const {
    if (options_.sim.sharing.mode == sim::SharingMode::exact) return {};
    return fmt::format(", local sharing within {:g} %", 100 * options_.sim.sharing.tolerance);
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

  Json json(const Task& task, const CheckedProgram& verified, const Run& run) const {
    const Program& program = verified.program();
    std::vector<double> times;
    for (const Nanoseconds time : run.timeline.iteration_times) times.push_back(microseconds(time));
    const auto& bandwidths = run.bandwidths;
    Json json{{"schema", "cortado.run"},
              {"version", 2},
              {"ok", !run.check || run.check->wrong == 0},
              {"program", program.name},
              {"machine", verified.machine().name},
              {"ranks", program.ranks},
              {"in_place", task.request ? Json(task.request->in_place) : Json()},
              {"where", run.timeline.where},
              {"simulated", run.predicted.has_value()},
              {"bytes", run.bytes.value},
              {"iterations", options_.iterations},
              {"time_us", microseconds(run.time)},
              {"times_us", std::move(times)},
              {"algbw_GBps", bandwidths ? Json(bandwidths->algorithm) : Json()},
              {"busbw_GBps", bandwidths ? Json(bandwidths->bus) : Json()},
              {"bytes_moved", run.timeline.bytes_moved.value}};
    json.update(to_json_value(run.counts));
    if (run.predicted) add_predicted(run, json);
    if (run.check) {
      json["checked_bytes"] = run.check->checked;
      json["wrong"] = run.check->wrong;
      if (run.check->first_wrong) json["first_wrong"] = to_json_value(*run.check->first_wrong);
    }
    if (trace_) json["trace"] = *trace_;
    if (picture_) json["picture"] = *picture_;
    return json;
  }

  void add_predicted(const Run& run, Json& json) const {
    Json path;  // null if it was not kept
    if (options_.trace) {
      const auto parts = critical_path(run.timeline).in_order();
      for (std::size_t i = 0; i < parts.size(); ++i) path[std::string(kCriticalPathNames[i])] = microseconds(parts[i]);
    }
    json["sharing"] = sharing_;
    json["events"] = run.predicted->events;
    json["critical_path_us"] = std::move(path);
    report::add_energy(run.energy, json);
  }

  std::string what_;
  std::optional<std::string> machine_;
  PlanOptions plan_;
  DeviceOptions device_;
  RunOptions options_;
  std::string check_ = "every";
  std::vector<const CLI::Option*> of_devices_;
  std::string sharing_ = "exact";
  bool unproved_ = false;
  std::vector<const CLI::Option*> of_simulator_;
  std::optional<std::string> trace_;
  std::optional<std::string> picture_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_run() {
  return std::make_unique<RunCommand>();
}

}  // namespace cortado::cli
