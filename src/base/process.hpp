// Running another program.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cortado/result.hpp"

namespace cortado {

struct ProcessLimits {
  Bytes output{1ULL << 30};
  std::chrono::milliseconds time{60'000};
};

/// The output of an executable that reads `input`. It runs without a shell and without arguments. Fails if it cannot be
/// started (process.start), ends with anything but 0 (process.exit, with the last line of its standard error), prints
/// more than the limit (process.output) or takes longer (process.time); in that case it is ended, with the programs
/// that it has started. Programs that it leaves behind when it ends are not waited for.
Result<std::string> run_process(const std::string& path, std::string_view input, const ProcessLimits& limits = {});

/// For signal handlers: a program that runs is not in the process group that a terminal interrupts. Of several at once,
/// one is ended.
void end_running_process() noexcept;

}  // namespace cortado
