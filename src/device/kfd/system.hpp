// The system calls that the node uses. Tests substitute the virtual KFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cortado/result.hpp"

#include "device/abi/kfd_abi.hpp"

namespace cortado::device {

/// Advice if there is no AMD GPU.
inline constexpr const char* kUseSoft = "run on the embedded node instead: --on soft";

class KfdSystem {
 public:
  KfdSystem() = default;
  KfdSystem(const KfdSystem&) = delete;
  KfdSystem& operator=(const KfdSystem&) = delete;
  virtual ~KfdSystem() = default;

  /// For reading and writing; -errno if it cannot be opened.
  virtual int open(const std::string& path) = 0;
  virtual void close(int file) = 0;
  /// 0 or an errno. Calls interrupted by a signal are repeated.
  virtual int ioctl(int file, unsigned long request, void* argument) = 0;
  /// The contents of a small file, or an errno.
  virtual Expected<std::string, int> read(const std::string& path) = 0;

  template <class T>
  int call(int file, kfd::Call number, T& argument) {
    return ioctl(file, kfd::request<T>(number), &argument);
  }
};

std::unique_ptr<KfdSystem> linux_system();

/// An environment error: "<what>: errno 12 (Cannot allocate memory)".
Diagnostic system_error(std::string code, const std::string& what, int error, std::string hint = {});

}  // namespace cortado::device
