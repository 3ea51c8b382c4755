// Functions that intercept a program's calls of the C library. Paths of the driver's files are redirected to the node's
// folder, and its devices to the virtual driver; everything else is forwarded to the C library.
//
// Open files are recognised by their inode, because programs duplicate descriptors. Devices are plain files in memory,
// so mmap needs attention only beyond their ends. In a process without a node folder, the cost is one check of a
// variable.
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

#include "device/abi/drm_abi.hpp"
#include "node_of_process.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::string_view kOurFiles[] = {"/sys/devices/virtual/kfd",
                                          "/sys/class/kfd",
                                          "/sys/module/amdgpu",
                                          "/sys/dev/char/226:",
                                          "/proc/modules",
                                          "/dev/kfd",
                                          "/dev/dri"};

/// The target of a path: the path itself, or a place in the node's folder.
class Path {
 public:
  explicit Path(const char* path) : path_(path) {
    const std::string_view folder = node_folder();
    if (path == nullptr || path[0] != '/' || folder.empty()) return;
    const std::string_view text(path);
    for (const std::string_view ours : kOurFiles) {
      if (!text.starts_with(ours) || folder.size() + text.size() >= sizeof(buffer_)) continue;
      std::memcpy(buffer_, folder.data(), folder.size());
      std::memcpy(buffer_ + folder.size(), path, text.size() + 1);
      path_ = buffer_;
    }
  }
  const char* get() const { return path_; }

 private:
  const char* path_;
  char buffer_[PATH_MAX];
};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// A descriptor of the device, or -1 with errno.
int open_device(const DeviceName& name, int flags) {
  VirtualKfd* const node = open_driver();
  if (node == nullptr || (name.kind == DeviceName::Kind::render && name.gpu >= node->machine().gpus)) {
    errno = ENOENT;
    return -1;
  }
  const DeviceFile& file = name.kind == DeviceName::Kind::kfd ? node->kfd_file() : node->render_file(name.gpu);
  return ::fcntl(file.descriptor(), (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
}

using OpenFunction = int(const char*, int, ...);
using OpenAtFunction = int(int, const char*, int, ...);

int open_path(OpenFunction* real, const char* path, int flags, mode_t mode) {
  if (path != nullptr) {
    if (const DeviceName name = device_of_path(path); name.kind != DeviceName::Kind::none) {
      return open_device(name, flags);
    }
  }
  return real(Path(path).get(), flags, mode);
}

int open_at(OpenAtFunction* real, int folder, const char* path, int flags, mode_t mode) {
  if (path != nullptr) {
    if (const DeviceName name = device_of_path(path); name.kind != DeviceName::Kind::none) {
      return open_device(name, flags);
    }
  }
  return real(folder, Path(path).get(), flags, mode);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

/// What the driver's devices look like to stat().
template <class Stat>
void dress(const DeviceName& name, Stat& status) {
  if (name.kind == DeviceName::Kind::none) return;
  status.st_mode = S_IFCHR | 0666;
  status.st_rdev = name.kind == DeviceName::Kind::kfd ? ::makedev(234, 0)
                                                      : ::makedev(drm::kMajor, kfd::kFirstRenderMinor + name.gpu);
}

template <class Stat>
int stat_path(int (*real)(const char*, Stat*), const char* path, Stat* status) {
  const int result = real(Path(path).get(), status);
  if (result == 0 && path != nullptr) dress(device_of_path(path), *status);
  return result;
}

template <class Stat>
int stat_file(int (*real)(int, Stat*), int file, Stat* status) {
  const int result = real(file, status);
  if (result == 0 && driver() != nullptr) dress(device_of_file(status->st_dev, status->st_ino), *status);
  return result;
}

template <class Stat>
int stat_at(int (*real)(int, const char*, Stat*, int), int folder, const char* path, Stat* status, int flags) {
  const int result = real(folder, Path(path).get(), status, flags);
  if (result != 0) return result;
  if (path != nullptr && path[0] != '\0') {
    dress(device_of_path(path), *status);
  } else if (driver() != nullptr) {
    dress(device_of_file(status->st_dev, status->st_ino), *status);
  }
  return result;
}

int stat_at_extended(int folder, const char* path, int flags, unsigned mask, struct statx* status) {
  static auto* const real = next<int(int, const char*, int, unsigned, struct statx*)>("statx");
  const int result = real(folder, Path(path).get(), flags, mask, status);
  if (result != 0) return result;
  const bool named = path != nullptr && path[0] != '\0';
  const DeviceName name = named ? device_of_path(path)
                                : device_of_file(::makedev(status->stx_dev_major, status->stx_dev_minor),
                                                 static_cast<ino_t>(status->stx_ino));
  struct stat dressed {};
  dress(name, dressed);
  if (name.kind == DeviceName::Kind::none) return result;
  status->stx_mode = static_cast<decltype(status->stx_mode)>(dressed.st_mode);
  status->stx_rdev_major = ::major(dressed.st_rdev);
  status->stx_rdev_minor = ::minor(dressed.st_rdev);
  return result;
}

DeviceName device_of_descriptor(int file) {
  static auto* const real_fstat = next<int(int, struct stat*)>("fstat");
  struct stat status {};
  if (driver() == nullptr || real_fstat(file, &status) != 0) return {};
  return device_of_file(status.st_dev, status.st_ino);
}

/// A system call, not the C library's function: allocators call mmap before functions can be looked up.
void* map_file(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) {
  const auto begin = static_cast<std::uint64_t>(offset);
  const bool beyond = begin > DeviceFile::kBytes || bytes > DeviceFile::kBytes - begin;
  if (beyond && (flags & MAP_ANONYMOUS) == 0 && device_of_descriptor(file).kind != DeviceName::Kind::none) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

int call_device(int file, unsigned long request, void* argument, bool& ours) {
  const DeviceName name = device_of_descriptor(file);
  ours = false;
  if (name.kind == DeviceName::Kind::none) return 0;
  ours = true;
  return name.kind == DeviceName::Kind::kfd ? driver()->ioctl(request, argument)
                                            : driver()->render_ioctl(name.gpu, request, argument);
}

}  // namespace
}  // namespace cortado::device::vkfd

// The functions have different names in the source: the C library's headers declare its own with attributes that a
// definition would have to repeat.
#define CORTADO_INTERPOSE(result, function, symbol, parameters)                                   \
  extern "C" [[gnu::visibility("default")]] result cortado_##function parameters __asm__(symbol); \
  result cortado_##function parameters

using namespace cortado::device::vkfd;  // NOLINT: all that follows is for it

CORTADO_INTERPOSE(int, ioctl, "ioctl", (int file, unsigned long request, ...)) {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const unsigned type = _IOC_TYPE(request);
  if (type == cortado::device::kfd::kType || type == cortado::device::drm::kType) {
    bool ours = false;
    const int error = call_device(file, request, argument, ours);
    if (ours && error == 0) return 0;
    if (ours) {
      errno = error;
      return -1;
    }
  }
  static auto* const real = next<int(int, unsigned long, ...)>("ioctl");
  return real(file, request, argument);
}

#define CORTADO_OPEN(function, symbol)                                           \
  CORTADO_INTERPOSE(int, function, symbol, (const char* path, int flags, ...)) { \
    static auto* const real = next<OpenFunction>(symbol);                        \
    va_list arguments;                                                           \
    va_start(arguments, flags);                                                  \
    const mode_t mode = mode_of(flags, arguments);                               \
    va_end(arguments);                                                           \
    return open_path(real, path, flags, mode);                                   \
  }
CORTADO_OPEN(open, "open")
CORTADO_OPEN(open64, "open64")

#define CORTADO_OPENAT(function, symbol)                                                     \
  CORTADO_INTERPOSE(int, function, symbol, (int folder, const char* path, int flags, ...)) { \
    static auto* const real = next<OpenAtFunction>(symbol);                                  \
    va_list arguments;                                                                       \
    va_start(arguments, flags);                                                              \
    const mode_t mode = mode_of(flags, arguments);                                           \
    va_end(arguments);                                                                       \
    return open_at(real, folder, path, flags, mode);                                         \
  }
CORTADO_OPENAT(openat, "openat")
CORTADO_OPENAT(openat64, "openat64")

// What open() becomes in programs built with _FORTIFY_SOURCE.
#define CORTADO_OPEN_CHECKED(function, symbol, plain)                       \
  CORTADO_INTERPOSE(int, function, symbol, (const char* path, int flags)) { \
    static auto* const real = next<OpenFunction>(plain);                    \
    return open_path(real, path, flags, 0);                                 \
  }
CORTADO_OPEN_CHECKED(open_checked, "__open_2", "open")
CORTADO_OPEN_CHECKED(open64_checked, "__open64_2", "open64")

#define CORTADO_OPENAT_CHECKED(function, symbol, plain)                                 \
  CORTADO_INTERPOSE(int, function, symbol, (int folder, const char* path, int flags)) { \
    static auto* const real = next<OpenAtFunction>(plain);                              \
    return open_at(real, folder, path, flags, 0);                                       \
  }
CORTADO_OPENAT_CHECKED(openat_checked, "__openat_2", "openat")
CORTADO_OPENAT_CHECKED(openat64_checked, "__openat64_2", "openat64")

#define CORTADO_FOPEN(function, symbol)                                              \
  CORTADO_INTERPOSE(FILE*, function, symbol, (const char* path, const char* mode)) { \
    static auto* const real = next<FILE*(const char*, const char*)>(symbol);         \
    return real(Path(path).get(), mode);                                             \
  }
CORTADO_FOPEN(fopen, "fopen")
CORTADO_FOPEN(fopen64, "fopen64")

CORTADO_INTERPOSE(DIR*, opendir, "opendir", (const char* path)) {
  static auto* const real = next<DIR*(const char*)>("opendir");
  return real(Path(path).get());
}

#define CORTADO_SCANDIR(function, symbol, entry)                                                                      \
  CORTADO_INTERPOSE(                                                                                                  \
      int, function, symbol,                                                                                          \
      (const char* path, entry*** list, int (*filter)(const entry*), int (*compare)(const entry**, const entry**))) { \
    static auto* const real =                                                                                         \
        next<int(const char*, entry***, int (*)(const entry*), int (*)(const entry**, const entry**))>(symbol);       \
    return real(Path(path).get(), list, filter, compare);                                                             \
  }
CORTADO_SCANDIR(scandir, "scandir", struct dirent)
CORTADO_SCANDIR(scandir64, "scandir64", struct dirent64)

CORTADO_INTERPOSE(int, access, "access", (const char* path, int mode)) {
  static auto* const real = next<int(const char*, int)>("access");
  return real(Path(path).get(), mode);
}

CORTADO_INTERPOSE(int, faccessat, "faccessat", (int folder, const char* path, int mode, int flags)) {
  static auto* const real = next<int(int, const char*, int, int)>("faccessat");
  return real(folder, Path(path).get(), mode, flags);
}

CORTADO_INTERPOSE(ssize_t, readlink, "readlink", (const char* path, char* out, size_t bytes)) {
  static auto* const real = next<ssize_t(const char*, char*, size_t)>("readlink");
  return real(Path(path).get(), out, bytes);
}

// What ls -l asks about a file.
#define CORTADO_ATTRIBUTE(function, symbol)                                                                     \
  CORTADO_INTERPOSE(ssize_t, function, symbol, (const char* path, const char* name, void* out, size_t bytes)) { \
    static auto* const real = next<ssize_t(const char*, const char*, void*, size_t)>(symbol);                   \
    return real(Path(path).get(), name, out, bytes);                                                            \
  }
CORTADO_ATTRIBUTE(getxattr, "getxattr")
CORTADO_ATTRIBUTE(lgetxattr, "lgetxattr")

CORTADO_INTERPOSE(void*, mmap, "mmap", (void* at, size_t bytes, int protection, int flags, int file, off_t offset)) {
  return map_file(at, bytes, protection, flags, file, offset);
}
CORTADO_INTERPOSE(void*, mmap64, "mmap64",
                  (void* at, size_t bytes, int protection, int flags, int file, off64_t offset)) {
  return map_file(at, bytes, protection, flags, file, offset);
}

CORTADO_INTERPOSE(int, statx, "statx", (int folder, const char* path, int flags, unsigned mask, struct statx* status)) {
  return stat_at_extended(folder, path, flags, mask, status);
}

#define CORTADO_STAT(function, symbol, type)                                   \
  CORTADO_INTERPOSE(int, function, symbol, (const char* path, type* status)) { \
    static auto* const real = next<int(const char*, type*)>(symbol);           \
    return stat_path<type>(real, path, status);                                \
  }
CORTADO_STAT(stat, "stat", struct stat)
CORTADO_STAT(stat64, "stat64", struct stat64)
CORTADO_STAT(lstat, "lstat", struct stat)
CORTADO_STAT(lstat64, "lstat64", struct stat64)

#define CORTADO_FSTAT(function, symbol, type)                          \
  CORTADO_INTERPOSE(int, function, symbol, (int file, type* status)) { \
    static auto* const real = next<int(int, type*)>(symbol);           \
    return stat_file<type>(real, file, status);                        \
  }
CORTADO_FSTAT(fstat, "fstat", struct stat)
CORTADO_FSTAT(fstat64, "fstat64", struct stat64)

#define CORTADO_FSTATAT(function, symbol, type)                                                       \
  CORTADO_INTERPOSE(int, function, symbol, (int folder, const char* path, type* status, int flags)) { \
    static auto* const real = next<int(int, const char*, type*, int)>(symbol);                        \
    return stat_at<type>(real, folder, path, status, flags);                                          \
  }
CORTADO_FSTATAT(fstatat, "fstatat", struct stat)
CORTADO_FSTATAT(fstatat64, "fstatat64", struct stat64)
