#include "device/kfd/system.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace cortado::device {
namespace {

class LinuxSystem final : public KfdSystem {
 public:
  int open(const std::string& path) override {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    return file >= 0 ? file : -errno;
  }

  void close(int file) override { ::close(file); }

  int ioctl(int file, unsigned long request, void* argument) override {
    for (;;) {
      if (::ioctl(file, request, argument) == 0) return 0;
      if (errno != EINTR && errno != EAGAIN) return errno;
    }
  }

  Expected<std::string, int> read(const std::string& path) override {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return Unexpected(errno);
    std::string text(65536, '\0');  // files of sysfs are at most a page
    const ssize_t bytes = ::read(file, text.data(), text.size());
    const int error = errno;
    ::close(file);
    if (bytes < 0) return Unexpected(error);
    text.resize(static_cast<std::size_t>(bytes));
    return text;
  }
};

}  // namespace

std::unique_ptr<KfdSystem> linux_system() {
  return std::make_unique<LinuxSystem>();
}

Diagnostic system_error(std::string code, const std::string& what, int error, std::string hint) {
  return {std::move(code),
          fmt::format("{}: errno {} ({})", what, error, std::strerror(error)),
          std::move(hint),
          {},
          About::environment};
}

}  // namespace cortado::device
