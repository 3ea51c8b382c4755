#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <system_error>
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

/// A folder that is removed together with the object.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    // In memory, if there is such a place: creating and removing hundreds of files takes a second on some disks.
    constexpr const char* kInMemory = "/dev/shm";
    std::error_code error;
    const bool in_memory = std::getenv("TMPDIR") == nullptr && ::access(kInMemory, W_OK | X_OK) == 0;
    const std::filesystem::path parent = in_memory ? kInMemory : std::filesystem::temp_directory_path(error);
    std::string path = (parent / "cortado-node-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return fail(About::environment, "vkfd.folder", fmt::format("mkdtemp {}: {}", path, std::strerror(errno)));
    }
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
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
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(About::environment, "vkfd.command", std::strerror(errno));
  }
  return WIFSIGNALED(status) ? kBySignal + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<int> start_and_wait(const std::vector<std::string>& command, const std::string& folder,
                           const std::string& preload) {
  int report[2] = {};
  if (::pipe2(report, O_CLOEXEC) != 0) return fail(About::environment, "vkfd.command", std::strerror(errno));
  // An interrupt is meant for the command; we clean up after it.
  const auto before = ::signal(SIGINT, SIG_IGN);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGINT, before);
    become(command, folder, preload, report[1]);
  }
  ::close(report[1]);
  int error = child < 0 ? errno : 0;
  if (child > 0 && ::read(report[0], &error, sizeof(error)) != sizeof(error)) error = 0;
  ::close(report[0]);
  Result<int> code = 0;
  if (child > 0) code = wait_for(child);
  ::signal(SIGINT, before);
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
  CORTADO_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::make());
  CORTADO_RETURN_IF_ERROR(vkfd::write_node_folder(folder.path(), machine, options));
  VirtualNodeRun run;
  CORTADO_ASSIGN_OR_RETURN(run.exit_code, start_and_wait(command, folder.path(), with_preload(library)));
  CORTADO_ASSIGN_OR_RETURN(run.races, vkfd::count_findings(folder.path(), vkfd::Finding::race));
  CORTADO_ASSIGN_OR_RETURN(run.refusals, vkfd::count_findings(folder.path(), vkfd::Finding::refusal));
  CORTADO_RETURN_IF_ERROR(write_outputs(folder.path(), options));
  return run;
}

}  // namespace cortado::device
