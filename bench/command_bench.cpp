// Whole commands, from the start of the process to its end: an all-gather simulated on 8, 64 and 256 GPUs.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "measure.hpp"
#include "spent.hpp"

namespace cortado::bench {
namespace {

/// Milliseconds of processor time of one run of the command line, which prints nothing; none if it fails.
std::optional<double> command_ms(const std::vector<std::string>& arguments) {
  const auto used = spent(arguments);
  return used ? std::optional(1e3 * used->processor) : std::nullopt;
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
