#include <algorithm>

#include <fmt/format.h>

#include "cortado/machine.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "machine/embedded.hpp"

namespace cortado {
namespace {

constexpr SizeLimit kMachineFiles{Bytes{4ULL << 20}, "machine files"};

}  // namespace

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : internal::embedded_machines()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Machine> load_machine(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) {
    CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(name_or_path, kMachineFiles));
    return parse_machine(text, name_or_path);
  }
  for (const auto& [name, text] : internal::embedded_machines()) {
    if (name == name_or_path) return parse_machine(std::string(text), "built in");
  }
  const std::vector<std::string> names = machine_names();
  return fail("machine.unknown", fmt::format("unknown machine \"{}\"", name_or_path),
              suggestion(name_or_path, names, "machines: ") + "; or use the path of a .toml file");
}

}  // namespace cortado
