// Calibration: measures the embedded node of this computer, and makes a machine file that predicts its times.
//
// Small programs run through the executor like any other, and only their reported times are used: many tiny
// copies in one queue or in many, submitted or prelaunched, show the cost of commands; copies of growing size show
// rates and caches. None of these programs is a collective, so comparing collectives tests the model and
// not the fit. docs/models.md says which constants are fitted to which times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {

/// A time in nanoseconds of programs of `queues` queues with `copies` tiny copies each.
struct CommandTimes {
  std::uint32_t queues = 0;  ///< of the programs with many queues, at least 2
  std::uint32_t copies = 0;  ///< of the programs with many copies, at least 2
  std::uint32_t waits = 0;   ///< of the program with many waits, at least 2
  double one = 0;            ///< one queue of one copy
  double many_copies = 0;    ///< one queue of `copies`
  double many_queues = 0;    ///< `queues` queues of one copy
  double many_waits = 0;     ///< one queue of one copy; the host checks its signal `waits` times
  double prelaunched_one = 0;
  double prelaunched_copies = 0;
  double prelaunched_queues = 0;
};

/// Copies on all threads, which read and write the same bytes repeatedly.
struct CopyTime {
  Bytes touched;  ///< read and written by one run: what a cache must hold
  Bytes copied;
  double ns = 0;  ///< minus the time of the same commands with tiny copies
};

struct CalibrationData {
  CommandTimes commands;
  double rate = 0;            ///< bytes per ns of one queue from near caches
  double broadcast_rate = 0;  ///< bytes written per ns of one queue of broadcasts; 0 = none
  std::uint32_t threads = 1;  ///< of the node
  double parallel_rate = 0;   ///< bytes per ns of many queues from near caches
  std::vector<CopyTime> copies;
};

/// The timing that explains the data. Its cores are not measured: they copy as fast as an engine.
Timing fit_timing(const CalibrationData& data, const Machine& base);

struct CalibrateOptions {
  std::optional<std::uint32_t> workers{};  ///< threads of the embedded node beside the caller's; none = its default
  std::uint32_t rounds = 5;                ///< of every program; the median counts
  Bytes largest = 256_MiB;                 ///< most bytes touched by one program; 512 KiB to 4 GiB
  std::function<bool(std::uint32_t done, std::uint32_t of)> progress{};  ///< called after each run; false stops
};

/// Runs the programs on an embedded node with the shape and limits of the machine. Fails with calibrate.interrupted if
/// `progress` returned false.
Outcome<CalibrationData> measure_node(const Machine& base, const CalibrateOptions& options);

/// Refuses a machine whose timing is not that of an embedded node, because no run can test it.
Status check_calibrated(const Machine& machine);

/// The base machine with the measured timing and without power, under the name "<base>-soft".
Outcome<Machine> calibrate(const Machine& base, const CalibrateOptions& options = {});

}  // namespace cortado::pipeline
