// Whole commands, from the start of the process to its end: an all-gather simulated on 8, 64 and 256 GPUs.
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "measure.hpp"

namespace cortado::bench {
namespace {

/// Milliseconds of processor time of one run of the command line, which prints nothing; none if it fails.
std::optional<double> command_ms(std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words.front(), &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  rusage used{};
  if (failed != 0 || wait4(child, &status, 0, &used) != child || status != 0) return {};
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

}  // namespace

std::vector<Row> command_rows() {
  const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  std::vector<Row> rows;
  for (const auto& [gpus, target] : {std::pair(8, 4.0), std::pair(64, 20.0), std::pair(256, 250.0)}) {
    std::vector<double> times;
    for (int run = 0; run < 9; ++run) {
      const auto ms = command_ms({here + "/../apps/cli/cortado", "run", "all-gather", "--on", "sim", "--machine",
                                  "switch-1024", "--ranks", std::to_string(gpus), "--bytes", "64MiB"});
      if (!ms) return {{"command: build the target cortado beside this one", 0, ""}};
      times.push_back(*ms);
    }
    rows.push_back({fmt::format("command: run all-gather --on sim, {} GPUs of switch-1024", gpus), median(times), "ms",
                    target, Better::lower});
  }
  return rows;
}

}  // namespace cortado::bench
