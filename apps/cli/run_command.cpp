// cortado run: a program file, a collective, or a GEMM and a collective on a target. Devices check every output byte;
// the simulator predicts.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "base/text.hpp"
#include "collective_request.hpp"
#include "command.hpp"
#include "device/soft/soft.hpp"
#include "flags.hpp"
#include "heap.hpp"
#include "json.hpp"
#include "overlap_request.hpp"
#include "plan/choose.hpp"
#include "program_input.hpp"
#include "run_report.hpp"
#include "software_products.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"
#include "task.hpp"

namespace cortado::cli {
namespace {

constexpr Example kRunExamples[] = {
    {"cortado run all-gather --variant b2b --bytes 1MiB --on soft --iters 20", "plan, prove, run and check"},
    {"cortado run all-gather --variant b2b --bytes 64KiB --on sim", "plan, prove and predict"},
    {"cortado run ag.json --on soft --seed 7 --adversarial",
     "a program file, in an adversarial order that the program allows"},
    {"cortado run ag.json --on sim --machine mi300x-8 --trace t.json", "a trace for https://ui.perfetto.dev"},
    {"cortado run all-to-all --on sim --bytes 1MiB --prelaunch --iters 10 --json",
     "ten iterations back to back, as JSON for a script"},
    {"cortado run overlap reduce-scatter --gemm 256x256x128 --ranks 4 --strategy uniform-fused-1d --on soft",
     "a GEMM and the reduce-scatter of its output, in steps"},
    {"cortado run ag.json --inject delay-signal:0.14:0:50000", "engine 14 of GPU 0 raises its first signal 50 us late"},
    {"cortado run all-gather --on soft,sim --bytes 64KiB:256KiB --machine here.toml",
     "measured next to simulated; here.toml comes from cortado calibrate"},
    {"cortado run ag.json --on soft,sim --machine here.toml --trace both.json", "both timelines in one trace"}};

/// Rules that the simulator does not need: a program that breaks them can still be simulated.
constexpr std::array kProofs{"verify.deadlock", "verify.equal_wait", "verify.race", "verify.contract"};

struct Done {
  CheckedProgram program;
  Run run;
};

Outcome<Done> run_program(Program program, const Machine& machine, Target& target, bool unproved,
                          const RunOptions& options) {
  if (unproved) {
    options.on_stage(Stage::verify);
    const auto checked = check_program(std::move(program), machine, {.skip_rules = {kProofs.begin(), kProofs.end()}});
    if (!checked) return fail_at(Stage::verify, checked.error());
    auto run = simulate_checked(*checked, options);
    if (!run) return fail(run.error());
    return Done{*checked, *std::move(run)};
  }
  const auto verified = prove(std::move(program), machine, options.on_stage);
  if (!verified) return fail(verified.error());
  auto run = target.run(*verified, options);
  if (!run) return fail(run.error());
  return Done{*verified, *std::move(run)};
}

std::optional<std::string> warning(const Program& program, const TargetRequest& target, std::uint32_t iterations) {
  if (target.name != "soft") return {};
  const auto rate = [&](DType dtype) { return device::soft_gemm_rate(dtype, target.soft); };
  return software_products_warning(program, iterations, rate);
}

RunOptions run_options(const Arguments& arguments, const Task& task, const TargetRequest& target, Console& console) {
  const bool simulated = target.name == kSimulator;
  RunOptions options{.iterations = arguments.number("--iters").value_or(1)};
  std::uint64_t commands = 0;
  for (const Queue& queue : task.program.queues) commands += queue.commands.size();
  const bool pictured = arguments.given("--trace") || arguments.given("--html");
  options.trace = pictured || (simulated && commands * options.iterations <= kMaxCommandsInPath);
  options.watts = arguments.given("--trace");
  options.sim.span_names = pictured;
  options.sim.arbitration = task.arbitration;
  if (arguments.text("--sharing") == "local") options.sim.sharing.local = true;
  options.device = device_run_options(arguments);
  options.device.check = check_of(arguments);
  const auto progress = [&console](std::uint64_t done, std::uint64_t of) { console.stage_at(done, of); };
  options.device.progress = progress;
  options.sim.progress = progress;
  options.on_stage = [&console, simulated, warning = warning(task.program, target, options.iterations)](Stage stage) {
    console.stage(stage == Stage::verify    ? "proving"
                  : stage == Stage::prepare ? "preparing"
                  : simulated               ? "simulating"
                                            : "running");
    if (stage == Stage::run && warning) console.talk(*warning);
  };
  return options;
}

/// Injected faults of engines that the program does not use: a clean run would then prove nothing.
void tell_idle_faults(const device::FaultInjection& faults, const Program& program, Console& console) {
  std::set<std::pair<RankId, EngineId>> idle;
  const auto add = [&idle](const auto&... lists) {
    (std::ranges::for_each(lists, [&](const auto& fault) { idle.emplace(fault.gpu, fault.engine); }), ...);
  };
  add(faults.stalled_engines, faults.slow_engines, faults.dropped_doorbells, faults.lost_signals,
      faults.delayed_signals, faults.lost_interrupts);
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) idle.erase({*queue.rank, *queue.engine});
  }
  for (const auto& [gpu, engine] : idle) {
    console.talk(fmt::format("--inject: the program has no queue on engine {}.{}, so this fault has no effect",
                             gpu.value, engine.value));
  }
}

/// The errors and, for scripts, the document {"ok": false, "errors": [...]} of a program that failed.
Exit run_failure(const Arguments& arguments, const Failure& failure, Console& console) {
  if (arguments.given("--json") && failure.program_failed()) {
    Json json = document("cortado.run", 2);
    json.update({{"ok", false}, {"errors", to_json_value(failure.errors)}});
    console.out(to_text(json));
  }
  return console.failure(failure);
}

Result<Exit> run_single(const Arguments& arguments, TaskKind kind, const std::string& on, Console& console) {
  const std::string what = arguments.text("what");
  const std::string machine_file = arguments.or_empty("--machine");
  const auto trace = arguments.find("--trace");
  if (trace) CORTADO_RETURN_IF_ERROR(check_output_path(*trace, {what, machine_file}));
  if (const auto html = arguments.find("--html")) {
    CORTADO_RETURN_IF_ERROR(check_output_path(*html, {what, machine_file, trace.value_or("")}));
  }
  auto task = load_task(arguments, kind, console);
  if (!task) return console.failure(task.error());
  CORTADO_ASSIGN_OR_RETURN(const auto request, target_request(arguments, on, task->program.ranks, task->machine));
  CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request, task->machine));
  if (target->predicts()) tell_what_is_borrowed(task->machine, console);
  tell_idle_faults(request.soft.faults, task->program, console);
  const RunOptions options = run_options(arguments, *task, request, console);
  const RunReport report(arguments, options, task->title, task->in_place);
  const auto& done =
      until_exit(run_program(std::move(task->program), task->machine, *target, arguments.given("--unproved"), options));
  if (!done) return run_failure(arguments, done.error(), console);
  const auto& [checked, run] = *done;
  CORTADO_RETURN_IF_ERROR(report.write_pictures(checked, run, console));
  console.out(arguments.given("--json") ? to_text(report.json(checked, run)) : report.text(checked, run));
  if (!run.check || run.check->wrong == 0) return Exit::ok;
  if (run.check->first_wrong) console.error(*run.check->first_wrong);
  return Exit::failed;
}

/// The device next to the simulator, if two targets are named; empty if one is.
Result<std::string> device_of(const std::vector<std::string>& targets) {
  if (targets.size() == 1) return std::string();
  const auto simulators = std::ranges::count(targets, kSimulator);
  if (targets.size() == 2 && simulators == 1) return targets[0] == kSimulator ? targets[1] : targets[0];
  return fail("usage.on", "only one device and the simulator can be compared side by side", "use --on soft,sim");
}

Result<Exit> run_run(const Arguments& arguments, Console& console) {
  CORTADO_ASSIGN_OR_RETURN(const TaskKind kind, task_kind(arguments));
  const std::vector<std::string> targets = arguments.names("--on");
  CORTADO_ASSIGN_OR_RETURN(const std::string device, device_of(targets));
  std::vector<std::string_view> modes;
  if (kind == TaskKind::overlap) modes = overlap_modes(arguments);
  if (kind == TaskKind::alone) modes.push_back("alone");
  if (device.empty()) {
    modes.insert(modes.end(), {"single", target_mode(targets.front())});
  } else {
    modes.insert(modes.end(), {"both", "device"});
  }
  const bool open = kind == TaskKind::alone     ? leaves_open(arguments.text("--variant"))
                    : kind == TaskKind::overlap ? arguments.text("--strategy") == pipeline::kAutoStrategy
                                                : false;
  if (open) modes.push_back("auto");
  CORTADO_RETURN_IF_ERROR(arguments.check(modes));
  return device.empty() ? run_single(arguments, kind, targets.front(), console)
                        : run_both(arguments, kind, device, console);
}

}  // namespace

constinit const Subcommand kRunCommand{
    "run", "Run a program on a device (bytes are checked), in the simulator, or both side by side", kRunExamples,
    run_run};

}  // namespace cortado::cli
