// The virtual driver of this process: created when a program first opens one of its devices.
#pragma once

#include <string_view>
#include <sys/types.h>

#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device::vkfd {

/// The device that a path names.
struct DeviceName {
  enum class Kind { none, kfd, render } kind = Kind::none;
  std::uint32_t gpu = 0;  ///< of a render node
};

/// The folder of the node; empty in a process without one.
std::string_view node_folder();

DeviceName device_of_path(std::string_view path);
DeviceName device_of_file(dev_t device, ino_t inode);

/// Creates it if there is none yet; null if that fails, with a message printed.
VirtualKfd* open_driver();
/// Null before the first open, and in the child of a fork.
VirtualKfd* driver();

}  // namespace cortado::device::vkfd
