// cortado node: an unmodified program for AMD GPUs, on a virtual driver.
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "command.hpp"
#include "device/kfd/kfd.hpp"
#include "device/vkfd/vkfd.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kNodeExamples[] = {
    {"cortado node -- cortado run all-gather --bytes 1MiB --on kfd", "the kfd target on 8 virtual MI300X"},
    {"cortado node --races --adversarial --seed 7 -- cortado run all-to-all --bytes 64KiB --on kfd",
     "in a random order, reporting any engine that reads what another is still writing"}};

/// Next to this program, or where an installation puts libraries.
std::string interposer() {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto beside = here / "libcortado-kfd.so";
  if (std::filesystem::exists(beside, error)) return beside.string();
  for (const char* folder : {"lib", "lib/x86_64-linux-gnu", "lib64"}) {
    const auto installed = here.parent_path() / folder / "libcortado-kfd.so";
    if (std::filesystem::exists(installed, error)) return installed.string();
  }
  return beside.string();
}

Result<Exit> run_node(const Arguments& arguments, Console& console) {
  if (arguments.given("--report")) {
    CORTADO_RETURN_IF_ERROR(arguments.check({"report"}));
    console.out(device::kfd_report());
    return Exit::ok;
  }
  if (!arguments.given("command")) {
    return fail("usage.argument", "no command given", "use cortado node -- COMMAND, as you would type it");
  }
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(arguments.text("--machine")));
  device::VirtualNodeOptions options;
  if (arguments.given("--adversarial")) options.adversarial_seed = arguments.number<std::uint64_t>("--seed");
  for (const std::string& text : arguments.all("--inject")) {
    CORTADO_RETURN_IF_ERROR(parse_injection(text, machine.gpus, machine, options.faults));
  }
  options.model_time = arguments.text("--clock") == "model";
  options.races = arguments.given("--races");
  options.trace = arguments.or_empty("--trace");
  options.packets = arguments.or_empty("--packets");
  for (const std::string& file : {options.trace, options.packets}) {
    if (!file.empty()) CORTADO_RETURN_IF_ERROR(check_output_path(file, {arguments.text("--machine")}));
  }
  CORTADO_ASSIGN_OR_RETURN(const auto run,
                           device::run_on_virtual_node(machine, options, interposer(), arguments.all("command")));
  if (run.races > 0) console.talk(fmt::format("{} race{} between engines", run.races, run.races == 1 ? "" : "s"));
  if (run.exit_code == 0 && run.races + run.refusals > 0) return Exit::failed;
  return static_cast<Exit>(run.exit_code);
}

}  // namespace

constinit const Subcommand kNodeCommand{"node", "Run a program written for AMD GPUs on a virtual driver, without a GPU",
                                        kNodeExamples, run_node};

}  // namespace cortado::cli
