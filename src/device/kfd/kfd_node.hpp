// The node, on the system calls of this computer or of a test.
#pragma once

#include <memory>
#include <string>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/kfd/system.hpp"

namespace cortado::device {

Result<std::unique_ptr<Driver>> open_kfd_node(std::unique_ptr<KfdSystem> system);
std::string kfd_report(std::unique_ptr<KfdSystem> system);

}  // namespace cortado::device
