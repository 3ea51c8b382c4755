// The programs that calibration runs: some GPUs copy to the first GPU that they are linked to, in one queue each.
#pragma once

#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

namespace cortado::pipeline {

/// A GPU and those it copies to.
struct CalibrationRoute {
  RankId from;
  std::vector<RankId> to;
};

/// For each GPU that is linked to at least `peers` others: the first of those after it, cyclically.
std::vector<CalibrationRoute> calibration_routes(const Machine& machine, std::size_t peers);

struct CalibrationProgram {
  std::uint32_t queues = 1;  ///< at most the routes of the machine
  std::uint32_t copies = 1;  ///< of a queue
  Bytes bytes{64};           ///< of a copy
  std::uint32_t waits = 1;   ///< of the host for each queue
  bool prelaunch = false;
  bool broadcast = false;  ///< to two GPUs at once, instead of copies
};

Program make_calibration_program(const CalibrationProgram& shape, const Machine& machine);

}  // namespace cortado::pipeline
