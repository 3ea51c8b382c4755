// Where the time of a simulated program goes: its critical path (cortado/timeline.hpp) in four phases.
//
//   control    host threads build packets, ring doorbells, write triggers and signals, launch kernels
//   schedule   until engines and kernels begin: fetch after a doorbell, issue and start-up of copies, start of a kernel
//   bytes      bytes move, or kernels read and write them
//   sync       a signal becomes visible, and its waiter notices it
//
// Example: one copy of 50,000 B on virtual-64: control 2 x 50 + 500 ns, schedule 1000 + 1000, bytes 50,000 / 50,
// sync 1000 + 20: together the 4620 ns that it takes.
#pragma once

#include <array>
#include <string_view>

#include "cortado/result.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {

struct PathPhases {
  Nanoseconds control;
  Nanoseconds schedule;
  Nanoseconds bytes;
  Nanoseconds sync;

  friend bool operator==(const PathPhases&, const PathPhases&) = default;
  constexpr std::array<Nanoseconds, 4> in_order() const { return {control, schedule, bytes, sync}; }
  constexpr Nanoseconds total() const { return control + schedule + bytes + sync; }
};

/// Of PathPhases::in_order(), for tables and for sentences.
inline constexpr std::array<std::string_view, 4> kPathPhaseNames{"control", "schedule", "bytes", "sync"};
inline constexpr std::array<std::string_view, 4> kPathPhaseWords{"host control", "scheduling", "moving bytes",
                                                                 "synchronisation"};

/// Of the last iteration; it was simulated with tracing. They add up to its time.
PathPhases phases_of(const Run& run, const VerifiedProgram& verified);

}  // namespace cortado::pipeline
