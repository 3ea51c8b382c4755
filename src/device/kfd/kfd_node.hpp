// The node over a table of thunk functions: the library's, or a stand-in's.
#pragma once

#include <memory>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/kfd/thunk.hpp"

namespace cortado::device {

Result<std::unique_ptr<Driver>> open_kfd_node(ThunkFunctions thunk);

}  // namespace cortado::device
