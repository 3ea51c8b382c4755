// cortado run: a program file or a collective, on a device, with every output byte checked.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/pipeline/run.hpp"
#include "cortado/report/trace.hpp"

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

class RunCommand : public Subcommand {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view description() const override { return "Run a program file or a collective and check its bytes"; }
  std::vector<Example> examples() const override {
    return {
        {"cortado run all-gather --variant b2b --bytes 1MiB --on soft --iters 20", "plan, prove, run and check"},
        {"cortado run ag.json --on soft --seed 7 --adversarial", "a program file, in the worst order that is allowed"},
        {"cortado run ag.json --trace t.json", "a trace for https://ui.perfetto.dev"},
        {"cortado run ag.json --inject delay-signal:0.14:0:50000",
         "engine 14 of GPU 0 raises its first signal 50 us late"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("what", what_, "Program file (- for standard input) or a collective")->required()->type_name("");
    app.add_option("--machine", machine_, fmt::format("Machine (default: the file's own, or {})", kDefaultMachine))
        ->type_name("NAME");
    plan_.add_to(app);
    device_.add_to(app);
    add_number(app, "--iters", iterations_, "Iterations in a row, with no barrier between", {.least = 1})
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--check", check_, "Check outputs of every iteration, of the last, or of none")
        ->type_name("WHEN")
        ->capture_default_str();
    app.add_option("--trace", trace_, "Write a Perfetto trace; timestamps around each command slow it down")
        ->type_name("FILE");
    app.add_flag("--json", json_, "JSON");
  }

  Result<Exit> run(Console& console) override {
    pipeline::RunSettings settings;
    settings.run = device_.run_options();
    settings.prepare.trace = trace_.has_value();
    CORTADO_ASSIGN_OR_RETURN(settings.run.check, check());
    if (iterations_ == 0) return fail("usage.iters", "--iters 0 runs nothing", "give 1 or more");
    settings.run.iterations = iterations_;
    if (trace_) CORTADO_RETURN_IF_ERROR(check_output_path(*trace_, {what_, machine_.value_or("")}));
    CORTADO_ASSIGN_OR_RETURN(Task task, load_task(what_, machine_, plan_, console));
    const Machine& machine = task.input.machine;
    CORTADO_ASSIGN_OR_RETURN(const auto device_request, device_.request(task.input.program.ranks, machine));
    CORTADO_ASSIGN_OR_RETURN(const auto driver, pipeline::open_device(device_request, machine));
    settings.run.progress = [&console](std::uint64_t done, std::uint64_t of) { console.stage_at(done, of); };
    settings.on_stage = [&console, warning = warning(task.input.program, device_request)](pipeline::Stage stage) {
      console.stage(name_of(stage));
      if (stage == pipeline::Stage::run && warning) console.talk(*warning);
    };
    const auto report = pipeline::run_program(std::move(task.input.program), machine, *driver, settings);
    if (!report) return task_failure(console, report.error(), json_ ? "cortado.run" : nullptr);
    if (trace_) {
      CORTADO_RETURN_IF_ERROR(
          write_file(*trace_, report::perfetto_trace(report->result.timeline, report->program.program())));
    }
    console.out(json_ ? to_text(json(task, *report)) : text(task, *report));
    if (report->result.wrong_bytes == 0) return Exit::ok;
    if (report->result.first_wrong) console.error(*report->result.first_wrong);
    return Exit::failed;
  }

 private:
  static const char* name_of(pipeline::Stage stage) {
    if (stage == pipeline::Stage::verify) return "proving";
    return stage == pipeline::Stage::prepare ? "preparing" : "running";
  }

  std::optional<std::string> warning(const Program& program, const pipeline::DeviceRequest& device) const {
    if (device.name != "soft") return {};
    const auto rate = [&](DType dtype) { return device::soft_gemm_rate(dtype, device.soft); };
    return software_products_warning(program, iterations_, rate);
  }

  Result<device::CheckOutputs> check() const {
    if (check_ == "every") return device::CheckOutputs::every;
    if (check_ == "last") return device::CheckOutputs::last;
    if (check_ == "none") return device::CheckOutputs::none;
    return fail("usage.check", fmt::format("--check {} is not known", check_), "give every, last or none");
  }

  /// Long runs are traced at their end only.
  static std::uint32_t traced_iterations(const Timeline& timeline) {
    if (timeline.spans.empty()) return 0;
    const auto [first, last] =
        std::minmax_element(timeline.spans.begin(), timeline.spans.end(),
                            [](const Span& a, const Span& b) { return a.iteration < b.iteration; });
    return last->iteration - first->iteration + 1;
  }

  std::string text(const Task& task, const pipeline::RunReport& report) const {
    const device::RunResult& result = report.result;
    const Program& program = report.program.program();
    std::string text = title(task, program) + "\n";
    text += fmt::format("  {} on {}\n", result.timeline.simulated ? "simulated" : "measured", result.timeline.where);
    text += fmt::format("  {}\n", describe_counts(program));
    text += fmt::format("  time {:.2f} us (median of {}){}\n", microseconds(report.time), iterations_,
                        bandwidth_text(report));
    text += check_ == "none" ? "  bytes not checked (--check none)\n"
                             : fmt::format("  {} bytes checked, {} wrong\n", result.checked_bytes, result.wrong_bytes);
    if (trace_) {
      const std::uint32_t traced = traced_iterations(result.timeline);
      const std::string part =
          traced < iterations_ ? fmt::format(" of the last {} of {} iterations", traced, iterations_) : "";
      text += fmt::format("  trace{} in {}: open it at https://ui.perfetto.dev\n", part, *trace_);
    }
    return text;
  }

  Json json(const Task& task, const pipeline::RunReport& report) const {
    const device::RunResult& result = report.result;
    const Program& program = report.program.program();
    std::vector<double> times;
    for (const Nanoseconds time : result.timeline.iteration_times) times.push_back(microseconds(time));
    const auto& bandwidths = report.bandwidths;
    Json json = document("cortado.run");
    json.update({{"ok", result.wrong_bytes == 0},
                 {"program", program.name},
                 {"machine", report.program.machine().name},
                 {"ranks", program.ranks},
                 {"in_place", task.request ? Json(task.request->in_place) : Json()},
                 {"node", result.timeline.where},
                 {"simulated", result.timeline.simulated},
                 {"bytes", report.bytes.value},
                 {"iterations", iterations_},
                 {"time_us", microseconds(report.time)},
                 {"times_us", std::move(times)},
                 {"algbw_GBps", bandwidths ? Json(bandwidths->algorithm) : Json()},
                 {"busbw_GBps", bandwidths ? Json(bandwidths->bus) : Json()},
                 {"checked_bytes", result.checked_bytes},
                 {"wrong", result.wrong_bytes}});
    json.update(to_json_value(report.counts));
    if (result.first_wrong) json["first_wrong"] = to_json_value(*result.first_wrong);
    if (trace_) json["trace"] = *trace_;
    return json;
  }

  std::string what_;
  std::optional<std::string> machine_;
  PlanOptions plan_;
  DeviceOptions device_;
  std::uint32_t iterations_ = 1;
  std::string check_ = "every";
  std::optional<std::string> trace_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_run() {
  return std::make_unique<RunCommand>();
}

}  // namespace cortado::cli
