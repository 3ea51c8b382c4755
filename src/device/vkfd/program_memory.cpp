#include "device/vkfd/program_memory.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cortado::device::vkfd {
namespace {

constexpr std::uintptr_t kProbePage = 4096;
constexpr std::size_t kMaskBytes = 8;  // of a signal mask

/// Whether the 8 bytes around the address can be read: the kernel reads a signal mask before it finds that it does not
/// know what to do with it.
bool readable(std::uintptr_t address) {
  constexpr int kUnknown = -1;
  const auto* const mask = reinterpret_cast<const void*>(address / kMaskBytes * kMaskBytes);
  return mask != nullptr &&
         (::syscall(SYS_rt_sigprocmask, kUnknown, mask, nullptr, kMaskBytes) == 0 || errno != EFAULT);
}

/// Whether 8 bytes at the address can be written: the kernel writes the signal mask of the thread there.
bool writable(std::uintptr_t address) {
  return ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, address, kMaskBytes) == 0;
}

/// For any length. It costs several times as much as a signal mask.
bool write_far(void* to, const void* from, std::size_t bytes) {
  const iovec ours{const_cast<void*>(from), bytes};
  const iovec theirs{to, bytes};
  const ssize_t written = ::process_vm_writev(::getpid(), &ours, 1, &theirs, 1, 0);
  if (written < 0 && (errno == ENOSYS || errno == EPERM)) {  // a sandbox forbids it
    std::memcpy(to, from, bytes);
    return true;
  }
  return written == static_cast<ssize_t>(bytes);
}

}  // namespace

bool copy_in(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return true;
  const int error = errno;
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  const std::uintptr_t last = begin + bytes - 1;
  if (last < begin || !readable(begin)) return false;
  for (std::uintptr_t page = begin / kProbePage + 1; page <= last / kProbePage; ++page) {
    if (!readable(page * kProbePage)) return false;
  }
  errno = error;
  std::memcpy(to, from, bytes);
  return true;
}

bool copy_out(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return true;
  const int error = errno;
  const auto begin = reinterpret_cast<std::uintptr_t>(to);
  if (begin == 0) return false;
  if (bytes < kMaskBytes || bytes > kProbePage) {
    if (!write_far(to, from, bytes)) return false;
  } else {  // on two pages at most
    const std::uintptr_t last = begin + bytes - kMaskBytes;
    const bool two_pages = (begin + bytes - 1) / kProbePage != begin / kProbePage;
    if (!writable(begin) || (two_pages && !writable(last))) return false;
    std::memcpy(to, from, bytes);
  }
  errno = error;
  return true;
}

}  // namespace cortado::device::vkfd
