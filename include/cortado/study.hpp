// Studies: a GEMM and a collective with every strategy, the effect of new hardware, power under power
// policies, and whole models.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/plan.hpp"
#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

// --- Overlap ---------------------------------------------------------------------------------------------------------
//
// A GEMM and a collective with every strategy, on one target: times, speed-up over sequential execution, exposed
// communication, and the recommended strategy.
//
//   serial           = GEMM and library collective on compute units, run sequentially; computed once per problem
//   speed-up         = serial / time
//   ideal            = the longer of GEMM and collective, each alone and with the fastest method that strategies may
//                      use: the GEMM on all CUs (next to an independent collective also on all but one per die), the
//                      collective with the library, other kernels or DMA engines. All-reduce: the longer of GEMM and
//                      reduce-scatter, plus the all-gather; or GEMM plus all-reduce, if that is less. On devices
//                      only with the library
//   share of ideal   = (speed-up - 1) / (serial / ideal - 1); slightly above 1 if the GEMM of a strategy is faster
//                      than the GEMM alone, as in T3, whose results bypass the caches
//   exposed          = time - GEMM alone, at least 0: communication, and its costs, that are not hidden
//   DIL              = time of the GEMM's pieces in sequence, each alone, over the whole GEMM alone; from the model,
//                      without launches, for the rank whose pieces take longest
//   CIL              = time of GEMMs (copies) while copies (GEMMs) run, over their time alone; waiting does not count
//
// Example: the GEMM takes 60 us alone, the collective 40 us, serial 100 us. A strategy that takes 75 us has a speed-up
// of 1.33; the ideal is 100 / 60 = 1.67, so its share is 50 %, and 15 us are exposed.

namespace cortado::pipeline {

/// "G-long" if the GEMM takes more than 1.15 times as long as the collective, "C-long" for the reverse, otherwise
/// "GC-equal".
std::string_view overlap_class(Nanoseconds gemm, Nanoseconds collective);

/// One strategy.
struct OverlapRow {
  std::string strategy;  ///< with its decisions: "hetero-fused-1d/8"
  std::string how;       ///< the decisions, in one line
  bool bound = false;    ///< an ideal: no program
  Nanoseconds time{};
  double speedup = 0;
  double share_of_ideal = 0;  ///< 0.5 = half of it
  Nanoseconds exposed{};
  Nanoseconds gemm{};  ///< begin to the end of the GEMM, including kernels that handle its rows
  Nanoseconds comm{};  ///< begin to the end of the collective
  Nanoseconds sent{};  ///< end of the collective without the work of the GEMM's stream for it: sums, copies of own rows
  std::optional<double> gemm_slowdown{};  ///< relative to the GEMM alone; independent problems only
  std::optional<double> comm_slowdown{};  ///< relative to the library's collective alone
  std::uint32_t gemm_cus = 0;             ///< CUs that the GEMM may use
  std::uint32_t comm_cus = 0;             ///< CUs of the collective; 0: DMA engines only
  std::uint32_t steps = 0;                ///< consecutive exchanges; 0: not split
  std::optional<double> dil{};            ///< of split GEMMs
  std::optional<double> cil_gemm{};       ///< 1 = not slowed down; none: not requested
  std::optional<double> cil_comm{};
  Bytes footprint{};                  ///< memory of the rank that needs the most; 0: not known
  Bytes staging{};                    ///< part of it that is neither operand nor result
  std::optional<double> hbm_bytes{};  ///< read and written in the memories of all GPUs; none: measured
  std::optional<DramTraffic> dram{};  ///< the same by source
  std::optional<std::uint32_t> tracker_entries_peak{};  ///< of the GPU that needed the most; none: no trackers
  std::optional<Nanoseconds> tracker_wait{};            ///< time that writers waited for entries, over all GPUs
  std::optional<std::uint64_t> wrong{};                 ///< output bytes that differ from the contract; none: simulated
  std::optional<EnergyUse> energy{};  ///< of all GPUs; none: measured, a bound, or a machine without power
};

struct OverlapReport {
  OverlapProblem problem;  ///< as returned by check_problem
  std::string machine;
  std::string where;    ///< the modelled machine, or the device
  std::string clock{};  ///< what decides the clock of GEMMs, in words; empty: measured
  bool simulated = false;
  std::uint32_t iterations = 1;  ///< measured iterations of each program
  Nanoseconds gemm_alone{};
  Nanoseconds comm_alone{};    ///< with the method of `serial`
  Nanoseconds overlappable{};  ///< the part of it that can overlap; without the all-gather of an all-reduce
  Nanoseconds in_memory{};     ///< the same with sums in memory; 0: not requested (ideal-rs+nmc)
  DramTraffic behind{};        ///< of the all-gather of an all-reduce
  /// All-reduce: the GEMM, then the library's reduce-scatter and all-gather, the baseline of papers.
  std::optional<OverlapRow> in_parts{};
  Nanoseconds serial{};
  Nanoseconds ideal{};
  std::string scenario;       ///< overlap_class()
  bool memory_bound = false;  ///< the GEMM is memory-bound
  std::vector<OverlapRow> rows;
  std::vector<report::SkippedWay> skipped;
  report::Objective objective = report::Objective::time;
  std::string choice;            ///< the best of the rows that have a program; the first of equally good ones
  bool among_requested = false;  ///< the choice is the best of a given list, not of all
  std::string reason;            ///< one line
  std::string note;              ///< one line on how to read it; may be empty
  std::shared_ptr<const PlannedOverlap> chosen;  ///< nullptr: the choice is not one program

  const OverlapRow* row(std::string_view strategy) const;  ///< also by its name alone: "hetero-fused-1d"
};

/// Means: the strategy that a search predicts to be fastest, and serial for comparison.
inline constexpr std::string_view kAutoStrategy = "auto";
/// Means: every strategy that applies, and the best one found by search.
inline constexpr std::string_view kAllStrategies = "all";

struct OverlapOptions {
  /// Names for find_strategy, kAutoStrategy or kAllStrategies; empty: all strategies that are compared by default and
  /// apply, and the best one found by search.
  std::vector<std::string> strategies{};
  StrategyKnobs knobs{};    ///< of all strategies except serial
  bool contention = false;  ///< with CIL, if predicted: three simulations per strategy instead of one
  /// Criterion of the choice; energy only if predicted, on machines with power (overlap.objective, power.machine).
  report::Objective objective = report::Objective::time;
  bool one_program = false;   ///< choose only among strategies that are one program: a dependent serial is two
  RunOptions run{};           ///< on devices: iterations of each program, in three rounds
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (overlap.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Strategies that do not apply or do not work are listed as skipped, if they were named. Fails if none works, or if
/// the problem is invalid.
///
/// On devices all programs run interleaved, in three rounds of a third of the iterations each (rounded up); a program's
/// time is that of its median round. The parts are timed in separate runs, with timestamps around every command.
Outcome<OverlapReport> study_overlap(const OverlapProblem& problem, const Machine& machine, Target& target,
                                     const OverlapOptions& options = {});

/// On the simulator.
Outcome<OverlapReport> study_overlap(const OverlapProblem& problem, const Machine& machine,
                                     const OverlapOptions& options = {});

/// The program of one strategy: a name for find_strategy, or kAutoStrategy for the best one found by search. Nothing
/// is proved. Refuses strategies that do not apply and those that are not one program (overlap.program).
Outcome<PlannedOverlap> plan_strategy(const OverlapProblem& problem, const Machine& machine,
                                      const std::string& strategy, const StrategyKnobs& knobs = {},
                                      std::uint32_t threads = 1);

/// Refuses the all-reduce of a GEMM, which is a program that overlaps followed by an all-gather (overlap.program).
Status check_one_program(const OverlapProblem& problem);

/// Whether perfect overlap would gain enough to compute a share: one percent.
bool has_gain(Nanoseconds serial, Nanoseconds ideal);

/// (speed-up - 1) / (ideal speed-up - 1); 0 if there is nothing to gain.
double share_of_ideal(Nanoseconds serial, Nanoseconds ideal, Nanoseconds time);

report::Document overlap_document(const OverlapReport& report);

// --- What if ---------------------------------------------------------------------------------------------------------
//
// The effect of hardware features that a machine lacks: the same overlap problem without and with them.

struct FeatureInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view machine;  ///< a machine that has it, whose entries, costs and thresholds are used by default
};

/// tracker, nmc, mca; multicast, fused-packets, indirect, engine-add, device-initiated.
std::vector<FeatureInfo> list_features();

/// The machine with these features, copied from another machine (entries, costs, thresholds). Refuses unknown names
/// with the nearest known one, features that the other machine lacks, and features that the machine already has
/// (what-if.feature).
Result<Machine> with_features(const Machine& machine, const std::vector<std::string>& features, const Machine& as);
/// The same, each copied from the machine of its FeatureInfo.
Result<Machine> with_features(const Machine& machine, const std::vector<std::string>& features);

struct WhatIfReport {
  std::vector<std::string> features;  ///< added features
  OverlapReport today;
  OverlapReport tomorrow;

  double gain() const;  ///< time of today's choice divided by that of tomorrow's; at least 1
};

/// The same study on both machines. Features are copied from `as` or, without it, from the machines of their
/// FeatureInfos. Tomorrow's machine may leave its new features unused: a strategy that is faster without them runs as
/// it does today.
Outcome<WhatIfReport> what_if(const OverlapProblem& problem, const Machine& today,
                              const std::vector<std::string>& features, const std::optional<Machine>& as = {},
                              const OverlapOptions& options = {});

report::Document what_if_document(const WhatIfReport& report);

// --- Power -----------------------------------------------------------------------------------------------------------
//
// Power of a GEMM, of a collective and of both at once on a modelled machine, under power policies.
//
// Everything is repeated until the clocks have settled: for at least forty control intervals and twenty iterations.
// The reported value is the mean of the second half of the iterations.

/// On command lines: all power policies that the machine supports.
inline constexpr const char* kAllPowerPolicies = "all";

/// At least one of the two.
struct PowerRequest {
  std::optional<GemmShape> gemm{};  ///< the same on every rank
  /// Variant kCoresVariants: as in a GPU-core library. There is always one host thread per rank.
  std::optional<CollectiveRequest> collective{};
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  /// Of both: any strategy of the list (plan.hpp), or kAutoStrategy. Empty: both are launched at once, the
  /// collective with its variant; independent problems only.
  std::string strategy{};
  StrategyKnobs knobs{};  ///< of the strategy
  /// How they depend on each other. The bytes of a collective that depends on the GEMM follow from the GEMM.
  Relation relation = Relation::independent;
  TokenTable tokens{};  ///< of a dependent all-to-all
};

struct PowerOptions {
  /// None: all that the machine supports; the others are listed as skipped. The policy none, the baseline,
  /// always comes first, named or not.
  std::optional<std::vector<const sim::PowerPolicy*>> policies{};
  bool managed = true;              ///< false: clocks stay as in the machine file, and there is one row per case
  std::optional<double> cap_w{};    ///< of a board, instead of the machine's
  std::optional<double> limit_w{};  ///< of uniform-cap
  /// Components whose clocks component policies may change; none: their defaults (sim::managed_components).
  std::optional<std::vector<Component>> components{};
  bool over_time = false;     ///< power over time, for the run of both or of the only one
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (power.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Refuses what check_power_management refuses, policies, caps and limits for unmanaged clocks
/// (power.unmanaged), an empty request (power.request), and what cannot be planned.
Outcome<report::PowerReport> study_power(const PowerRequest& request, const Machine& machine,
                                         const PowerOptions& options = {});

// --- Models ----------------------------------------------------------------------------------------------------------
//
// A whole model on a machine: the time of a training step, a prefill, a decode step or a whole generation, with every
// system, and where communication is exposed.
//
// A system is a rule for overlapping collectives and GEMMs:
//
//   serial     the library's collectives (small all-reduces of inference: direct kernels of serving engines) on
//              compute units, without overlap
//   framework  as serial, but weights and gradients that fsdp and dp move overlap GEMMs, on compute units
//   c3         as framework, and collectives overlap GEMMs that do not depend on them, on compute units
//   conccl     as c3, with all collectives on DMA engines
//   async-tp   as framework, and GEMMs are split into one shard per rank, as in PyTorch
//   ficco      as conccl, and dependent GEMMs and collectives are split
//   tiles      as conccl, and GEMMs stay whole: their tiles wait for chunks of a collective, or release them
//   t3         as framework, and GEMMs are fused with the reductions that follow them
//   t3-mca     the same with arbitration at the memory
//   auto       the best of all of these for every pair
//   ideal      everything is hidden as far as GEMMs are long enough: a bound
//
// Pairs of a GEMM and a collective go through the overlap study (study_overlap); a block of a step then takes
//
//   time = max(operators + exposed + slow-down of overlapped GEMMs, independent collectives)
//
// because the all-gather of FSDP for the next layer may also overlap attention and norms. docs/models.md, "Whole
// models".

/// In the order in which tables show them.
const std::vector<std::string>& model_systems();

struct ModelRequest {
  Model model;
  Layout layout{};
  Phase phase{};
};

struct ModelOptions {
  std::vector<std::string> systems{};  ///< empty: all for which the machine has the hardware
  std::uint32_t threads = 1;           ///< overlap studies at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (model.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// The result of one system.
struct SystemRow {
  std::string system;
  bool bound = false;
  double seconds = 0;
  double speedup = 1;  ///< over serial
  double tokens_per_second = 0;
  double flops_per_gpu = 0;        ///< per second, needed by the model
  double mfu = 0;                  ///< of the peak of the GEMMs' type
  double compute = 0;              ///< seconds of GEMMs, attention and other kernels, each alone
  double exposed = 0;              ///< seconds beyond that: communication, and the slow-down it causes
  double bubble = 0;               ///< seconds that a stage waits for others
  std::optional<double> joules{};  ///< of all GPUs
};

/// One kind of collective and the GEMMs it overlaps.
struct PairRow {
  std::string block;
  std::string collective;                  ///< "all-reduce of 16KiB"
  std::string with;                        ///< "behind output, 1x8192x1024 f8"
  double times = 0;                        ///< in a step
  double alone_us = 0;                     ///< with the method of serial
  double gemm_us = 0;                      ///< 0: none
  std::string chosen;                      ///< by auto
  std::vector<double> exposed_us;          ///< of one, for the systems of the rows
  std::optional<double> prelaunched_us{};  ///< alone, with the best prelaunched variant on DMA engines
  friend bool operator==(const PairRow&, const PairRow&) = default;
};

/// One kind of operator.
struct OperatorRow {
  std::string block;
  std::string name;
  std::string what;  ///< "8192x1280x8192 bf16"
  double times = 0;  ///< in a step
  double us = 0;     ///< of one, alone
  double share = 0;  ///< of the time of serial
};

/// The result of one power policy: the step of one system, on boards that stay within their cap.
struct PolicyRow {
  std::string policy;
  double seconds = 0;
  double tokens_per_second = 0;
  double joules = 0;  ///< of all GPUs
  double joules_per_token = 0;
  std::array<double, kComponents.size()> watts{};  ///< of one GPU over the step, by component
  std::array<double, 3> clocks_ghz{};              ///< mean of xcd, iod and hbm
};

struct ModelReport {
  ModelRequest request;
  std::string machine;
  std::string clock{};  ///< what decides the clock of GEMMs, in words
  std::uint32_t gpus = 0;
  MemoryNeed memory{};
  ParameterCounts parameters{};
  double tokens = 0;
  std::vector<SystemRow> rows{};
  std::vector<PairRow> pairs{};
  std::vector<OperatorRow> operators{};
  std::string managed{};               ///< system that the policies apply to; empty: not requested
  std::vector<PolicyRow> policies{};   ///< the first is only the board's cap
  std::optional<Timeline> timeline{};  ///< of a layer with the fastest system, for pages
  std::vector<std::string> notes{};

  const SystemRow* row(std::string_view system) const;
  /// The fastest one that is not a bound.
  const SystemRow& best() const;
};

/// Power management of a step.
struct ModelPower {
  std::vector<const sim::PowerPolicy*> policies{};
  std::optional<double> limit_w{};  ///< of policies with a limit
};

class ModelCosts;

/// Predicts steps of models on one machine; times of GEMMs and collectives are computed once for all of them.
class ModelStudy {
 public:
  /// The machine must outlive it.
  explicit ModelStudy(const Machine& machine);
  ~ModelStudy();

  /// Refuses what check_layout and check_kernels refuse, and unknown systems (model.system).
  Outcome<ModelReport> run(const ModelRequest& request, const ModelOptions& options = {});

  /// The step of one system with clocks that follow power: its blocks are simulated as programs, each until its clocks
  /// have settled. Refuses what check_power_management refuses, and layouts of several groups or nodes (model.program).
  Outcome<std::vector<PolicyRow>> run_policies(const ModelReport& report, const std::string& system,
                                               const ModelPower& power, const ModelOptions& options = {});

  /// A layer with a system, simulated as a program: all streams and engines of all GPUs. If it has no such program
  /// (see above), the composition of one GPU.
  Outcome<Timeline> layer_timeline(const ModelRequest& request, const std::string& system);

 private:
  Outcome<ModelReport> run_step(const ModelRequest& request, const ModelOptions& options);
  Outcome<ModelReport> run_generation(const ModelRequest& request, const ModelOptions& options);

  const Machine& machine_;
  std::unique_ptr<ModelCosts> costs_;
};

report::Document model_document(const ModelReport& report, bool by_operator);

}  // namespace cortado::pipeline
