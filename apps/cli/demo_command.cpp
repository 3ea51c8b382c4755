// cortado demo: a tour for someone who sees it for the first time, as command lines that it prints and runs.
#include <fmt/format.h>

#include "cortado/machine/machine.hpp"

#include "command_line.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

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
         "bench all-gather --on sim --machine {machine} --sizes 4KiB,1MiB --variant pcpy,bcst,b2b --prelaunch on"},
    Step{"One of them planned, proved (no deadlock, no race, no wrong byte), turned into the packets of DMA engines, "
         "and run:",
         "run all-gather --variant b2b --prelaunch --bytes 1MiB --machine {machine} --on soft --iters 3 --trace "
         "{trace}"},
};

class DemoCommand : public Subcommand {
 public:
  std::string_view name() const override { return "demo"; }
  std::string_view description() const override { return "A tour: prints and runs the most useful command lines"; }
  std::vector<Example> examples() const override {
    return {{"cortado demo", "start here; takes a few seconds"},
            {"cortado demo --machine h100-8 --trace big.json", "another machine, the trace where you want it"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    app.add_option("--trace", trace_, "Where to write the trace")->type_name("FILE")->capture_default_str();
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(check_output_path(trace_, {machine_}));
    CORTADO_RETURN_IF_ERROR(load_machine(machine_));
    for (const Step& step : kSteps) {
      if (interrupted()) return Exit::interrupted;
      const std::string command =
          fmt::format(fmt::runtime(step.command), fmt::arg("machine", machine_), fmt::arg("trace", trace_));
      console.out(fmt::format("\n{}\n", step.about));
      console.out(folded("$ cortado " + command));
      const Exit exit = run_command_line(console, split_words(command));
      if (exit != Exit::ok) return exit;
    }
    console.out(
        fmt::format("\nOpen {} at https://ui.perfetto.dev. Next: cortado --help, cortado list strategies\n", trace_));
    return Exit::ok;
  }

 private:
  /// Lines of at most 100 columns, continued as a shell takes them.
  static std::string folded(const std::string& command) {
    constexpr std::size_t kWidth = 98;
    std::string text;
    std::string line;
    for (const std::string& word : split_words(command)) {
      if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
        text += line + " \\\n";
        line = "    " + word;
      } else {
        line += (line.empty() ? "" : " ") + word;
      }
    }
    return text + line + "\n";
  }

  static std::vector<std::string> split_words(const std::string& text) {
    std::vector<std::string> words;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) words.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return words;
  }

  std::string machine_ = kDefaultMachine;
  std::string trace_ = "cortado-trace.json";
};

}  // namespace

std::unique_ptr<Subcommand> make_demo() {
  return std::make_unique<DemoCommand>();
}

}  // namespace cortado::cli
