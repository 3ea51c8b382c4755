// The system calls of a computer with virtual GPUs, for tests: the virtual KFD answers, and calls can be made to fail.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cortado/machine.hpp"

#include "device/kfd/system.hpp"
#include "device/vkfd/topology_tree.hpp"
#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device {

/// The test's view of it; the system itself belongs to the node.
struct VirtualComputer {
  std::unique_ptr<vkfd::VirtualKfd> driver;
  std::map<std::string, std::string> files;  ///< of sysfs
  std::map<std::string, int> unopenable;     ///< path -> errno
  std::map<kfd::Call, int> failing;          ///< call -> errno
  std::uint32_t minor_version = kfd::kVersionWithEngineQueues;
  std::mutex mutex;
  std::map<int, std::string> open_files;
  std::map<kfd::Call, int> calls;  ///< how often each was made
  std::vector<std::string> log;    ///< of the driver

  std::unique_ptr<KfdSystem> system();
};

class VirtualSystem final : public KfdSystem {
 public:
  explicit VirtualSystem(VirtualComputer& computer) : computer_(computer) {}

  int open(const std::string& path) override {
    if (const auto found = computer_.unopenable.find(path); found != computer_.unopenable.end()) return -found->second;
    const bool render = path.starts_with(kfd::kRenderNodes);
    const std::uint32_t gpu =
        render ? static_cast<std::uint32_t>(std::atoi(path.c_str() + std::string(kfd::kRenderNodes).size())) -
                     kfd::kFirstRenderMinor
               : 0;
    const int file =
        ::dup(render ? computer_.driver->render_file(gpu).descriptor() : computer_.driver->kfd_file().descriptor());
    const std::lock_guard lock(computer_.mutex);
    computer_.open_files[file] = path;
    return file;
  }

  void close(int file) override {
    ::close(file);
    const std::lock_guard lock(computer_.mutex);
    computer_.open_files.erase(file);
  }

  int ioctl(int file, unsigned long request, void* argument) override {
    const auto call = static_cast<kfd::Call>(_IOC_NR(request));
    {
      const std::lock_guard lock(computer_.mutex);
      if (computer_.open_files[file] != kfd::kDevice) return ENOTTY;
      ++computer_.calls[call];
      if (const auto found = computer_.failing.find(call); found != computer_.failing.end()) return found->second;
    }
    const int result = computer_.driver->ioctl(request, argument);
    if (call == kfd::Call::get_version) static_cast<kfd::GetVersion*>(argument)->minor = computer_.minor_version;
    return result;
  }

  Expected<std::string, int> read(const std::string& path) override {
    const auto found = computer_.files.find(path);
    if (found == computer_.files.end()) return Unexpected(ENOENT);
    return found->second;
  }

 private:
  VirtualComputer& computer_;
};

inline std::unique_ptr<KfdSystem> VirtualComputer::system() {
  return std::make_unique<VirtualSystem>(*this);
}

inline std::unique_ptr<VirtualComputer> virtual_computer(const Machine& machine) {
  auto computer = std::make_unique<VirtualComputer>();
  vkfd::VirtualKfdOptions options;
  options.log = [raw = computer.get()](const std::string& line) {
    const std::lock_guard lock(raw->mutex);
    raw->log.push_back(line);
  };
  computer->driver = vkfd::VirtualKfd::create(machine, std::move(options)).value();
  computer->files = vkfd::topology_tree(machine, vkfd::part_of(machine).value());
  return computer;
}

}  // namespace cortado::device
