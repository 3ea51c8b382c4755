// The GPUs of the node as the kernel driver describes them in sysfs.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/kfd/system.hpp"

namespace cortado::device {

struct KfdGpu {
  std::uint32_t node = 0;  ///< number in sysfs
  std::uint32_t id = 0;    ///< what ioctls call it
  std::uint32_t render_minor = 0;
};

struct Discovery {
  Topology topology;
  std::vector<KfdGpu> gpus;  ///< RankId i is the i-th GPU in the order of node numbers
  /// Queues are created on the requested engine: the kernel interface is 1.17 or later. Otherwise the kernel chooses
  /// the engine within the class.
  bool queues_by_engine = false;
};

Result<Discovery> discover(KfdSystem& system, const kfd::GetVersion& version);

}  // namespace cortado::device
