// cortado calibrate: a machine file for the embedded node of this computer.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/machine/write.hpp"
#include "cortado/pipeline/calibrate.hpp"

#include "interrupt.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

class CalibrateCommand : public Subcommand {
 public:
  std::string_view name() const override { return "calibrate"; }
  std::string_view description() const override {
    return "Measure the embedded node of this computer and write a machine file";
  }
  std::vector<Example> examples() const override {
    return {{"cortado calibrate --largest 16MiB -o here.toml", "a file for compare and bench --on sim; quick"},
            {"cortado calibrate --machine h100-8 --workers 0 --rounds 1 --largest 1MiB", "another shape, one thread"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--machine", machine_, "Shape and limits of the node: a machine by name or .toml file")
        ->type_name("NAME")
        ->capture_default_str();
    add_number(app, "--workers", options_.workers, "Threads beside the caller's (default: cores - 1)")->type_name("N");
    add_number(app, "--rounds", options_.rounds, "Times that everything is measured; medians count", {.least = 1})
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--largest", largest_, "Most bytes that one measurement touches, up to 4GiB; less is quicker")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_option("-o,--output", output_, "Write the file here instead of to standard output")->type_name("FILE");
  }

  Result<Exit> run(Console& console) override {
    if (options_.rounds == 0) return fail("usage.rounds", "--rounds 0 measures nothing", "give 1 or more");
    CORTADO_ASSIGN_OR_RETURN(options_.largest, parse_bytes(largest_));
    if (output_) CORTADO_RETURN_IF_ERROR(check_output_path(*output_, {machine_}));
    CORTADO_ASSIGN_OR_RETURN(const Machine base, load_machine(machine_));
    options_.progress = [&console](std::uint32_t done, std::uint32_t of) {
      console.progress(fmt::format("calibrating: {} of {}", done, of));
      return !interrupted();
    };
    watch_for_interrupt();
    const auto machine = pipeline::calibrate(base, options_);
    console.clear_progress();
    if (!machine && interrupted()) {
      console.talk("interrupted while calibrating");
      return Exit::interrupted;
    }
    if (!machine) return console.failure(machine.error());
    const std::string text = machine_text(*machine);
    if (!output_) {
      console.out(text);
      return Exit::ok;
    }
    CORTADO_RETURN_IF_ERROR(write_file(*output_, text));
    const Timing& timing = *machine->timing;
    console.talk(fmt::format("{}: {} thread{} of {:.1f} GB/s, {:.1f} GB/s beyond the caches; wrote {}", machine->name,
                             timing.engine.threads, timing.engine.threads == 1 ? "" : "s", timing.engine.rate.value,
                             timing.memory.node.back().rate.value, *output_));
    return Exit::ok;
  }

 private:
  std::string machine_ = kDefaultMachine;
  std::string largest_ = "256MiB";
  std::optional<std::string> output_;
  pipeline::CalibrateOptions options_;
};

}  // namespace

std::unique_ptr<Subcommand> make_calibrate() {
  return std::make_unique<CalibrateCommand>();
}

}  // namespace cortado::cli
