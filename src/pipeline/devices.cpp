#include "cortado/pipeline/devices.hpp"

#include <array>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/device/kfd.hpp"

namespace cortado::pipeline {
namespace {

using Opened = Result<std::unique_ptr<device::Driver>>;

Opened open_soft(const DeviceRequest& request, const Machine& machine) {
  return device::open_soft_node(machine, request.gpus, request.soft);
}

Opened open_kfd(const DeviceRequest& request, const Machine&) {
  if (request.soft.workers || request.soft.adversarial_seed || !request.soft.faults.empty()) {
    return fail("device.option", "workers, adversarial order and injected faults exist on the embedded node only",
                "leave them out or run on soft");
  }
  return device::open_kfd_node();
}

struct Device {
  DeviceInfo info;
  Opened (*open)(const DeviceRequest&, const Machine&);
};

constexpr std::array kDevices{
    Device{{"soft", "the embedded node: software DMA engines that execute the real packets on real memory"}, open_soft},
    Device{{"kfd", "the AMD GPUs of this computer, through /dev/kfd and libhsakmt"}, open_kfd},
};

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> infos;
  for (const Device& device : kDevices) infos.push_back(device.info);
  return infos;
}

Opened open_device(const DeviceRequest& request, const Machine& machine) {
  std::vector<std::string> names;
  for (const Device& device : kDevices) {
    names.emplace_back(device.info.name);
    if (device.info.name != request.name) continue;
    CORTADO_ASSIGN_OR_RETURN(auto driver, device.open(request, machine));
    if (const std::size_t gpus = driver->topology().gpus.size(); gpus < request.gpus) {
      return fail("device.gpus", fmt::format("{} GPUs are needed, {} has {}", request.gpus, request.name, gpus),
                  fmt::format("plan for at most {} ranks or run on soft", gpus));
    }
    return driver;
  }
  if (request.name == kSimulator.name) {
    return fail("device.unknown", "sim is the simulator, not a device: programs do not run there",
                fmt::format("predict with cortado simulate, or run on {}", join(names, " or ")));
  }
  return fail(
      "device.unknown", fmt::format("there is no device '{}'", request.name),
      fmt::format("devices are {}; bench, breakdown and overlap take {} as well", join(names), kSimulator.name));
}

}  // namespace cortado::pipeline
