// One copy from GPU 0 to GPU 1, cut into the phases of its life:
//
//   control    the host builds packets, writes the ring and rings the doorbell: "begin" to the end of the Submit
//   schedule   until the engine begins: end of the Submit to the start of the copy
//   copy       start-up and bytes: start of the copy to its last byte
//   sync       last byte until the completion signal is visible
//
// The host's last poll of the signal belongs to no phase. The phases come from the spans of a traced Timeline, so
// they mean the same for a simulated and for a measured copy.
//
// Example: 50,000 B on virtual-64: control 2 x 50 + 500 ns, schedule 1000, copy 1000 + 50,000 / 50, sync 1000.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

namespace cortado::pipeline {

struct CopyPhases {
  Nanoseconds control;
  Nanoseconds schedule;
  Nanoseconds copy;
  Nanoseconds sync;

  friend bool operator==(const CopyPhases&, const CopyPhases&) = default;
  constexpr Nanoseconds total() const { return control + schedule + copy + sync; }
  constexpr std::array<Nanoseconds, 4> in_order() const { return {control, schedule, copy, sync}; }
};

inline constexpr std::array<std::string_view, 4> kCopyPhaseNames{"control", "schedule", "copy", "sync"};

/// The phases of the program's one copy; for several iterations, the median of each phase. If a measured copy starts
/// before its Submit has returned, the control phase ends when the copy starts, so that phases never overlap.
Result<CopyPhases> copy_phases_of(const Timeline& timeline);

/// The phases of one copy, and its energy.
struct CopyReport : CopyPhases {
  std::optional<EnergyUse> energy{};  ///< of all GPUs that the program has; none: measured, or a machine without power
};

/// Runs the copy on a target with at least two GPUs; devices check its bytes, and at most 16 of their iterations have
/// spans.
Outcome<CopyReport> copy_phases(Bytes bytes, const Machine& machine, Target& target, RunOptions options = {});

/// Copies of several sizes.
struct Breakdown {
  struct Row {
    Bytes bytes;
    CopyReport phases;
  };

  std::string machine;
  std::string node;  ///< where it ran: the node, or the machine that was simulated
  bool simulated = false;
  std::uint32_t warmup = 0;      ///< measured: iterations of each before those that count
  std::uint32_t iterations = 0;  ///< measured: of each
  bool interrupted = false;      ///< there are fewer rows than requested
  std::vector<Row> rows;
};

/// "cortado.breakdown".
report::Document breakdown_document(const Breakdown& breakdown);

}  // namespace cortado::pipeline
