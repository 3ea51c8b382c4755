// The system calls of a computer with virtual GPUs, for tests: the virtual KFD answers, and calls can be made to fail.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cortado/machine/machine.hpp"

#include "device/kfd/system.hpp"
#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device {

/// What a test holds of it; the system itself belongs to the node.
struct VirtualComputer {
  std::unique_ptr<vkfd::VirtualKfd> driver;
  std::map<std::string, std::string> files;  ///< of sysfs
  std::map<std::string, int> unopenable;     ///< path -> errno
  std::map<kfd::Call, int> failing;          ///< call -> errno
  std::uint32_t minor_version = kfd::kVersionWithEngineQueues;
  std::mutex mutex;
  std::map<int, std::string> open_files;
  std::map<kfd::Call, int> calls;  ///< how often
  std::vector<std::string> log;    ///< of the driver

  std::unique_ptr<KfdSystem> system();
};

std::unique_ptr<VirtualComputer> virtual_computer(const Machine& machine);

}  // namespace cortado::device
