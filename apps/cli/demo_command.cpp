// cortado demo: a tour for new users, as command lines that it prints and runs.
#include <array>

#include <fmt/format.h>

#include "cortado/machine.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "command_line.hpp"
#include "flags.hpp"
#include "fold.hpp"
#include "interrupt.hpp"
#include "table_output.hpp"

namespace cortado::cli {
namespace {

constexpr Example kDemoExamples[] = {
    {"cortado demo", "start here; takes a few seconds"},
    {"cortado demo --machine h100-8 --trace big.json", "another machine, and another file for the trace"}};

struct Step {
  std::string_view about;
  std::string_view command;  ///< {machine} and {trace} are filled in
};

constexpr std::array kSteps{
    Step{"Is it worth overlapping this GEMM with the all-gather it depends on? How much is gained, and by which "
         "strategy?",
         "overlap all-gather --gemm 16384x3584x8192 --machine {machine} --strategy "
         "serial,hetero-fused-1d,uniform-fused-2d,ideal"},
    Step{"What about a GEMM next to an unrelated collective?",
         "overlap all-gather --gemm 8192x57344x8192 --bytes 896MiB --independent --machine {machine} --strategy "
         "serial,c3-rp,conccl"},
    Step{"What would future hardware gain that tracks stores and adds in memory?",
         "overlap reduce-scatter --gemm 8192x8192x3584 --machine {machine} --with tracker,nmc,mca --strategy "
         "ficco,t3-mca"},
    Step{"A collective on its own: which variant is fastest at which size?",
         "bench all-gather --on sim --machine {machine} --sizes 4KiB,1MiB --variant pcpy,bcst,b2b --prelaunch"},
    Step{"Plan one of them, prove it correct (no deadlock, no race, no wrong byte), encode it as DMA packets, and run "
         "it:",
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

constinit const Subcommand kDemoCommand{"demo", "Take a tour: print and run the most useful commands", kDemoExamples,
                                        run_demo};

}  // namespace cortado::cli
