// A GEMM and a collective by every strategy, on one target: times, what is gained over one after the other, what stays
// exposed, and which strategy to use.
//
//   serial           = GEMM and library collective on compute units, one after the other; computed once per problem
//   speed-up         = serial / time
//   ideal            = the longer of GEMM and collective, each as it is alone
//   share of ideal   = (speed-up - 1) / (serial / ideal - 1); above 1 where a strategy does the collective, or the
//   GEMM,
//                      faster than it is done alone
//   exposed          = time - GEMM alone, not below 0: communication, and its costs, that are not hidden
//   DIL              = the pieces of the GEMM one after the other, each alone, over the whole GEMM alone; by the model,
//                      without launches, of the rank whose pieces take longest
//   CIL              = how much longer GEMMs (copies) take beside copies (GEMMs) than alone; waiting does not count
//
// Example: the GEMM takes 60 us alone, the collective 40 us, serial 100 us. A strategy that takes 75 us has a speed-up
// of 1.33; the ideal is 100 / 60 = 1.67, so its share is 50 %, and 15 us are exposed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine/machine.hpp"
#include "cortado/plan/overlap.hpp"
#include "cortado/report/objective.hpp"
#include "cortado/report/skipped.hpp"
#include "cortado/report/table.hpp"
#include "cortado/target/target.hpp"
#include "cortado/timeline/dram_traffic.hpp"

namespace cortado::pipeline {

/// "G-long" where the GEMM takes more than 1.15 times as long as the collective, "C-long" the other way round, else
/// "GC-equal".
std::string_view overlap_class(Nanoseconds gemm, Nanoseconds collective);

/// One strategy.
struct OverlapRow {
  std::string strategy;  ///< with what was decided: "hetero-fused-1d/8"
  std::string how;       ///< what was decided, in one line
  bool bound = false;    ///< an ideal: no program
  Nanoseconds time{};
  double speedup = 0;
  double share_of_ideal = 0;  ///< 0.5 = half of it
  Nanoseconds exposed{};
  Nanoseconds gemm{};  ///< begin to the end of the GEMM, and of what kernels do with its rows
  Nanoseconds comm{};  ///< begin to the end of the collective
  Nanoseconds sent{};  ///< of it without what the GEMM's stream does for it: sums, copies of own rows
  std::optional<double> gemm_slowdown{};  ///< over the GEMM alone; independent problems only
  std::optional<double> comm_slowdown{};  ///< over the library's collective alone
  std::uint32_t gemm_cus = 0;             ///< that the GEMM may occupy
  std::uint32_t comm_cus = 0;             ///< that the collective takes; 0: DMA engines alone
  std::uint32_t steps = 0;                ///< exchanges one after another; 0: not cut
  std::optional<double> dil{};            ///< of GEMMs that are cut
  std::optional<double> cil_gemm{};       ///< 1 = not slowed down; none: not asked for
  std::optional<double> cil_comm{};
  Bytes footprint{};                  ///< memory of the rank that needs most; 0: not known
  Bytes staging{};                    ///< part of it that is neither operand nor result
  std::optional<double> hbm_bytes{};  ///< read and written in the memories of all GPUs; none: measured
  std::optional<DramTraffic> dram{};  ///< the same by who moved them
  std::optional<std::uint32_t> tracker_entries_peak{};  ///< of the GPU that needed most; none: no trackers
  std::optional<Nanoseconds> tracker_wait{};            ///< that writers waited for entries, over all GPUs
  std::optional<std::uint64_t> wrong{};                 ///< output bytes that differ from the contract; none: simulated
  std::optional<EnergyUse> energy{};  ///< of all GPUs; none: measured, a bound, or a machine without power
};

struct OverlapReport {
  OverlapProblem problem;  ///< as check_problem has it
  std::string machine;
  std::string where;    ///< the modelled machine, or the device
  std::string clock{};  ///< what decides that of GEMMs, in words; empty: measured
  bool simulated = false;
  std::uint32_t iterations = 1;  ///< measured, of each program
  Nanoseconds gemm_alone{};
  Nanoseconds comm_alone{};    ///< as `serial` does it
  Nanoseconds overlappable{};  ///< of it; without the all-gather of an all-reduce
  Nanoseconds in_memory{};     ///< the same with sums in memory; 0: not asked for (ideal-rs+nmc)
  DramTraffic behind{};        ///< of the all-gather of an all-reduce
  Nanoseconds serial{};
  Nanoseconds ideal{};
  std::string scenario;       ///< overlap_class()
  bool memory_bound = false;  ///< the GEMM
  std::vector<OverlapRow> rows;
  std::vector<report::SkippedWay> skipped;
  report::Objective objective = report::Objective::time;
  std::string choice;  ///< the best of the rows that have a program; of equally good ones the first
  std::string reason;  ///< one line
  std::string note;    ///< one line on how to read it; may be empty
  std::shared_ptr<const PlannedOverlap> chosen;  ///< nullptr: the choice is not one program

  const OverlapRow* row(std::string_view strategy) const;  ///< also by its name alone: "hetero-fused-1d"
};

/// Stands for: what a search predicts to be fastest, and serial beside it.
inline constexpr std::string_view kAutoStrategy = "auto";
/// Stands for: every strategy that applies.
inline constexpr std::string_view kAllStrategies = "all";

struct OverlapOptions {
  /// As find_strategy takes them, kAutoStrategy or kAllStrategies; empty: all that are compared by default and apply,
  /// and the searched best.
  std::vector<std::string> strategies{};
  StrategyKnobs knobs{};    ///< of all strategies but serial
  bool contention = false;  ///< with CIL, where predicted: three simulations per strategy, not one
  /// What the choice is made by; energy is predicted only, on machines with power (overlap.objective, power.machine).
  report::Objective objective = report::Objective::time;
  RunOptions run{};           ///< on devices: iterations of each program, in three rounds
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (overlap.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Strategies that do not apply or cannot do it are listed as skipped, if they were named; fails if none can, or if the
/// problem cannot be done at all.
///
/// On devices all programs run in turn, three rounds of a third of the iterations each (rounded up); a program's time
/// is that of its median round. The parts are timed in runs of their own, with timestamps around every command.
Outcome<OverlapReport> study_overlap(const OverlapProblem& problem, const Machine& machine, Target& target,
                                     const OverlapOptions& options = {});

/// On the simulator.
Outcome<OverlapReport> study_overlap(const OverlapProblem& problem, const Machine& machine,
                                     const OverlapOptions& options = {});

/// One strategy, as find_strategy takes it, or kAutoStrategy: the program of the best that a search predicts. Nothing
/// is proved. Refuses strategies that do not apply and those that are not one program (overlap.program).
Outcome<PlannedOverlap> plan_strategy(const OverlapProblem& problem, const Machine& machine,
                                      const std::string& strategy, const StrategyKnobs& knobs = {},
                                      std::uint32_t threads = 1);

/// Refuses the all-reduce of a GEMM, which is a program that overlaps and an all-gather behind it (overlap.program).
Status check_one_program(const OverlapProblem& problem);

/// Whether perfect overlap would gain anything worth a share: one percent.
bool has_gain(Nanoseconds serial, Nanoseconds ideal);

/// (speed-up - 1) / (ideal speed-up - 1); 0 where there is nothing to gain.
double share_of_ideal(Nanoseconds serial, Nanoseconds ideal, Nanoseconds time);

report::Document overlap_document(const OverlapReport& report);

}  // namespace cortado::pipeline
