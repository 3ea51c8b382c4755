// The real AMD GPUs of this computer, behind the driver seam, through libhsakmt loaded at run time.
#pragma once

#include <memory>

#include "cortado/base/result.hpp"
#include "cortado/device/driver.hpp"

namespace cortado::device {

/// Opens the node. Without a GPU: an environment error that names the cause (library, /dev/kfd and errno) and what to use
/// instead.
Result<std::unique_ptr<Driver>> open_kfd_node();

}  // namespace cortado::device
