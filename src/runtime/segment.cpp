#include "runtime/segment.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace cortado::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFolder = "/dev/shm";
constexpr std::uint64_t kPage = 4096;
constexpr std::chrono::milliseconds kRetry{1};

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string file_prefix() {
  return fmt::format("cortado-{}-", ::getuid());
}

/// Names may be paths: characters other than letters and digits become underscores, and a hash of the name is appended.
std::string file_of(const std::string& name) {
  std::string readable;
  for (const char c : name) readable += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (readable.size() > 64) readable.erase(0, readable.size() - 64);
  return fmt::format("{}/{}{}-{:016x}", kFolder, file_prefix(), readable, std::hash<std::string>{}(name));
}

struct flock lock_of_byte(std::uint32_t byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

bool is_locked(int file, std::uint32_t byte) {
  struct flock lock = lock_of_byte(byte, F_WRLCK);
  return ::fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Diagnostic join_error(const std::string& call, int error, std::string hint = {}) {
  return system_error("runtime.join", call, error, std::move(hint));
}

/// Files that currently exist under the names that this process gave them. They must not be opened a second time:
/// closing any of its descriptors releases a process's locks.
class OwnFiles {
 public:
  void add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.insert(path);
  }
  void remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.erase(path);
  }
  bool has(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return paths_.contains(path);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

OwnFiles& own_files() {
  static OwnFiles files;
  return files;
}

/// Files of this user whose rank 0 ended before all ranks had attached. A file that has not got its own name yet may
/// not be locked yet either: only an old one counts as left over.
void remove_left_over() {
  std::error_code ignored;
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1);
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, ignored)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(file_prefix()) || own_files().has(path)) continue;
    if (entry.path().has_extension() && !(entry.last_write_time(ignored) < old)) continue;
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    if (!is_locked(file, 0)) ::unlink(path.c_str());
    ::close(file);
  }
}

}  // namespace

Segment::Segment(std::uint32_t ranks, std::uint64_t window_bytes)
    : ranks_(ranks), window_bytes_(rounded(window_bytes, kPage)) {
  const std::uint64_t pairs = std::uint64_t{ranks} * ranks;
  blocks_at_ = rounded(sizeof(Header), 64);
  mailboxes_at_ = blocks_at_ + ranks * sizeof(RankBlock);
  slots_at_ = rounded(mailboxes_at_ + pairs * sizeof(Mailbox), kPage);
  letters_at_ = slots_at_ + std::uint64_t{ranks} * 3 * kSlotBytes;
  windows_at_ = letters_at_ + pairs * kLetters * kLetterBytes;
  bytes_ = windows_at_ + ranks * window_bytes_;
}

Segment::~Segment() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
  if (file_ >= 0) ::close(file_);
}

Status Segment::map(int file) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) return fail(join_error("mmap", errno, "use a smaller window"));
  base_ = static_cast<std::byte*>(memory);
  return {};
}

Status Segment::lock(std::uint32_t rank) const {
  struct flock lock = lock_of_byte(rank, F_WRLCK);
  if (::fcntl(file_, F_SETLK, &lock) == 0) return {};
  return fail("runtime.join", fmt::format("rank {} of this communicator already exists", rank),
              "use a unique number for every rank, and a unique name for every communicator");
}

Result<std::shared_ptr<Segment>> Segment::plain(std::uint32_t ranks, Bytes window) {
  std::shared_ptr<Segment> segment(new Segment(ranks, window.value));
  CORTADO_RETURN_IF_ERROR(segment->map(-1));
  new (segment->base_) Header;
  for (std::uint32_t r = 0; r < ranks; ++r) new (&segment->block(r)) RankBlock;
  for (std::uint32_t r = 0; r < ranks * ranks; ++r) new (&segment->mailbox(r / ranks, r % ranks)) Mailbox;
  return segment;
}

// The file gets its name when it is complete and locked, so that nobody can see a half-made one.
Status Segment::create(const std::string& path) {
  remove_left_over();
  const std::string unfinished = fmt::format("{}.{}", path, ::getpid());
  ::unlink(unfinished.c_str());
  file_ = ::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) return fail(join_error("open " + unfinished, errno));
  const auto give_up = [&](const char* call, int error) {
    ::unlink(unfinished.c_str());
    return fail(join_error(call, error, "free some space in /dev/shm"));
  };
  CORTADO_RETURN_IF_ERROR(lock(0));
  if (::ftruncate(file_, static_cast<off_t>(bytes_)) != 0) return give_up("ftruncate", errno);
  if (const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(windows_at_)); error != 0) {
    return give_up("posix_fallocate", error);
  }
  CORTADO_RETURN_IF_ERROR(map(file_));
  header().ranks = ranks_;
  header().window_bytes = window_bytes_;
  header().ready.store(1, std::memory_order_release);
  if (::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    if (error != EEXIST) return fail(join_error("renameat2 " + path, error));
    return fail("runtime.join", "another rank 0 is already creating a communicator of this name",
                "use a unique number for every rank, and a unique name for every communicator");
  }
  return {};
}

Status Segment::open(const std::string& path, Clock::time_point deadline) {
  for (;;) {
    file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file_ >= 0 && is_locked(file_, 0)) break;
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    if (Clock::now() > deadline) {
      return fail("runtime.join", "rank 0 did not appear within the time-out",
                  "start all ranks with the same name; all ranks of a communicator must be on one computer");
    }
    std::this_thread::sleep_for(kRetry);
  }
  struct stat info {};
  if (::fstat(file_, &info) != 0) return fail(join_error("fstat", errno));
  if (static_cast<std::uint64_t>(info.st_size) != bytes_) {
    return fail("runtime.join", "rank 0 has a different number of ranks or a different window",
                "start all ranks with the same options");
  }
  return map(file_);
}

Result<std::unique_ptr<Segment>> Segment::attach(const CommunicatorOptions& options) {
  std::unique_ptr<Segment> segment(new Segment(options.ranks, options.window.value));
  const std::string path = file_of(options.name);
  const auto deadline = Clock::now() + options.timeout;
  own_files().add(path);
  if (options.rank == 0) {
    CORTADO_RETURN_IF_ERROR(segment->create(path));
  } else {
    CORTADO_RETURN_IF_ERROR(segment->open(path, deadline));
    CORTADO_RETURN_IF_ERROR(segment->lock(options.rank));
  }
  const Status all_there = segment->wait_for_all(options, deadline);
  ::unlink(path.c_str());  // the first of them succeeds; after a failure nothing is left either
  own_files().remove(path);
  CORTADO_RETURN_IF_ERROR(all_there);
  return segment;
}

Status Segment::wait_for_all(const CommunicatorOptions& options, Clock::time_point deadline) const {
  block(options.rank).process.store(static_cast<std::uint32_t>(::getpid()), std::memory_order_release);
  header().attached.fetch_add(1, std::memory_order_acq_rel);
  for (;;) {
    const std::uint32_t there = header().attached.load(std::memory_order_acquire);
    if (there >= options.ranks) return {};
    for (std::uint32_t r = 0; r < options.ranks; ++r) {
      if (r == options.rank || block(r).process.load(std::memory_order_acquire) == 0 || alive(r)) continue;
      return fail("runtime.join", fmt::format("rank {} exited before all ranks had joined", r));
    }
    if (Clock::now() > deadline) {
      return fail("runtime.join", fmt::format("only {} of {} ranks joined within the time-out", there, options.ranks),
                  "start all ranks with the same name; all ranks of a communicator must be on one computer");
    }
    std::this_thread::sleep_for(kRetry);
  }
}

Status Segment::commit(std::span<std::byte> part) const {
  if (file_ < 0) return {};
  const auto offset = static_cast<off_t>(part.data() - base_);
  if (const int error = ::posix_fallocate(file_, offset, static_cast<off_t>(part.size())); error != 0) {
    return fail(system_error("runtime.memory", "posix_fallocate", error, "free some space in /dev/shm"));
  }
  return {};
}

bool Segment::alive(std::uint32_t rank) const {
  return file_ < 0 || is_locked(file_, rank);
}

}  // namespace cortado::runtime
