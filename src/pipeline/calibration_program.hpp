// The programs that calibration runs: GPU i copies to GPU i + 1, in one queue each.
#pragma once

#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"

namespace cortado::pipeline {

struct CalibrationProgram {
  std::uint32_t queues = 1;  ///< fewer than the machine has GPUs
  std::uint32_t copies = 1;  ///< of a queue
  Bytes bytes{64};           ///< of a copy
  std::uint32_t waits = 1;   ///< of the host for each queue
  bool prelaunch = false;
  bool broadcast = false;  ///< broadcasts to GPUs i + 1 and i + 2 instead of copies
};

Program make_calibration_program(const CalibrationProgram& shape, const Machine& machine);

}  // namespace cortado::pipeline
