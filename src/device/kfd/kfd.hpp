// The real AMD GPUs of this computer, behind the driver seam, through the ioctls of /dev/kfd, sysfs and the render
// nodes: the stable interface of the kernel. No AMD library is involved.
#pragma once

#include <memory>
#include <string>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device {

/// Opens the node. RankId i is the i-th GPU in the order of the driver's node numbers. The node has
/// DMA queues and no compute queues. Without a GPU: an environment error that names the cause (file
/// and errno) and what to use instead.
///
/// Queues are on the requested engine if the kernel interface is 1.17 or later. Otherwise the
/// kernel chooses an engine of the same class (host or peer): programs stay correct, but the
/// topology recommends no engines, and two queues for different engines may share one and take
/// turns.
Result<std::unique_ptr<Driver>> open_kfd_node();

/// Versions, topology and the result of a small copy on every GPU, call by call, for diagnosing failures. No serial
/// numbers, no names.
std::string kfd_report();

}  // namespace cortado::device
