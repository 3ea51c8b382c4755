#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "device/vkfd/node_folder.hpp"
#include "device/vkfd/packet_log.hpp"
#include "device/vkfd/vkfd.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::device {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";
constexpr int kBySignal = 128;

constexpr const char* kFolderName = "cortado-node-";

std::filesystem::path parent_folder() {
  // In memory, if there is such a place: creating and removing hundreds of files takes a second on some disks.
  constexpr const char* kInMemory = "/dev/shm";
  std::error_code error;
  const bool in_memory = std::getenv("TMPDIR") == nullptr && ::access(kInMemory, W_OK | X_OK) == 0;
  return in_memory ? kInMemory : std::filesystem::temp_directory_path(error);
}

/// A folder that is removed together with the object. It is locked as long as this process lives, so that it can be
/// told from those of processes that were killed.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::string path = (parent_folder() / kFolderName).string() + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return fail(About::environment, "vkfd.folder", fmt::format("mkdtemp {}: {}", path, std::strerror(errno)));
    }
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    if (lock_ >= 0) ::close(lock_);
  }
  const std::string& path() const { return path_; }

  static int locked(const std::string& path) {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || ::flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
    ::close(folder);
    return -1;
  }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)), lock_(locked(path_)) {}
  std::string path_;
  int lock_ = -1;
};

/// Folders of this user that nobody has locked. A young one may only not be locked yet.
void remove_left_over() {
  std::error_code ignored;
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1);
  for (const auto& entry : std::filesystem::directory_iterator(parent_folder(), ignored)) {
    const std::string path = entry.path().string();
    struct stat found {};
    if (!entry.path().filename().string().starts_with(kFolderName)) continue;
    if (::lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != ::getuid()) continue;
    if (!(entry.last_write_time(ignored) < old)) continue;
    const int lock = TemporaryFolder::locked(path);
    if (lock < 0) continue;
    std::filesystem::remove_all(path, ignored);
    ::close(lock);
  }
}

// For the handler of signals.
volatile std::sig_atomic_t g_child = 0;
volatile std::sig_atomic_t g_signal = 0;  ///< the last one that was meant for the command

/// What a terminal sends, the command receives, too: it is in the same process group.
void forward(int signal, siginfo_t* info, void*) {
  const bool of_terminal = info->si_code > 0;
  if (of_terminal && g_child > 0) return;
  g_signal = signal;
  if (g_child > 0) ::kill(g_child, signal);
}

/// While it exists, signals that would end this process are for the command; this process cleans up after it.
class Forwarding {
 public:
  Forwarding() {
    g_child = 0;
    g_signal = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action {};
      ::sigaction(kSignals.at(i), nullptr, &before_.at(i));
      if (before_.at(i).sa_handler == SIG_IGN) continue;
      action.sa_sigaction = forward;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      ::sigaction(kSignals.at(i), &action, nullptr);
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the command leaves behind becomes a child of this process
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
  ~Forwarding() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals.at(i), &before_.at(i), nullptr);
  }

  /// For the child, which becomes the command.
  void end_in_child() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      if (before_.at(i).sa_handler != SIG_IGN) ::signal(kSignals.at(i), SIG_DFL);
    }
    if (g_signal != 0) ::_exit(kBySignal + g_signal);
  }

  /// The child that signals go to, from when on the handler knows it. What came before is sent now.
  static pid_t start(pid_t child) {
    g_child = child;
    if (child > 0 && g_signal != 0) ::kill(child, g_signal);
    return child;
  }

  /// Passes the signal that has ended the command on to the programs that it has started.
  static void end_others() {
    using namespace std::chrono_literals;
    for (int tries = 0; g_signal != 0 && tries < 100; ++tries) {
      std::ifstream children(fmt::format("/proc/self/task/{}/children", ::getpid()));
      bool any = false;
      for (pid_t child = 0; children >> child; any = true) ::kill(child, g_signal);
      if (!any) return;
      std::this_thread::sleep_for(10ms);
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// The library goes before those that are already preloaded.
std::string with_preload(const std::string& library) {
  const char* const others = std::getenv(kPreload);
  return others == nullptr || *others == '\0' ? library : library + ":" + others;
}

/// Does not return.
[[noreturn]] void become(const std::vector<std::string>& command, const std::string& folder, const std::string& preload,
                         int report) {
  ::setenv(vkfd::kFolderVariable, folder.c_str(), 1);
  ::setenv(kPreload, preload.c_str(), 1);
#if defined(CORTADO_SANITIZED)
  // The sanitizer's library comes after ours and would complain about that.
  const char* const options = std::getenv("ASAN_OPTIONS");
  ::setenv("ASAN_OPTIONS", (std::string(options == nullptr ? "" : options) + ":verify_asan_link_order=0").c_str(), 1);
#endif
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof(error));
  ::_exit(127);
}

Result<int> wait_for(pid_t child) {
  // Its number stays its own until signals no longer go to it.
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return fail(About::environment, "vkfd.command", std::strerror(errno));
  }
  g_child = 0;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(About::environment, "vkfd.command", std::strerror(errno));
  }
  if (WIFSIGNALED(status)) Forwarding::end_others();
  return WIFSIGNALED(status) ? kBySignal + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<int> start_and_wait(const Forwarding& signals, const std::vector<std::string>& command,
                           const std::string& folder, const std::string& preload) {
  int report[2] = {};
  if (::pipe2(report, O_CLOEXEC) != 0) return fail(About::environment, "vkfd.command", std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    signals.end_in_child();
    // The files of the driver do not outlive this process.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kBySignal + SIGKILL);
    become(command, folder, preload, report[1]);
  }
  int error = child < 0 ? errno : 0;
  Forwarding::start(child);
  ::close(report[1]);
  if (child > 0 && ::read(report[0], &error, sizeof(error)) != sizeof(error)) error = 0;
  ::close(report[0]);
  Result<int> code = 0;
  if (child > 0) code = wait_for(child);
  if (error == 0) return code;
  return fail("vkfd.command", fmt::format("{}: {}", command.front(), std::strerror(error)),
              "type the command after -- as you would in a shell");
}

Status write_outputs(const std::string& folder, const VirtualNodeOptions& options) {
  if (options.trace.empty() && options.packets.empty()) return {};
  CORTADO_ASSIGN_OR_RETURN(const auto packets, vkfd::read_packet_logs(folder));
  if (!options.packets.empty()) {
    CORTADO_RETURN_IF_ERROR(write_file(options.packets, vkfd::packet_listing(packets)));
  }
  if (options.trace.empty()) return {};
  return write_file(options.trace, vkfd::packet_trace(packets, options.model_time));
}

}  // namespace

Result<VirtualNodeRun> run_on_virtual_node(const Machine& machine, const VirtualNodeOptions& options,
                                           const std::string& library, const std::vector<std::string>& command) {
  if (::access(library.c_str(), R_OK) != 0) {
    return fail(About::environment, "vkfd.library", fmt::format("{}: {}", library, std::strerror(errno)),
                "build or install libcortado-kfd.so next to cortado");
  }
  if (options.model_time) CORTADO_RETURN_IF_ERROR(sim::check_timing(machine));
  remove_left_over();
  const Forwarding signals;
  CORTADO_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::make());
  CORTADO_RETURN_IF_ERROR(vkfd::write_node_folder(folder.path(), machine, options));
  VirtualNodeRun run;
  CORTADO_ASSIGN_OR_RETURN(run.exit_code, start_and_wait(signals, command, folder.path(), with_preload(library)));
  CORTADO_ASSIGN_OR_RETURN(run.races, vkfd::count_findings(folder.path(), vkfd::Finding::race));
  CORTADO_ASSIGN_OR_RETURN(run.refusals, vkfd::count_findings(folder.path(), vkfd::Finding::refusal));
  CORTADO_RETURN_IF_ERROR(write_outputs(folder.path(), options));
  return run;
}

}  // namespace cortado::device
