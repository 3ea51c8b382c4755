// Simulates a program on the machine it was checked for: when everything happens, and what it would take.
//
// docs/models.md has the equations. All constants come from the machine file; there are none in the code. The same
// program, machine and options give the same Timeline, bit for bit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/sim/fluid.hpp"
#include "cortado/sim/power.hpp"
#include "cortado/timeline/dram_traffic.hpp"
#include "cortado/timeline/timeline.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::sim {

/// More would only fill memory: simulated iterations settle into a rhythm.
inline constexpr std::uint32_t kMaxIterations = 1'000'000;

struct SimulateOptions {
  std::uint32_t iterations = 1;  ///< 1 to kMaxIterations
  bool trace = false;            ///< record spans and flows; without it the Timeline has times and totals only
  bool span_names = true;        ///< give spans their texts: pictures need them, critical paths do not
  FluidOptions sharing{};        ///< SharingMode::local: approximate, for large programs; the Timeline says so
  std::optional<ArbitrationPolicy> arbitration{};  ///< of the memories, instead of the machine's
  /// Count energy, on machines that say what things take. It changes no time.
  bool energy = true;
  /// Power over time: the Timeline gets counters, averages over so long each, watts by GPU and component and, where
  /// clocks are managed, their gigahertz. None: no counters.
  std::optional<Nanoseconds> power_samples{};
  /// Clocks follow power. None: all clocks stay as the machine file has them, whatever that draws.
  std::optional<PowerManagement> manage{};
  /// Called now and then with the commands that have begun and those of all iterations.
  std::function<void(std::uint64_t begun, std::uint64_t of)> progress{};
};

struct Simulated {
  Timeline timeline;
  /// By queue: when its last command ended, counted from the start of the simulation.
  std::vector<Nanoseconds> queue_ends;
  double memory_bytes = 0;  ///< read and written in the memories of all GPUs: the total of `traffic`
  DramTraffic traffic;
  std::uint32_t tracker_entries_peak = 0;  ///< in use at the same time, of the GPU with most
  double tracker_wait_seconds = 0;         ///< that copies and products waited for entries, summed up
  double unit_seconds = 0;                 ///< compute units held, times seconds, over all GPUs
  std::uint64_t events = 0;
  FluidWork sharing_work;
  std::optional<ManagedClocks> clocks{};  ///< where clocks are managed
};

/// Refuses machines that cannot be simulated, because their file has no timing (sim.timing).
Status check_timing(const Machine& machine);

/// Refuses machines without timing (sim.timing), a policy of arbitration for a machine that says nothing of it
/// (sim.arbitration), power management that the machine does not allow (check_power_management), programs with commands
/// that have no model (sim.command) and products that the machine cannot do (check_gemm). A program that cannot finish,
/// possible only where verifier rules were skipped, ends with sim.stall, which names who waits for what.
Result<Simulated> simulate(const CheckedProgram& program, const SimulateOptions& options = {});

}  // namespace cortado::sim
