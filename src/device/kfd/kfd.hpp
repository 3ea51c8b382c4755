// The real AMD GPUs of this computer, behind the driver seam, through libhsakmt loaded at run time.
#pragma once

#include <memory>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device {

/// RankId i is the i-th GPU in the order of the driver's node numbers. The node has DMA queues and no compute queues.
///
/// Queues sit on the engine asked for if the library has hsaKmtCreateQueueExt and the kernel interface is 1.17 or
/// later. Otherwise the kernel chooses an engine of the same class (host or peer): programs stay correct, but the
/// topology recommends no engines, and two queues for different engines may share one and take turns.
///
/// Opens the node. Without a GPU: an environment error that names the cause (library, /dev/kfd and errno) and what to
/// use instead.
Result<std::unique_ptr<Driver>> open_kfd_node();

}  // namespace cortado::device
