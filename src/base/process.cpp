#include "base/process.hpp"

#include "base/platform.hpp"

#if CORTADO_HOSTED

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

extern char** environ;

namespace cortado {
namespace {

constexpr std::size_t kErrorBytes = 4096;  // the end of its standard error

/// Process group of the first of the programs that run at the moment, or 0.
std::atomic<pid_t> g_running{0};

/// A file descriptor that closes itself.
class PipeEnd {
 public:
  PipeEnd() = default;
  explicit PipeEnd(int value) : value_(value) {}
  PipeEnd(const PipeEnd&) = delete;
  PipeEnd& operator=(const PipeEnd&) = delete;
  ~PipeEnd() { close(); }

  int get() const { return value_; }
  void set(int value) { value_ = value; }
  void close() {
    if (value_ >= 0) ::close(value_);
    value_ = -1;
  }

 private:
  int value_ = -1;
};

Unexpected<Diagnostic> no_start(const std::string& path, const char* call, int error) {
  return fail("process.start", fmt::format("{} cannot be started: {}: {}", path, call, std::strerror(error)),
              error == EACCES ? "make it executable: chmod +x" : "use the path of an executable file");
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t before = text.rfind('\n');
  return before == std::string::npos ? text : text.substr(before + 1);
}

class Process {
 public:
  Process(const std::string& path, std::string_view input, const ProcessLimits& limits)
      : path_(path), input_(input), limits_(limits) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (id_ <= 0) return;
    ::kill(-id_, SIGKILL);  // with the programs that it has started
    reap();
  }

  Result<std::string> run() {
    CORTADO_RETURN_IF_ERROR(start());
    CORTADO_RETURN_IF_ERROR(talk());
    const int status = reap();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(output_);
    const std::string how = WIFEXITED(status) ? fmt::format("exited with code {}", WEXITSTATUS(status))
                                              : fmt::format("was killed by signal {}", WTERMSIG(status));
    const std::string said = last_line(errors_);
    return fail("process.exit", fmt::format("{} {}{}{}", path_, how, said.empty() ? "" : ": ", said),
                "it must read a request and print a program; run it by hand to see what it says");
  }

 private:
  Status start() {
    // A socket, not a pipe: writing to a program that no longer reads must not raise SIGPIPE.
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0)
      return no_start(path_, "socketpair", errno);
    in_.set(in[0]);
    const PipeEnd child_in(in[1]);
    if (::pipe2(out.data(), O_CLOEXEC) != 0) return no_start(path_, "pipe2", errno);
    out_.set(out[0]);
    const PipeEnd child_out(out[1]);
    if (::pipe2(err.data(), O_CLOEXEC) != 0) return no_start(path_, "pipe2", errno);
    err_.set(err[0]);
    const PipeEnd child_err(err[1]);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, child_in.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, child_out.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, child_err.get(), STDERR_FILENO);
    std::string name = path_;
    std::array<char*, 2> arguments{name.data(), nullptr};
    // A process group of its own, so that it can be ended together with the programs that it starts.
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    const int error = ::posix_spawn(&id_, path_.c_str(), &actions, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      id_ = -1;
      return no_start(path_, "posix_spawn", error);
    }
    pid_t none = 0;
    g_running.compare_exchange_strong(none, id_);
    end_.set(static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)));
    return {};
  }

  /// The status of the ended program.
  int reap() {
    pid_t mine = id_;
    g_running.compare_exchange_strong(mine, 0);
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    return status;
  }

  /// Writes the input and reads both outputs until they end, or until the program has ended: programs that it leaves
  /// behind may keep them open. (Kernels before 5.3 cannot report that end; there the outputs decide alone.)
  Status talk() {
    const auto end = std::chrono::steady_clock::now() + limits_.time;
    while (out_.get() >= 0 || err_.get() >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) {
        return fail("process.time", fmt::format("{} did not finish within {} s", path_, limits_.time.count() / 1000),
                    "make it faster, or use a smaller request");
      }
      std::array<pollfd, 4> files{
          {{in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}}};
      if (::poll(files.data(), files.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) {
        return fail("process.start", fmt::format("poll: {}", std::strerror(errno)), "");
      }
      // What it had printed before it ended is in the pipes: read until they are empty.
      if (files[3].revents != 0 && files[1].revents == 0 && files[2].revents == 0) break;
      if (files[0].revents != 0) send_more();
      if (files[1].revents != 0) read_more(out_, output_);
      if (files[2].revents != 0) read_more(err_, errors_);
      if (output_.size() > limits_.output.value) {
        return fail("process.output", fmt::format("{} prints more than {} bytes", path_, limits_.output.value),
                    "that is the largest size of a program file");
      }
      if (errors_.size() > 2 * kErrorBytes) errors_.erase(0, errors_.size() - kErrorBytes);
    }
    return {};
  }

  void send_more() {
    const ssize_t sent = ::send(in_.get(), input_.data(), input_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent > 0) input_.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 || input_.empty()) in_.close();  // a program that does not read may still answer
  }

  static void read_more(PipeEnd& from, std::string& into) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      from.close();
    } else {
      into.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  const std::string& path_;
  std::string_view input_;
  const ProcessLimits& limits_;
  pid_t id_ = -1;
  PipeEnd in_;
  PipeEnd out_;
  PipeEnd err_;
  PipeEnd end_;  // readable once the program has ended
  std::string output_;
  std::string errors_;
};

}  // namespace

Result<std::string> run_process(const std::string& path, std::string_view input, const ProcessLimits& limits) {
  return Process(path, input, limits).run();
}

void end_running_process() noexcept {
  if (const pid_t group = g_running.load(); group > 0) ::kill(-group, SIGKILL);
}

}  // namespace cortado

#else

namespace cortado {

Result<std::string> run_process(const std::string& path, std::string_view, const ProcessLimits&) {
  return fail("process.start", path + " cannot be started: there are no processes here",
              "use the command line on a computer");
}

void end_running_process() noexcept {}

}  // namespace cortado

#endif
