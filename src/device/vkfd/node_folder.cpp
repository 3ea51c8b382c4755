#include "device/vkfd/node_folder.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file.hpp"
#include "device/abi/kfd_abi.hpp"
#include "device/vkfd/topology_tree.hpp"
#include "machine/write.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr const char* kMachineFile = "/machine.toml";
constexpr const char* kOptionsFile = "/options";

std::string findings_file(const std::string& folder, Finding kind) {
  return folder + (kind == Finding::race ? "/races" : "/refusals");
}

/// One "name numbers..." per line.
std::string options_text(const VirtualNodeOptions& options) {
  std::string text;
  if (options.adversarial_seed) text += fmt::format("adversarial {}\n", *options.adversarial_seed);
  if (options.races) text += "races\n";
  if (options.model_time) text += "model-time\n";
  if (!options.trace.empty() || !options.packets.empty()) text += "log-packets\n";
  for (const auto& fault : options.faults.stalled_engines) {
    text += fmt::format("stall {} {} {}\n", fault.gpu.value, fault.engine.value, fault.after_packets);
  }
  for (const auto& fault : options.faults.dropped_doorbells) {
    text += fmt::format("drop-doorbell {} {} {}\n", fault.gpu.value, fault.engine.value, fault.nth);
  }
  for (const auto& fault : options.faults.lost_signals) {
    text += fmt::format("lose-signal {} {} {}\n", fault.gpu.value, fault.engine.value, fault.nth);
  }
  for (const auto& fault : options.faults.delayed_signals) {
    text +=
        fmt::format("delay-signal {} {} {} {}\n", fault.gpu.value, fault.engine.value, fault.nth, fault.nanoseconds);
  }
  for (const auto& fault : options.faults.slow_engines) {
    text += fmt::format("slow {} {} {}\n", fault.gpu.value, fault.engine.value, fault.factor);
  }
  for (const auto& fault : options.faults.lost_interrupts) {
    text += fmt::format("lose-interrupt {} {} {}\n", fault.gpu.value, fault.engine.value, fault.nth);
  }
  return text;
}

VirtualNodeOptions parse_options(const std::string& text) {
  VirtualNodeOptions options;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t numbers[4] = {};
    words >> name;
    for (std::uint64_t& number : numbers) words >> number;
    const RankId gpu{static_cast<std::uint32_t>(numbers[0])};
    const EngineId engine{static_cast<std::uint32_t>(numbers[1])};
    if (name == "adversarial") options.adversarial_seed = numbers[0];
    if (name == "races") options.races = true;
    if (name == "model-time") options.model_time = true;
    if (name == "log-packets") options.packets = "-";
    if (name == "stall") options.faults.stalled_engines.push_back({gpu, engine, numbers[2]});
    if (name == "drop-doorbell") options.faults.dropped_doorbells.push_back({gpu, engine, numbers[2]});
    if (name == "lose-signal") options.faults.lost_signals.push_back({gpu, engine, numbers[2]});
    if (name == "slow") options.faults.slow_engines.push_back({gpu, engine, numbers[2]});
    if (name == "lose-interrupt") options.faults.lost_interrupts.push_back({gpu, engine, numbers[2]});
    if (name == "delay-signal") options.faults.delayed_signals.push_back({gpu, engine, numbers[2], numbers[3]});
  }
  return options;
}

Status write_below(const std::string& folder, const std::string& path, const std::string& content) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder + path).parent_path(), error);
  if (error) return fail(About::environment, "vkfd.folder", fmt::format("{}{}: {}", folder, path, error.message()));
  // Not write_file: this need not survive a crash, and waiting for the disk that often takes seconds on a busy one.
  std::ofstream file(folder + path, std::ios::binary);
  file << content;
  if (!file.flush()) return fail(About::environment, "vkfd.folder", fmt::format("cannot write {}{}", folder, path));
  return {};
}

}  // namespace

Status write_node_folder(const std::string& folder, const Machine& machine, const VirtualNodeOptions& options) {
  CORTADO_ASSIGN_OR_RETURN(const Part part, part_of(machine));
  for (const auto& [path, content] : topology_tree(machine, part)) {
    CORTADO_RETURN_IF_ERROR(write_below(folder, path, content));
  }
  // As the kernel does: the class of the device leads to it.
  const std::filesystem::path link(folder + "/sys/class/kfd/kfd");
  std::error_code error;
  std::filesystem::create_directories(link.parent_path(), error);
  if (!error) std::filesystem::create_directory_symlink("../../devices/virtual/kfd/kfd", link, error);
  if (error) return fail(About::environment, "vkfd.folder", fmt::format("{}: {}", link.string(), error.message()));
  // For programs that only check whether they exist.
  CORTADO_RETURN_IF_ERROR(write_below(folder, kfd::kDevice, ""));
  for (std::uint32_t gpu = 0; gpu < machine.gpus; ++gpu) {
    CORTADO_RETURN_IF_ERROR(
        write_below(folder, fmt::format("{}{}", kfd::kRenderNodes, kfd::kFirstRenderMinor + gpu), ""));
  }
  CORTADO_RETURN_IF_ERROR(write_below(folder, kMachineFile, machine_text(machine)));
  return write_below(folder, kOptionsFile, options_text(options));
}

void add_finding(const std::string& folder, Finding kind, const std::string& line) {
  const int file = ::open(findings_file(folder, kind).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
  ::close(file);
}

Result<std::size_t> count_findings(const std::string& folder, Finding kind) {
  const std::string file = findings_file(folder, kind);
  if (::access(file.c_str(), R_OK) != 0) return 0;
  CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(file));
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

Result<NodeFolder> read_node_folder(const std::string& folder) {
  CORTADO_ASSIGN_OR_RETURN(Machine machine, load_machine(folder + kMachineFile));
  CORTADO_ASSIGN_OR_RETURN(const std::string options, read_file(folder + kOptionsFile));
  return NodeFolder{std::move(machine), parse_options(options)};
}

}  // namespace cortado::device::vkfd
