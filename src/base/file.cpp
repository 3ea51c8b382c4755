#include "base/file.hpp"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/platform.hpp"
#include "base/text.hpp"

namespace cortado {
namespace {

/// Owns a file descriptor; standard input is borrowed, not closed.
class Descriptor {
 public:
  explicit Descriptor(int fd, bool owned = true) : fd_(fd), owned_(owned) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  int close() {
    const int result = owned_ && fd_ >= 0 ? ::close(fd_) : 0;
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
  bool owned_;
};

Diagnostic file_error(const std::string& call, const std::string& path, int errno_value, std::string hint = {}) {
  Diagnostic diagnostic = system_error("file." + call, call, errno_value, std::move(hint));
  diagnostic.place.file = path;
  return diagnostic;
}

constexpr int kMostLinks = 40;  // as many as Linux follows

/// Special files (/dev/stdout, pipes) cannot be replaced by a rename and are written in place.
bool replaceable(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

Status write_all(int fd, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(file_error("write", path, errno));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

#if CORTADO_HOSTED

/// Copies mode and owner from the file that will be replaced; if there is none, those of a new file.
Status keep_mode(int fd, const std::string& path) {
  struct stat old {};
  if (::stat(path.c_str(), &old) != 0) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(fd, 0666 & ~mask) != 0) return fail(file_error("fchmod", path, errno));
    return {};
  }
  mode_t mode = old.st_mode & 07777;
  // If the group cannot be kept, its permissions must not go to another group.
  if (::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) mode &= ~070U;
  if (::fchmod(fd, mode) != 0) return fail(file_error("fchmod", path, errno));
  return {};
}

#endif

/// Name of the temporary file of the current write_file(). A second one at the same time is not recorded.
char g_unfinished[PATH_MAX];
std::atomic<bool> g_unfinished_taken{false};
std::atomic<bool> g_unfinished_valid{false};

class Unfinished {
 public:
  explicit Unfinished(const std::string& path)
      : mine_(path.size() < sizeof g_unfinished && !g_unfinished_taken.exchange(true)) {
    if (!mine_) return;
    path.copy(g_unfinished, path.size());
    g_unfinished[path.size()] = '\0';
    g_unfinished_valid.store(true);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!mine_) return;
    g_unfinished_valid.store(false);
    g_unfinished_taken.store(false);
  }

 private:
  bool mine_;
};

}  // namespace

void remove_unfinished_file() noexcept {
  if (g_unfinished_valid.load()) ::unlink(g_unfinished);
}

Result<std::string> followed(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  if (fs::exists(path, error)) {
    const fs::path target = fs::canonical(path, error);
    return error ? path : target.string();  // what is behind /dev/stdout may have no path
  }
  fs::path target = path;
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == kMostLinks) return fail(file_error("open", path, ELOOP, "the link points back to itself"));
    const fs::path next = fs::read_symlink(target, error);
    if (error) return fail(file_error("readlink", path, error.value()));
    target = target.parent_path() / next;  // `next` alone, if it is absolute
  }
  return target.string();
}

Result<std::string> read_file(const std::string& path, const SizeLimit& limit) {
  const bool standard_input = path == "-";
  Descriptor file(standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC), !standard_input);
  if (file.get() < 0) return fail(file_error("open", path, errno, "check the path"));
  std::string content;
  char chunk[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(file_error("read", path, errno, errno == EISDIR ? "use a file, not a folder" : ""));
    if (count == 0) return content;
    if (content.size() + static_cast<std::size_t>(count) > limit.bytes.value) {
      Diagnostic diagnostic{"file.size",
                            fmt::format("larger than {}, the limit for {}", format_bytes(limit.bytes), limit.what),
                            "check that it is the right file"};
      diagnostic.place.file = path;
      return fail(std::move(diagnostic));
    }
    content.append(chunk, static_cast<std::size_t>(count));
  }
}

Status write_file(const std::string& given_path, std::string_view content) {
  CORTADO_ASSIGN_OR_RETURN(const std::string path, followed(given_path));
  if (!replaceable(path)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) return fail(file_error("open", path, errno));
    return write_all(file.get(), path, content);
  }
#if CORTADO_HOSTED
  std::string temporary = path + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return fail(file_error("open", path, errno, "check that the folder exists and is writable"));
  const Unfinished unfinished(temporary);
  const auto give_up = [&](Diagnostic diagnostic) {
    file.close();
    ::unlink(temporary.c_str());
    return fail(std::move(diagnostic));
  };
  if (auto written = write_all(file.get(), path, content); !written) return give_up(written.error());
  if (auto kept = keep_mode(file.get(), path); !kept) return give_up(kept.error());
  if (::fsync(file.get()) != 0) return give_up(file_error("fsync", path, errno));
  if (file.close() != 0) return give_up(file_error("close", path, errno));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return give_up(file_error("rename", path, errno));
  return {};
#else  // files in memory that nobody else reads
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return fail(file_error("open", path, errno));
  return write_all(file.get(), path, content);
#endif
}

}  // namespace cortado
