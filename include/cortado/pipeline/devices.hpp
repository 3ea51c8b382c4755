// Opening a device by name. The one list of devices is in devices.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/device/driver.hpp"
#include "cortado/device/soft.hpp"
#include "cortado/machine/machine.hpp"

namespace cortado::pipeline {

struct DeviceInfo {
  std::string_view name;
  std::string_view summary;
};

std::vector<DeviceInfo> list_devices();

/// What stands beside the devices where times can be predicted as well as measured. Nothing runs there, so open_device
/// refuses it.
inline constexpr DeviceInfo kSimulator{
    "sim", "no device but the simulator: times of the modelled machine (bench, breakdown, overlap; cortado simulate)"};

struct DeviceRequest {
  std::string name = "soft";
  std::uint32_t gpus = 0;      ///< at least so many
  device::SoftOptions soft{};  ///< refused by devices that cannot do them
};

/// Unknown names are refused with the list; a device with fewer GPUs than asked for is refused.
Result<std::unique_ptr<device::Driver>> open_device(const DeviceRequest& request, const Machine& machine);

}  // namespace cortado::pipeline
