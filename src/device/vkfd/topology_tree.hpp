// The files in which the kernel driver describes a machine to programs, generated from a machine file.
//
// Node 0 is the host with its cores, node 1 + i is GPU i. Links are those of the machine: GPUs to the host by PCIe,
// linked pairs by xGMI.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

namespace cortado::device::vkfd {

/// What the driver reports about a GPU beyond the contents of a machine file: identities and shapes that programs only
/// pass on.
struct Part {
  std::string_view gpu;              ///< machine.gpu
  std::uint32_t gfx_target_version;  ///< 90402 = gfx942
  std::uint32_t device_id;           ///< PCI
  std::uint32_t compute_dies;        ///< num_xcc
  std::uint32_t shader_arrays;
  std::uint32_t units_per_array;
  std::uint32_t engine_clock_mhz;
  std::uint32_t cache_kib;  ///< the last level that the driver lists
};

/// Rejects machines whose GPUs have no KFD (vkfd.machine).
Result<Part> part_of(const Machine& machine);

/// What ioctls call GPU i. Not 0, which is the host; and not i, so that the two are not confused.
constexpr std::uint32_t gpu_id(std::uint32_t gpu) {
  return 0x1000 + 0x101 * (gpu + 1);
}

/// Absolute path -> content, for /sys and /proc.
std::map<std::string, std::string> topology_tree(const Machine& machine, const Part& part);

}  // namespace cortado::device::vkfd
