#include "sweep/owner.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::sweep {
namespace {

constexpr int kAttempts = 5;

std::string owner_path(const std::string& database) {
  return database + "-owner";
}

std::string own_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("process {} on host {}", ::getpid(), host.data());
}

OwnerNote read_note(int file) {
  std::array<char, 1024> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  const auto lines = split(std::string_view(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0), '\n');
  OwnerNote note{.who = lines.empty() ? "another process" : lines[0]};
  if (lines.size() > 1) note.since = parse_number<std::int64_t>(lines[1]).value_or(0);
  if (lines.size() > 2) note.finished = parse_number<std::int64_t>(lines[2]).value_or(0);
  return note;
}

/// The file that is open is still the one of that name: its owner did not remove it meanwhile.
bool is_current(int file, const std::string& path) {
  struct stat open_one {};
  struct stat named {};
  return ::fstat(file, &open_one) == 0 && ::stat(path.c_str(), &named) == 0 && open_one.st_ino == named.st_ino &&
         open_one.st_dev == named.st_dev;
}

}  // namespace

Result<Owner> Owner::of(const std::string& database) {
  const std::string path = owner_path(database);
  for (int attempt = 0;; ++attempt) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) {
      return fail(system_error("sweep.database", "open " + path, errno, "use a file in a writable folder"));
    }
    Owner owner(path, file);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const OwnerNote note = read_note(file);
      ::close(std::exchange(owner.file_, -1));  // it is not ours to remove
      if (attempt < kAttempts) {                // owner_of() of another process has it for a moment
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        continue;
      }
      return fail("sweep.owner", fmt::format("{} is being written by {}", database, note.who),
                  "wait for it, or watch it with cortado sweep --status");
    }
    if (!is_current(file, path)) {
      ::close(std::exchange(owner.file_, -1));
      continue;
    }
    CORTADO_RETURN_IF_ERROR(owner.note(0));
    return owner;
  }
}

Owner::~Owner() {
  if (file_ < 0) return;
  ::unlink(path_.c_str());
  ::close(file_);
}

Status Owner::note(std::int64_t finished) const {
  const std::string text = fmt::format("{}\n{}\n{}\n", own_name(), std::time(nullptr), finished);
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fail(system_error("sweep.database", "write " + path_, errno));
  }
  return {};
}

std::optional<OwnerNote> owner_of(const std::string& database) {
  const int file = ::open(owner_path(database).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<OwnerNote> note;
  if (::flock(file, LOCK_SH | LOCK_NB) != 0) note = read_note(file);
  ::close(file);
  return note;
}

}  // namespace cortado::sweep
