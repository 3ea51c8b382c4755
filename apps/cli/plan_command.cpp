// cortado plan: a collective as a program file.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/machine/machine.hpp"

#include "output_file.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

class Plan : public Subcommand {
 public:
  std::string_view name() const override { return "plan"; }
  std::string_view description() const override { return "Plan a collective and write it as a program file"; }
  std::vector<Example> examples() const override {
    return {{"cortado plan all-gather --variant bcst --prelaunch --bytes 1MiB --machine mi300x-8 -o ag.json",
             "all-gather with two-destination copies, queued ahead, for 8 GPUs"},
            {"cortado plan all-to-all --variant swap --bytes 64KiB | cortado verify -", "plan into a pipe"},
            {"cortado plan all-gather --variant auto --bytes 64KiB --prelaunch -o small.json",
             "the variant that the simulator finds fastest at this size"},
            {"cortado plan reduce-scatter --bytes 1MiB --ranks 4 --dtype bf16 -o rs.json",
             "DMA moves and reduction kernels"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("collective", collective_, "Which one (cortado list collectives)")->required()->type_name("");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    options_.add_to(app);
    app.add_option("-o,--output", output_, "File to write; - is standard output")
        ->type_name("FILE")
        ->capture_default_str();
  }

  Result<Exit> run(Console& console) override {
    CORTADO_ASSIGN_OR_RETURN(CollectiveRequest request, options_.request(collective_));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    if (output_ != "-") CORTADO_RETURN_IF_ERROR(check_output_path(output_, {machine_}));
    CORTADO_ASSIGN_OR_RETURN(request, options_.settled(request, machine, console));
    CORTADO_ASSIGN_OR_RETURN(const Program program, plan_collective(request, machine));
    const std::string summary = describe(request, program) + ": " + describe_counts(program);
    if (output_ == "-") {
      console.out(to_json(program));
      console.talk(summary);
    } else {
      CORTADO_RETURN_IF_ERROR(write_file(output_, to_json(program)));
      console.talk(fmt::format("{}; wrote {}", summary, output_));
    }
    return Exit::ok;
  }

 private:
  std::string collective_;
  std::string machine_ = kDefaultMachine;
  PlanOptions options_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Subcommand> make_plan() {
  return std::make_unique<Plan>();
}

}  // namespace cortado::cli
