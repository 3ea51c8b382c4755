// A device file that programs open and map: a sparse file in memory, so that mappings work without further support.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

#include "cortado/result.hpp"

namespace cortado::device::vkfd {

class DeviceFile {
 public:
  /// Sparse: more than any program allocates in its lifetime.
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 46;

  static Result<DeviceFile> create(const char* name);
  DeviceFile(DeviceFile&& other) noexcept;
  DeviceFile& operator=(DeviceFile&& other) noexcept;
  ~DeviceFile();

  int descriptor() const { return descriptor_; }
  /// Whether the open file is this one; programs duplicate descriptors, so the number means nothing.
  bool is(dev_t device, ino_t inode) const { return device == device_ && inode == inode_; }

  /// For the child of a fork, which has its own files.
  void close();

  /// Whole pages that were never handed out before.
  std::uint64_t reserve(std::uint64_t bytes);
  /// Releases the memory of pages.
  void punch(std::uint64_t offset, std::uint64_t bytes) const;
  /// A mapping for ourselves; null if the system refuses.
  std::byte* map(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  DeviceFile() = default;

  int descriptor_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace cortado::device::vkfd
