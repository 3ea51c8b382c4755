// cortado calibrate: a machine file for the embedded node of this computer.
#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "machine/write.hpp"
#include "pipeline/calibrate.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"

namespace cortado::cli {
namespace {

constexpr Example kCalibrateExamples[] = {
    {"cortado calibrate --largest 16MiB -o here.toml",
     "a quick calibration; use the file with run --on soft,sim and bench --on sim"},
    {"cortado calibrate --machine h100-8 --workers 0 --rounds 1 --largest 1MiB",
     "a different node shape, with one thread"}};

Result<Exit> run_calibrate(const Arguments& arguments, Console& console) {
  pipeline::CalibrateOptions options;
  options.workers = arguments.number("--workers");
  options.rounds = *arguments.number("--rounds");
  CORTADO_ASSIGN_OR_RETURN(options.largest, arguments.bytes("--largest"));
  const auto output = arguments.find("--output");
  if (output) CORTADO_RETURN_IF_ERROR(check_output_path(*output, {arguments.text("--machine")}));
  CORTADO_ASSIGN_OR_RETURN(const Machine base, load_machine(arguments.text("--machine")));
  options.progress = show_progress(console, "measuring");
  watch_for_interrupt();
  const auto machine = pipeline::calibrate(base, options);
  if (!machine) return study_failure(console, machine.error());
  console.clear_progress();
  const std::string text = machine_text(*machine);
  if (!output) {
    console.out(text);
    return Exit::ok;
  }
  CORTADO_RETURN_IF_ERROR(write_file(*output, text));
  const Timing& timing = *machine->timing;
  console.talk(fmt::format("{}: {} thread{} at {:.1f} GB/s, {:.1f} GB/s beyond the caches; wrote {}", machine->name,
                           timing.engine.threads, timing.engine.threads == 1 ? "" : "s", timing.engine.rate.value,
                           timing.memory.node.back().rate.value, *output));
  return Exit::ok;
}

}  // namespace

constinit const Subcommand kCalibrateCommand{"calibrate",
                                             "Measure the embedded node on this computer and write a machine file",
                                             kCalibrateExamples, run_calibrate};

}  // namespace cortado::cli
