// The times of one program: its own, and when its GEMM and its collective end.
#pragma once

#include <optional>
#include <vector>

#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

#include "pipeline/overlap/contention.hpp"

namespace cortado::pipeline {

struct OverlapTimes {
  Nanoseconds time{};
  Nanoseconds gemm{};                 ///< from "begin" to the end of the GEMM, if there is one
  Nanoseconds comm{};                 ///< from "begin" to the end of the collective, if there is one
  Nanoseconds sent{};                 ///< the same, without the work of the GEMM's stream for it
  std::optional<double> hbm_bytes{};  ///< this and the next five: predicted only
  std::optional<Contention> contention{};
  std::optional<DramTraffic> dram{};
  std::optional<std::uint32_t> tracker_entries_peak{};  ///< of programs with trackers
  std::optional<Nanoseconds> tracker_wait{};
  std::optional<EnergyUse> energy{};
  std::optional<std::uint64_t> wrong{};  ///< measured only
};

struct TimeOptions {
  /// The parts end with their commands, for streams that do more than multiply; otherwise with their queues,
  /// which needs no trace. Measured parts always end with commands.
  bool by_command = true;
  bool contention = false;  ///< how much both slow each other down: two more simulations
  std::optional<ArbitrationPolicy> arbitration{};
  RunOptions run{};
};

/// Times a program on the target.
Outcome<OverlapTimes> time_program(Target& target, const VerifiedProgram& program, const TimeOptions& options = {});
/// Proves it first.
Outcome<OverlapTimes> time_program(Target& target, Result<Program> program, const Machine& machine,
                                   const TimeOptions& options = {});

/// As time_program on the simulator, without contention, of a program that need not be proved.
Outcome<OverlapTimes> predicted_times(const CheckedProgram& program, const TimeOptions& options);

using TimeOne = std::function<Outcome<OverlapTimes>()>;
using Progress = std::function<bool(std::size_t, std::size_t)>;

/// Times of every job, in their order: predicted ones on several threads, measured ones in three rounds, of which the
/// median counts. Fails if it was stopped.
Outcome<std::vector<Outcome<OverlapTimes>>> time_all(const std::vector<TimeOne>& jobs, bool predicted,
                                                     std::uint32_t threads, const Progress& progress);

/// The iterations of one round; all rounds together have the requested number.
std::uint32_t iterations_of_round(std::uint32_t iterations);
std::uint32_t measured_iterations(std::uint32_t iterations);  ///< of all rounds

/// `over` / `under`; 0 if `under` is.
double ratio(Nanoseconds over, Nanoseconds under);

}  // namespace cortado::pipeline
