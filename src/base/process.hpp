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
/// more than the limit (process.output) or takes longer (process.time); in that case it is ended.
Result<std::string> run_process(const std::string& path, std::string_view input, const ProcessLimits& limits = {});

}  // namespace cortado
