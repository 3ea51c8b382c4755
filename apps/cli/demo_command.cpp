// cortado demo: a tour for someone who sees it for the first time, as command lines that it prints and runs.
#include <array>

#include <fmt/format.h>

#include "cortado/machine.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "command_line.hpp"
#include "flags.hpp"
#include "fold.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"

namespace cortado::cli {
namespace {

constexpr Example kDemoExamples[] = {
    {"cortado demo", "start here; takes a few seconds"},
    {"cortado demo --machine h100-8 --trace big.json", "another machine, the trace where you want it"}};

struct Step {
  std::string_view about;
  std::string_view command;  ///< {machine} and {trace} are filled in
};

constexpr std::array kSteps{
    Step{"Does overlapping this GEMM with the all-gather it depends on win, by how much, and how?",
         "overlap all-gather --gemm 16384x3584x8192 --machine {machine} --strategy "
         "serial,hetero-fused-1d,uniform-fused-2d,ideal"},
    Step{"And a GEMM beside a collective that has nothing to do with it?",
         "overlap all-gather --gemm 8192x57344x8192 --bytes 896MiB --independent --machine {machine} --strategy "
         "serial,c3-rp,conccl"},
    Step{"What would hardware of tomorrow give, which tracks stores and adds in memory?",
         "overlap reduce-scatter --gemm 8192x8192x3584 --machine {machine} --with tracker,nmc,mca --strategy "
         "ficco,t3-mca"},
    Step{"A collective alone: which variant is fast at which size?",
         "bench all-gather --on sim --machine {machine} --sizes 4KiB,1MiB --variant pcpy,bcst,b2b --prelaunch"},
    Step{"One of them planned, proved (no deadlock, no race, no wrong byte), turned into the packets of DMA engines, "
         "and run:",
         "run all-gather --variant b2b --prelaunch --bytes 1MiB --machine {machine} --on soft --iters 3 --trace "
         "{trace}"},
};

Result<Exit> run_demo(const Arguments& arguments, Console& console) {
  const std::string machine = arguments.text("--machine");
  const std::string trace = arguments.text("--trace");
  CORTADO_RETURN_IF_ERROR(check_output_path(trace, {machine}));
  CORTADO_RETURN_IF_ERROR(load_machine(machine));
  for (const Step& step : kSteps) {
    if (interrupted()) return Exit::interrupted;
    const std::string command =
        fmt::format(fmt::runtime(step.command), fmt::arg("machine", machine), fmt::arg("trace", trace));
    console.out(fmt::format("\n{}\n", step.about));
    console.out(folded_command("$ cortado " + command, 4, 0, 100) + "\n");
    const Exit exit = run_command_line(console, split(command, ' '));
    if (exit != Exit::ok) return exit;
  }
  console.out(
      fmt::format("\nOpen {} at https://ui.perfetto.dev. Next: cortado --help, cortado list strategies\n", trace));
  return Exit::ok;
}

}  // namespace

Subcommand demo_command() {
  return {"demo", "A tour: prints and runs the most useful command lines", kDemoExamples, run_demo};
}

}  // namespace cortado::cli
