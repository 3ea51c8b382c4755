// Proves programs correct, and runs them: on the simulator, the embedded node, or real GPUs, behind one interface. A
// target takes a VerifiedProgram and returns a Run.
//
//   const auto program = prove(plan_collective(request, machine), machine).value();
//   const auto target = open_target({.name = "sim"}, machine).value();
//   const Run run = target->run(program, {.iterations = 3}).value();
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/timeline.hpp"

// --- Proofs ----------------------------------------------------------------------------------------------------------
//
// Only verify() makes a VerifiedProgram, and only a VerifiedProgram can run. A simulation takes any CheckedProgram:
// comparing candidates and parts of programs needs no proof.
//
// Two consecutive iterations are checked together, because programs are replayed without a barrier (program.hpp).

namespace cortado {

struct VerifyOptions {
  /// Codes of rules to skip, e.g. "verify.race"; for programs proved elsewhere. The CheckedProgram records which rules
  /// were skipped.
  std::vector<std::string> skip_rules{};
  /// Stop collecting after this many errors of one rule.
  std::size_t max_errors_per_rule = 8;
};

struct RuleInfo {
  std::string_view code;  ///< "verify.bounds"
  std::string_view summary;
};

/// All rules in the order in which they run. A rule that depends on earlier ones (deadlock needs known ids) does not
/// run if they fail.
std::vector<RuleInfo> verify_rules();

/// A program that passed all rules except the skipped ones, with the machine it was checked for. Cheap to copy;
/// immutable.
class CheckedProgram {
 public:
  const Program& program() const { return *program_; }
  const Machine& machine() const { return *machine_; }
  const std::vector<std::string>& skipped_rules() const { return skipped_rules_; }

 private:
  friend Expected<CheckedProgram, std::vector<Diagnostic>> check_program(Program, const Machine&, const VerifyOptions&);
  friend CheckedProgram unproved(Program, const Machine&);
  CheckedProgram(std::shared_ptr<const Program> program, std::shared_ptr<const Machine> machine,
                 std::vector<std::string> skipped_rules)
      : program_(std::move(program)), machine_(std::move(machine)), skipped_rules_(std::move(skipped_rules)) {}

  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Machine> machine_;
  std::vector<std::string> skipped_rules_;
};

/// A program that passed all rules.
class VerifiedProgram : public CheckedProgram {
 private:
  friend Expected<VerifiedProgram, std::vector<Diagnostic>> verify(Program, const Machine&);
  friend struct ProofForTesting;  // to test what devices do with programs that the verifier refuses
  explicit VerifiedProgram(CheckedProgram checked) : CheckedProgram(std::move(checked)) {}
};

/// The program with its proof, or every error found (at least one).
Expected<VerifiedProgram, std::vector<Diagnostic>> verify(Program program, const Machine& machine);

/// The program, checked by the rules that were not skipped, or every error found (at least one).
Expected<CheckedProgram, std::vector<Diagnostic>> check_program(Program program, const Machine& machine,
                                                                const VerifyOptions& options);

/// All rules are skipped.
CheckedProgram unproved(Program program, const Machine& machine);

/// How many bytes of all output and inout buffers the contract covers. Output buffers are always covered completely;
/// parts of an inout buffer may belong to the caller alone.
struct OutputCoverage {
  Bytes covered;
  Bytes whole;
};

/// None if verify.contract was skipped.
std::optional<OutputCoverage> output_coverage(const CheckedProgram& checked);

}  // namespace cortado

// --- Failures --------------------------------------------------------------------------------------------------------
//
// Why planning, proving or running a program stopped, and at which stage.

namespace cortado {

enum class Stage { plan, verify, prepare, run };

/// Called when a stage begins.
using OnStage = std::function<void(Stage)>;

struct Failure {
  Stage stage = Stage::plan;
  std::vector<Diagnostic> errors;  ///< at least one; only verify returns several

  /// True if the program itself is at fault (refused by the verifier, or a fault or time-out while it ran), false
  /// if the request or the environment is.
  bool program_failed() const { return stage == Stage::verify || stage == Stage::run; }
};

template <class T>
using Outcome = Expected<T, Failure>;

inline Unexpected<Failure> fail_at(Stage stage, Diagnostic error) {
  return Unexpected(Failure{stage, {std::move(error)}});
}
inline Unexpected<Failure> fail_at(Stage stage, std::vector<Diagnostic> errors) {
  return Unexpected(Failure{stage, std::move(errors)});
}

}  // namespace cortado

// --- Power management ------------------------------------------------------------------------------------------------
//
// Power management in a simulation: how the clocks of each GPU are set, and how its board stays below its cap.
//
// Every control interval the clocks of each GPU are set again, from its activity in the last interval. Times follow the
// clocks: GEMMs and kernels that of the compute dies (xcd), last-level cache, fabric and DMA
// engines that of the I/O dies (iod), memory that of hbm. The clocks of links do not change.

namespace cortado::sim {

struct Clocks;
struct GpuActivity;
struct PolicyInputs;

/// How clocks are set; all are in src/sim/power/policies.cpp.
struct PowerPolicy {
  std::string_view name;
  std::string_view summary;
  bool has_limit = false;  ///< keeps the whole GPU below a limit that is lower than the board's cap
  /// Components whose clocks it sets by default. Empty: it does not set clocks by component.
  std::span<const Component> components{};
  Clocks (*decide)(const GpuActivity& activity, const PolicyInputs& inputs) = nullptr;
};

/// All, in the order in which lists show them; the first is kNoPowerPolicy.
std::span<const PowerPolicy* const> power_policies();
const PowerPolicy* find_power_policy(std::string_view name);  ///< nullptr if there is none

/// The requested names: all known (power.policy), without duplicates.
Result<std::vector<const PowerPolicy*>> parse_power_policies(const std::vector<std::string>& names);

/// Only the board's cap; the baseline of all others.
extern const PowerPolicy kNoPowerPolicy;

struct PowerManagement {
  const PowerPolicy* policy = &kNoPowerPolicy;
  std::optional<double> cap_w{};    ///< of a board, instead of the machine's
  std::optional<double> limit_w{};  ///< of a GPU, for policies with a limit; none: 80 % of the cap
  /// Components whose clocks may be changed, for policies by component; none: the policy's default.
  std::optional<std::vector<Component>> components{};
  /// component policies: margin of components that are not the bottleneck, above the clock that work used, as a share.
  double headroom = 0.02;
};

/// Components whose clocks the policy may change. The board always changes the clock of xcd, to stay within its cap.
std::vector<Component> managed_components(const PowerManagement& management);

/// The power that a GPU may draw: the limit, for policies that have one, or the cap of the board. The machine must
/// describe power.
double watts_allowed(const PowerManagement& management, const Power& power);

/// The result of power management.
struct ManagedClocks {
  /// Mean clocks of xcd, iod and hbm over all GPUs while anything ran on them, GHz; 0 if nothing did.
  std::array<double, 3> mean_ghz{};
  /// Highest average of a control interval, of any GPU; the first interval, which starts unmanaged, is excluded.
  double peak_w = 0;
  double longest_above_cap = 0;  ///< longest uninterrupted time, in seconds, that a GPU drew more than allowed
};

/// Refuses machines that do not describe power (power.machine).
Status check_power(const Machine& machine);

/// Refuses machines without power (power.machine), caps and limits that are not above idle power or not finite
/// (power.cap), a limit or components for policies that have none (power.limit, power.component), and policies for
/// components that the machine does not describe (power.component).
Status check_power_management(const PowerManagement& management, const Machine& machine);

// --- Simulation ------------------------------------------------------------------------------------------------------

/// More would only fill memory: simulated iterations reach a steady state.
inline constexpr std::uint32_t kMaxIterations = 1'000'000;

/// How concurrent transfers share rates.
struct RateSharing {
  bool local = false;       ///< approximate, for large programs; the Timeline says so
  double tolerance = 0.01;  ///< of local; in (0, 0.1]
};

struct SimulateOptions {
  std::uint32_t iterations = 1;  ///< 1 to kMaxIterations
  bool trace = false;            ///< record spans and flows; without it the Timeline has only times and totals
  bool span_names = true;        ///< label spans: pictures need labels, critical paths do not
  RateSharing sharing{};         ///< of rates among transfers
  std::optional<ArbitrationPolicy> arbitration{};  ///< of the memories, instead of the machine's
  /// Count energy, on machines that describe power. It does not affect times.
  bool energy = true;
  /// Power over time: the Timeline gets counters, averaged over this interval: watts by GPU and component and, if
  /// clocks are managed, gigahertz. None: no counters.
  std::optional<Nanoseconds> power_samples{};
  /// Clocks follow power. None: all clocks stay as in the machine file, whatever the power.
  std::optional<PowerManagement> manage{};
  /// Called periodically with the number of commands that have begun and the total of all iterations.
  std::function<void(std::uint64_t begun, std::uint64_t of)> progress{};
};

struct Simulated {
  Timeline timeline;
  /// By queue: when its last command ended, relative to the start of the simulation.
  std::vector<Nanoseconds> queue_ends;
  double memory_bytes = 0;  ///< read and written in the memories of all GPUs: the total of `traffic`
  DramTraffic traffic;
  std::uint32_t tracker_entries_peak = 0;  ///< in use at the same time, on the GPU with the most
  double tracker_wait_seconds = 0;         ///< total time that copies and GEMMs waited for entries
  double unit_seconds = 0;                 ///< compute units held, times seconds, over all GPUs
  std::uint64_t events = 0;
  std::uint64_t sharing_work = 0;         ///< rates examined by the solver
  std::optional<ManagedClocks> clocks{};  ///< if clocks are managed
};

}  // namespace cortado::sim

// --- Devices ---------------------------------------------------------------------------------------------------------

namespace cortado::device {

class Driver;  // src/device/driver

enum class CheckOutputs {
  none,
  /// The callers fill inputs before the run and new ones before the last iteration, whose outputs are checked:
  /// cheaper than `every`, and as strict for that iteration.
  last,
  every,  ///< the caller of each rank fills new inputs before and checks all outputs after each iteration
};

/// What callers write and read instead of the pattern, for a program whose contract is only a formula.
struct CallerData {
  /// Fills an input or inout buffer; must give the same result every time within a run.
  std::function<void(BufferId, std::span<std::byte>)> write{};
  /// Receives an output or inout buffer after the last iteration.
  std::function<void(BufferId, std::span<const std::byte>)> read{};
};

struct RunOptions {
  std::uint32_t iterations = 1;
  std::uint64_t seed = 1;  ///< of the input pattern
  CallerData data{};
  CheckOutputs check = CheckOutputs::last;
  std::chrono::milliseconds timeout{10'000};        ///< without any progress
  std::optional<std::uint64_t> adversarial_seed{};  ///< host queues are also interleaved at random
  std::function<bool()> stop{};                     ///< called while waiting; true ends the run (device.interrupted)
  /// Called by the first host queue after each of its iterations, with the total number.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress{};
};

/// Injected faults. Counts are per queue and start at 0. Every fault happens once, in the
/// first queue of its engine that reaches the count, so that a node can be used again after the failed run.
struct FaultInjection {
  /// After this many packets of a queue its engine stops fetching, for all its queues, until that queue is destroyed.
  struct StalledEngine {
    RankId gpu;
    EngineId engine;
    std::uint64_t after_packets = 0;
  };
  struct DroppedDoorbell {
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
  };
  struct LostSignal {  ///< the nth ATOMIC or FENCE packet of a queue writes nothing
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
  };
  /// The nth ATOMIC or FENCE packet of a queue takes this much longer. In adversarial mode a step is a microsecond.
  struct DelayedSignal {
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
    std::uint64_t nanoseconds = 0;
  };
  struct SlowEngine {  ///< takes a multiple of the time to move bytes; permanent
    RankId gpu;
    EngineId engine;
    std::uint64_t factor = 1;
  };
  struct LostInterrupt {  ///< the nth TRAP packet of a queue raises no interrupt
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
  };
  std::vector<StalledEngine> stalled_engines;
  std::vector<DroppedDoorbell> dropped_doorbells;
  std::vector<LostSignal> lost_signals;
  std::vector<DelayedSignal> delayed_signals;
  std::vector<SlowEngine> slow_engines{};
  std::vector<LostInterrupt> lost_interrupts{};

  bool empty() const {
    return stalled_engines.empty() && dropped_doorbells.empty() && lost_signals.empty() && delayed_signals.empty() &&
           slow_engines.empty() && lost_interrupts.empty();
  }
};

struct SoftOptions {
  /// Worker threads in addition to the callers; none = one less than the cores. With 0, waiting callers run the
  /// engines.
  std::optional<std::uint32_t> workers{};
  /// With a seed, a random generator decides everything that the semantics leave open: which queue advances next, how
  /// copies of a queue interleave (piece by piece, in any order), how long anything takes. It uses one thread, so a run
  /// can be repeated with the same seed.
  std::optional<std::uint64_t> adversarial_seed{};
  FaultInjection faults{};
};

}  // namespace cortado::device

// --- Targets ---------------------------------------------------------------------------------------------------------

namespace cortado {

struct RunOptions {
  std::uint32_t iterations = 1;  ///< the reported time is their median
  std::uint32_t warmup = 0;      ///< unchecked iterations before those, on devices
  bool trace = false;            ///< spans and flows; on devices of at most the last 16 iterations
  bool watts = false;            ///< with trace, simulated on a machine with power: watts over time
  device::RunOptions device{};   ///< devices only; iterations are those above
  sim::SimulateOptions sim{};    ///< simulator only; iterations and trace are those above
  OnStage on_stage{};
};

/// Output bytes compared with the contract.
struct ByteCheck {
  std::uint64_t wrong = 0;
  std::uint64_t checked = 0;
  std::optional<Diagnostic> first_wrong{};  ///< names rank, buffer, offset, expected and actual
};

/// One execution of a program, measured or predicted.
struct Run {
  Timeline timeline;
  ProgramCounts counts;
  Nanoseconds time{};  ///< median of the iterations
  /// None for a program with GEMMs: its time is not only that of moving bytes.
  std::optional<Bandwidths> bandwidths{};
  std::optional<EnergyUse> energy{};                    ///< of an iteration; none: not known
  std::optional<ByteCheck> check{};                     ///< none: predicted
  std::optional<std::uint32_t> tracker_entries_peak{};  ///< of the GPU with the most; none: a program without trackers
  /// Results that only a simulation has: DRAM traffic, ends of queues, clocks, ... Its timeline is the one above.
  std::optional<sim::Simulated> predicted{};
};

struct TargetInfo {
  std::string_view name;
  std::string_view summary;
};

class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  virtual bool predicts() const = 0;  ///< Run::time is simulated: the same every time; several threads may call run()
  virtual std::string where() const = 0;  ///< the modelled machine, or the node
  /// Accepts everything that the verifier accepted for the machine, except what the target does not support.
  virtual Outcome<Run> run(const VerifiedProgram& program, const RunOptions& options) = 0;
  /// The device behind the target, for access to its engines and memory; nullptr for the simulator.
  virtual device::Driver* driver() { return nullptr; }
};

/// sim, soft, kfd; the list of targets is in targets.cpp.
std::vector<TargetInfo> list_targets();
inline constexpr std::string_view kSimulator = "sim";

struct TargetRequest {
  std::string name = "soft";
  std::uint32_t gpus = 0;      ///< at least this many; 0: as many as the machine has
  device::SoftOptions soft{};  ///< refused by targets that do not support them
};

/// Refuses unknown names (target.unknown), devices with fewer GPUs than requested (device.gpus), and simulation of
/// machines without timing (sim.timing). The machine must outlive the target.
Result<std::unique_ptr<Target>> open_target(const TargetRequest& request, const Machine& machine);

/// The simulator, for any machine that programs were verified for.
std::unique_ptr<Target> simulator();

/// Proves the program for the machine; the failure has every error found.
Outcome<VerifiedProgram> prove(Result<Program> program, const Machine& machine, const OnStage& on_stage = {});

/// Simulates a program for which some rules were skipped; devices run only proved programs.
Outcome<Run> simulate_checked(const CheckedProgram& program, const RunOptions& options = {});

/// Proves and runs.
Outcome<Run> run_on(Target& target, Result<Program> program, const Machine& machine, const RunOptions& options = {});

/// Proves and simulates.
Outcome<Run> predict(Result<Program> program, const Machine& machine, const RunOptions& options = {});

}  // namespace cortado
