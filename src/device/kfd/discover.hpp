// The GPUs of the node as the kernel driver describes them.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/kfd/thunk.hpp"

namespace cortado::device {

struct Discovery {
  Topology topology;
  /// KFD node number of each GPU: RankId i is the i-th node with compute units, in the order of node numbers.
  std::vector<HSAuint32> gpu_nodes;
  HSAuint32 host_node = 0;  ///< first node with CPU cores
  /// Queues are made on the engine asked for: the library has hsaKmtCreateQueueExt and the kernel interface is 1.17 or
  /// later. Otherwise the kernel chooses the engine within the class.
  bool queues_by_engine = false;
};

/// Needs an open KFD and acquired system properties, whose number of nodes is `nodes`.
Result<Discovery> discover(const ThunkFunctions& thunk, std::uint32_t nodes);

}  // namespace cortado::device
