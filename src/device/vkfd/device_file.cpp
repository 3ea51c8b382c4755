#include "device/vkfd/device_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace cortado::device::vkfd {
namespace {

constexpr std::uint64_t kFilePage = 4096;
constexpr int kHighDescriptor = 700;  // out of the way of programs that count their own

}  // namespace

Result<DeviceFile> DeviceFile::create(const char* name) {
  DeviceFile file;
  const int low = ::memfd_create(name, MFD_CLOEXEC);
  if (low >= 0) file.descriptor_ = ::fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (low >= 0 && file.descriptor_ < 0) {
    file.descriptor_ = low;  // the limit of descriptors is small
  } else if (low >= 0) {
    ::close(low);
  }
  struct stat status {};
  if (file.descriptor_ < 0 || ::ftruncate(file.descriptor_, static_cast<off_t>(kBytes)) != 0 ||
      ::fstat(file.descriptor_, &status) != 0) {
    return fail(Diagnostic{"vkfd.memory",
                           fmt::format("a file in memory for {}: {}", name, std::strerror(errno)),
                           {},
                           {},
                           About::environment});
  }
  file.device_ = status.st_dev;
  file.inode_ = status.st_ino;
  return file;
}

DeviceFile::DeviceFile(DeviceFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      device_(other.device_),
      inode_(other.inode_),
      next_(other.next_) {}

DeviceFile& DeviceFile::operator=(DeviceFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  device_ = other.device_;
  inode_ = other.inode_;
  next_ = other.next_;
  return *this;
}

DeviceFile::~DeviceFile() {
  close();
}

void DeviceFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

std::uint64_t DeviceFile::reserve(std::uint64_t bytes) {
  return std::exchange(next_, next_ + (bytes + kFilePage - 1) / kFilePage * kFilePage);
}

void DeviceFile::punch(std::uint64_t offset, std::uint64_t bytes) const {
  ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

std::byte* DeviceFile::map(std::uint64_t offset, std::uint64_t bytes) const {
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_,
                              static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

}  // namespace cortado::device::vkfd
