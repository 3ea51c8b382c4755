// What the driver reports about a GPU beyond the contents of a machine file: identities and shapes that programs only
// pass on.
#pragma once

#include <cstdint>
#include <string_view>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

namespace cortado::device::vkfd {

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

}  // namespace cortado::device::vkfd
