// The real AMD GPUs of this computer, behind the driver seam, by the ioctls of /dev/kfd, sysfs and the
// render nodes: the interface of the kernel, which stays. No library of AMD is involved.
#pragma once

#include <memory>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device {

/// RankId i is the i-th GPU in the order of the driver's node numbers. The node has DMA queues and no compute queues.
///
/// Queues sit on the engine asked for if the kernel interface is 1.17 or later. Otherwise the kernel chooses an engine
/// of the same class (host or peer): programs stay correct, but the topology recommends no engines, and two queues for
/// different engines may share one and take turns.
///
/// Opens the node. Without a GPU: an environment error that names the cause (file and errno) and what to
/// use instead.
Result<std::unique_ptr<Driver>> open_kfd_node();

}  // namespace cortado::device
