// Calibration: what the embedded node of this computer costs, measured, and a machine that simulates as it runs.
//
// Small programs are run through the executor as any program is, and only their reported times are used: many tiny
// copies in one queue or in many, submitted or prelaunched, tell what commands cost; copies of more and more bytes tell
// rates and caches. None of these programs is a collective, so that comparing collectives is a test of the model and
// not of the fit. docs/models.md says what is fitted to what.
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
  double many_waits = 0;     ///< one queue of one copy; the host looks `waits` times at its signal
  double prelaunched_one = 0;
  double prelaunched_copies = 0;
  double prelaunched_queues = 0;
};

/// Copies on all threads; the same bytes are read and written again and again.
struct CopyTime {
  Bytes touched;  ///< read and written by one run: what a cache must hold
  Bytes copied;
  double ns = 0;  ///< without what the same commands cost with tiny copies
};

struct CalibrationData {
  CommandTimes commands;
  double rate = 0;            ///< bytes per ns of one queue from near caches
  double broadcast_rate = 0;  ///< bytes written per ns of one queue of broadcasts; 0 = none
  std::uint32_t threads = 1;  ///< that the node has
  double parallel_rate = 0;   ///< bytes per ns of many queues from near caches
  std::vector<CopyTime> copies;
};

/// The timing that explains the data. Its cores are not measured: they copy as fast as an engine.
Timing fit_timing(const CalibrationData& data, const Machine& base);

struct CalibrateOptions {
  std::optional<std::uint32_t> workers{};  ///< threads of the embedded node beside the caller's; none = its default
  std::uint32_t rounds = 5;                ///< every program is run in so many rounds; the median counts
  Bytes largest = 256_MiB;                 ///< most bytes touched by one program; 512 KiB to 4 GiB
  std::function<bool(std::uint32_t done, std::uint32_t of)> progress{};  ///< called after each run; false stops
};

/// Runs the programs on an embedded node with the shape and limits of the machine. Fails with calibrate.interrupted if
/// `progress` said no.
Outcome<CalibrationData> measure_node(const Machine& base, const CalibrateOptions& options);

/// Refuses a machine whose timing is not of an embedded node: no run on one can say how good it is.
Status check_calibrated(const Machine& machine);

/// The base machine with the measured timing and without power, under the name "<base>-soft".
Outcome<Machine> calibrate(const Machine& base, const CalibrateOptions& options = {});

}  // namespace cortado::pipeline
