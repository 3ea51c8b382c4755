// What a whole command takes, from the start of its process to its end.
#pragma once

#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "measure.hpp"

namespace cortado::bench {

struct Spent {
  double processor = 0;  ///< seconds
  double wall = 0;
};

/// Of a command line that prints nothing; none if it fails.
inline std::optional<Spent> spent(std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  Spent all;
  int status = -1;
  rusage used{};
  all.wall = 1e-9 * time_ns([&] {
               if (posix_spawnp(&child, words.front(), &files, nullptr, words.data(), environ) == 0)
                 wait4(child, &status, 0, &used);
             });
  posix_spawn_file_actions_destroy(&files);
  if (status != 0) return {};
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  all.processor = seconds(used.ru_utime) + seconds(used.ru_stime);
  return all;
}

}  // namespace cortado::bench
