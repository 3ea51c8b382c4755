// Studies: a GEMM and a collective by every strategy, what new hardware would change, power under policies of power
// management, and whole models.
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

#include "cortado/collective.hpp"
#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/overlap.hpp"
#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

// --- Overlap ---------------------------------------------------------------------------------------------------------
//
// A GEMM and a collective by every strategy, on one target: times, what is gained over one after the other, what stays
// exposed, and which strategy to use.
//
//   serial           = GEMM and library collective on compute units, one after the other; computed once per problem
//   speed-up         = serial / time
//   ideal            = the longer of GEMM and collective, each alone and by the fastest that strategies may use: the
//                      GEMM on all CUs (beside an independent collective also on all but one of each die), the
//                      collective by the library or on DMA engines. Of an all-reduce: the longer of GEMM and
//                      reduce-scatter, and the all-gather behind; or GEMM and all-reduce, if that is less. On devices
//                      by the library alone
//   share of ideal   = (speed-up - 1) / (serial / ideal - 1); a little above 1 where the GEMM of a strategy is faster
//                      than the GEMM alone: that of T3, whose results go past the caches
//   exposed          = time - GEMM alone, not below 0: communication, and its costs, that are not hidden
//   DIL              = the pieces of the GEMM one after the other, each alone, over the whole GEMM alone; by the model,
//                      without launches, of the rank whose pieces take longest
//   CIL              = how much longer GEMMs (copies) take beside copies (GEMMs) than alone; waiting does not count
//
// Example: the GEMM takes 60 us alone, the collective 40 us, serial 100 us. A strategy that takes 75 us has a speed-up
// of 1.33; the ideal is 100 / 60 = 1.67, so its share is 50 %, and 15 us are exposed.

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
  /// Of an all-reduce: GEMM, reduce-scatter and all-gather of the library one after another, with which papers compare.
  std::optional<OverlapRow> in_parts{};
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

// --- What if ---------------------------------------------------------------------------------------------------------
//
// The effect of hardware features that a machine lacks: the same overlap problem today and tomorrow.

struct FeatureInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view machine;  ///< that has it: whose entries, costs and thresholds are taken unless told otherwise
};

/// tracker, nmc, mca; multicast, fused-packets, indirect, engine-add, device-initiated.
std::vector<FeatureInfo> list_features();

/// The machine with these features, as another one has them (entries, costs, thresholds). Refuses unknown names with
/// the nearest known one, features that the other has not got, and ones that the machine has already
/// (what-if.feature).
Result<Machine> with_features(const Machine& machine, const std::vector<std::string>& features, const Machine& as);
/// The same, each as the machine of its FeatureInfo has it.
Result<Machine> with_features(const Machine& machine, const std::vector<std::string>& features);

struct WhatIfReport {
  std::vector<std::string> features;  ///< that were added
  OverlapReport today;
  OverlapReport tomorrow;

  double gain() const;  ///< time of today's choice over that of tomorrow's; never below 1
};

/// The same study on both machines, features as `as` has them or, without one, as the machines of their FeatureInfos
/// do. Tomorrow's machine may leave its new features unused: a strategy that is faster without them runs as it does
/// today.
Outcome<WhatIfReport> what_if(const OverlapProblem& problem, const Machine& today,
                              const std::vector<std::string>& features, const std::optional<Machine>& as = {},
                              const OverlapOptions& options = {});

report::Document what_if_document(const WhatIfReport& report);

// --- Power -----------------------------------------------------------------------------------------------------------
//
// Power of a GEMM, of a collective and of both at once on a modelled machine, under policies of power management.
//
// Everything is repeated until the management has settled: for forty control intervals and twenty iterations or longer.
// What is reported is the mean of the second half of the iterations.

/// Stands for the policies of power management that the machine can do, in command lines.
inline constexpr const char* kAllPowerPolicies = "all";

/// At least one of the two.
struct PowerRequest {
  std::optional<GemmShape> gemm{};  ///< the same on every rank
  /// Its variant kCoresVariants: as a GPU-core library does it. The host is per rank always.
  std::optional<CollectiveRequest> collective{};
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  /// Of both: any of the list (overlap.hpp), or kAutoStrategy. Empty: both are launched at once, the collective by
  /// its variant; independent problems only.
  std::string strategy{};
  StrategyKnobs knobs{};  ///< of the strategy
  /// How both depend on each other. The bytes of a collective that depends on the GEMM follow from it.
  Relation relation = Relation::independent;
  TokenTable tokens{};  ///< of a dependent all-to-all
};

struct PowerOptions {
  /// None: all that the machine can do; the others are listed as skipped. The policy none, with which all are compared,
  /// comes first whether it is named or not.
  std::optional<std::vector<const sim::PowerPolicy*>> policies{};
  bool managed = true;              ///< false: clocks stay as the machine file has them, and there is one row a case
  std::optional<double> cap_w{};    ///< of a board, instead of the machine's
  std::optional<double> limit_w{};  ///< of uniform-cap
  /// Clocks that component policies may move; none: each its own (sim::managed_components).
  std::optional<std::vector<Component>> components{};
  bool over_time = false;     ///< power over time, of the run of both or of the only one
  std::uint32_t threads = 1;  ///< simulations at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (power.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// Refuses what check_power_management refuses, policies, caps and limits for clocks that are not managed
/// (power.unmanaged), a request of nothing (power.request), and what cannot be planned.
Outcome<report::PowerReport> study_power(const PowerRequest& request, const Machine& machine,
                                         const PowerOptions& options = {});

// --- Models ----------------------------------------------------------------------------------------------------------
//
// A whole model on a machine: what a training step, a prefill, a decode step or a whole generation takes, by every
// system, and where communication stays exposed.
//
// A system is a rule for how collectives meet GEMMs:
//
//   serial     the library's collectives (small all-reduces of inference: direct kernels of serving engines) on
//              compute units, nothing at the same time
//   framework  as serial, but weights and gradients that fsdp and dp move run beside GEMMs, on compute units
//   c3         as framework, and collectives that some GEMM need not wait for run beside it, on compute units
//   conccl     as c3 on DMA engines; all other collectives too
//   async-tp   as framework, and GEMMs are cut into one shard for each rank, as PyTorch does
//   ficco      as conccl, and GEMMs and the collectives that depend on each other are cut
//   tiles      as conccl, and GEMMs stay whole: their tiles wait for chunks of a collective, or release them
//   t3         as framework, and GEMMs and reductions behind them are fused
//   t3-mca     the same with arbitration at the memory
//   auto       of every pair the best of all of them
//   ideal      everything hidden that GEMMs are long enough for: a bound
//
// GEMMs beside or in front of a collective go through the one overlap study (study_overlap); a block of a step is
// then
//
//   time = max(operators + exposed + slow-down of GEMMs beside, collectives beside)
//
// since what FSDP gathers for the next layer may also run beside attention and norms. docs/models.md, "Whole models".

/// In the order of tables.
const std::vector<std::string>& model_systems();

struct ModelRequest {
  Model model;
  Layout layout{};
  Phase phase{};
};

struct ModelOptions {
  std::vector<std::string> systems{};  ///< empty: all that the machine has the hardware for
  std::uint32_t threads = 1;           ///< overlap studies at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (model.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// By one system.
struct SystemRow {
  std::string system;
  bool bound = false;
  double seconds = 0;
  double speedup = 1;  ///< over serial
  double tokens_per_second = 0;
  double flops_per_gpu = 0;        ///< a second, that the model needs
  double mfu = 0;                  ///< of the peak of the GEMMs' type
  double compute = 0;              ///< seconds of GEMMs, attention and other kernels, each alone
  double exposed = 0;              ///< seconds beyond that: communication, and what it slows down
  double bubble = 0;               ///< seconds that a stage waits for others
  std::optional<double> joules{};  ///< of all GPUs
};

/// One kind of collective and the GEMMs it meets.
struct PairRow {
  std::string block;
  std::string collective;                  ///< "all-reduce of 16KiB"
  std::string with;                        ///< "behind output, 1x8192x1024 f8"
  double times = 0;                        ///< in a step
  double alone_us = 0;                     ///< as serial does it
  double gemm_us = 0;                      ///< 0: none
  std::string chosen;                      ///< by auto
  std::vector<double> exposed_us;          ///< of one, by the systems of the rows
  std::optional<double> prelaunched_us{};  ///< alone, by the best variant on DMA engines that are programmed ahead
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

/// By one policy of power management: the step of one system, on boards that keep to their cap.
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
  std::string clock{};  ///< what decides that of GEMMs, in words
  std::uint32_t gpus = 0;
  MemoryNeed memory{};
  ParameterCounts parameters{};
  double tokens = 0;
  std::vector<SystemRow> rows{};
  std::vector<PairRow> pairs{};
  std::vector<OperatorRow> operators{};
  std::string managed{};               ///< system that the policies are for; empty: none was asked for
  std::vector<PolicyRow> policies{};   ///< the first is that of the board alone
  std::optional<Timeline> timeline{};  ///< of a layer by the fastest system, for pages
  std::vector<std::string> notes{};

  const SystemRow* row(std::string_view system) const;
  /// The fastest that is no bound.
  const SystemRow& best() const;
};

/// Power management of a step.
struct ModelPower {
  std::vector<const sim::PowerPolicy*> policies{};
  std::optional<double> limit_w{};  ///< of policies with a limit
};

class ModelCosts;

/// Predicts steps of models on one machine; what GEMMs and collectives take is computed once for all of them.
class ModelStudy {
 public:
  /// The machine must outlive it.
  explicit ModelStudy(const Machine& machine);
  ~ModelStudy();

  /// Refuses what check_layout and check_kernels refuse, and unknown systems (model.system).
  Outcome<ModelReport> run(const ModelRequest& request, const ModelOptions& options = {});

  /// The step by one system with clocks that follow power: its blocks are simulated as programs, each until its clocks
  /// have settled. Refuses what check_power_management refuses, and layouts of several groups or nodes (model.program).
  Outcome<std::vector<PolicyRow>> run_policies(const ModelReport& report, const std::string& system,
                                               const ModelPower& power, const ModelOptions& options = {});

  /// A layer by a system, simulated as a program: all streams and engines of all GPUs. Where it is none of a node, the
  /// composition of one GPU.
  Outcome<Timeline> layer_timeline(const ModelRequest& request, const std::string& system);

 private:
  Outcome<ModelReport> run_step(const ModelRequest& request, const ModelOptions& options);
  Outcome<ModelReport> run_generation(const ModelRequest& request, const ModelOptions& options);

  const Machine& machine_;
  std::unique_ptr<ModelCosts> costs_;
};

report::Document model_document(const ModelReport& report, bool by_operator);

}  // namespace cortado::pipeline
