// The files in which the kernel driver describes a machine to programs, generated from a machine file.
//
// Node 0 is the host with its cores, node 1 + i is GPU i. Links are those of the machine: GPUs to the host by PCIe,
// linked pairs by xGMI.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cortado/machine.hpp"

#include "device/vkfd/part.hpp"

namespace cortado::device::vkfd {

/// What ioctls call GPU i. Not 0, which is the host; and not i, so that the two are not confused.
constexpr std::uint32_t gpu_id(std::uint32_t gpu) {
  return 0x1000 + 0x101 * (gpu + 1);
}

/// Absolute path -> content, for /sys and /proc.
std::map<std::string, std::string> topology_tree(const Machine& machine, const Part& part);

}  // namespace cortado::device::vkfd
