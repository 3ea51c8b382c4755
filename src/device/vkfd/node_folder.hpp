// The folder that `cortado node` creates for its programs, and its contents: the files of the driver, the machine, and
// the settings of the node.
#pragma once

#include <cstddef>
#include <string>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

#include "device/vkfd/vkfd.hpp"

namespace cortado::device::vkfd {

/// Environment variable that names the folder.
inline constexpr const char* kFolderVariable = "CORTADO_NODE";

/// Writes everything into the folder, which must exist.
Status write_node_folder(const std::string& folder, const Machine& machine, const VirtualNodeOptions& options);

/// What a process of the node has reported, one line each; later calls count all lines of a kind.
enum class Finding { race, refusal };
void add_finding(const std::string& folder, Finding kind, const std::string& line);
Result<std::size_t> count_findings(const std::string& folder, Finding kind);

struct NodeFolder {
  Machine machine;
  VirtualNodeOptions options;
};
Result<NodeFolder> read_node_folder(const std::string& folder);

}  // namespace cortado::device::vkfd
