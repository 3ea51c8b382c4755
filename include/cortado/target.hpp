// Where programs run: the simulator, the embedded node, or real GPUs, all behind one interface. A target takes a
// VerifiedProgram and returns a Run.
//
//   auto target = open_target({.name = "sim"}, machine).value();
//   const Run run = target->run(verified, {.iterations = 3}).value();
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
#include "cortado/verify.hpp"

// --- Failures --------------------------------------------------------------------------------------------------------
//
// Why planning, proving or running a program stopped, and at which stage.

namespace cortado {

enum class Stage { plan, verify, prepare, run };

/// Told of each stage as it begins.
using OnStage = std::function<void(Stage)>;

struct Failure {
  Stage stage = Stage::plan;
  std::vector<Diagnostic> errors;  ///< at least one; only verify gives several

  /// True if the program itself was found wanting (refused by the verifier, a fault or a time-out while it ran), false
  /// if the request or the environment was.
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
// Power management in a simulation: who decides the clocks of each GPU, and how its board stays under its cap.
//
// Every control interval the clocks of each GPU are decided anew, from what it did in the last one. Clocks change how
// long things take: GEMMs and kernels follow the clock of the compute dies (xcd), last-level cache, fabric and DMA
// engines that of the I/O dies (iod), memory that of hbm. Links have clocks of their own that nobody changes.

namespace cortado::sim {

struct Clocks;
struct GpuActivity;
struct PolicyInputs;

/// How clocks are decided; one file each in src/sim/power/policies.
struct PowerPolicy {
  std::string_view name;
  std::string_view summary;
  bool has_limit = false;  ///< keeps the whole GPU to a limit below the cap of its board
  /// Moves clocks by component: these, where nobody says which. Empty: it does not.
  std::span<const Component> components{};
  Clocks (*decide)(const GpuActivity& activity, const PolicyInputs& inputs) = nullptr;
};

/// All, in the order of lists; the first is kNoPowerPolicy.
std::span<const PowerPolicy* const> power_policies();
const PowerPolicy* find_power_policy(std::string_view name);  ///< nullptr if there is none

/// The names asked for, each known (power.policy), each once.
Result<std::vector<const PowerPolicy*>> parse_power_policies(const std::vector<std::string>& names);

/// The board alone; what all others are compared with.
extern const PowerPolicy kNoPowerPolicy;

struct PowerManagement {
  const PowerPolicy* policy = &kNoPowerPolicy;
  std::optional<double> cap_w{};    ///< of a board, instead of the machine's
  std::optional<double> limit_w{};  ///< of a GPU, for policies with a limit; none: 80 % of the cap
  /// Those whose clocks may be moved, for policies by component; none: the policy's own.
  std::optional<std::vector<Component>> components{};
  /// component policies: clock of components that do not bound, above what work made use of, as a share.
  double headroom = 0.02;
};

/// Those whose clocks the policy may move. The board moves the clock of xcd in any case, to keep to its cap.
std::vector<Component> managed_components(const PowerManagement& management);

/// What a GPU may draw: the limit, for policies that have one, or the cap of the board. The machine describes power.
double watts_allowed(const PowerManagement& management, const Power& power);

/// What the management did.
struct ManagedClocks {
  /// Mean clocks of xcd, iod and hbm over all GPUs while anything ran on them, GHz; 0 where nothing did.
  std::array<double, 3> mean_ghz{};
  /// Greatest average of a control interval, of any GPU; the first one, at whose beginning nothing was managed yet, is
  /// left out.
  double peak_w = 0;
  double longest_above_cap = 0;  ///< seconds that a GPU drew more than it should without interruption
};

/// Refuses machines that say nothing of power (power.machine).
Status check_power(const Machine& machine);

/// Refuses machines without power (power.machine), caps and limits that are not above idle power or not finite
/// (power.cap), a limit or components for policies that have none (power.limit, power.component), and policies for
/// components that the machine does not describe (power.component).
Status check_power_management(const PowerManagement& management, const Machine& machine);

// --- Simulation ------------------------------------------------------------------------------------------------------

/// More would only fill memory: simulated iterations settle into a rhythm.
inline constexpr std::uint32_t kMaxIterations = 1'000'000;

/// How rates of transfers that meet are shared.
struct RateSharing {
  bool local = false;       ///< approximate, for large programs; the Timeline says so
  double tolerance = 0.01;  ///< of local; in (0, 0.1]
};

struct SimulateOptions {
  std::uint32_t iterations = 1;  ///< 1 to kMaxIterations
  bool trace = false;            ///< record spans and flows; without it the Timeline has times and totals only
  bool span_names = true;        ///< give spans their texts: pictures need them, critical paths do not
  RateSharing sharing{};         ///< of rates among transfers
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
  double tracker_wait_seconds = 0;         ///< that copies and GEMMs waited for entries, summed up
  double unit_seconds = 0;                 ///< compute units held, times seconds, over all GPUs
  std::uint64_t events = 0;
  std::uint64_t sharing_work = 0;         ///< rates looked at to share them
  std::optional<ManagedClocks> clocks{};  ///< where clocks are managed
};

}  // namespace cortado::sim

// --- Devices ---------------------------------------------------------------------------------------------------------

namespace cortado::device {

class Driver;  // src/device/driver

enum class CheckOutputs {
  none,
  /// The callers fill inputs before the run and fresh ones before the last iteration, whose outputs are checked:
  /// cheaper than `every`, and as strict for that iteration.
  last,
  every,  ///< the caller of each rank fills fresh inputs before and checks all outputs after each iteration
};

/// What callers write and read in place of the pattern, of a program whose contract is a formula alone.
struct CallerData {
  /// Fills an input or inout buffer; the same every time it is asked in a run.
  std::function<void(BufferId, std::span<std::byte>)> write{};
  /// Sees an output or inout buffer after the last iteration.
  std::function<void(BufferId, std::span<const std::byte>)> read{};
};

struct RunOptions {
  std::uint32_t iterations = 1;
  std::uint64_t seed = 1;  ///< of the input pattern
  CallerData data{};
  CheckOutputs check = CheckOutputs::last;
  std::chrono::milliseconds timeout{10'000};        ///< without any progress
  std::optional<std::uint64_t> adversarial_seed{};  ///< host queues are interleaved at random, too
  std::function<bool()> stop{};                     ///< asked while waiting; true ends the run (device.interrupted)
  /// Called by the first host queue after each of its iterations, with how many there are.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress{};
};

/// Things that go wrong on purpose. Counts are per queue; the first thing is number 0. Every entry strikes once, in the
/// first queue of its engine that reaches the count, so that a node can be used again after the run it spoiled.
struct FaultInjection {
  /// After so many packets of a queue its engine stops fetching, for all its queues, until that queue is destroyed.
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
  /// The nth ATOMIC or FENCE packet of a queue takes that much longer. In adversarial mode a step is a microsecond.
  struct DelayedSignal {
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
    std::uint64_t nanoseconds = 0;
  };
  struct SlowEngine {  ///< takes so many times as long to move bytes; never used up
    RankId gpu;
    EngineId engine;
    std::uint64_t factor = 1;
  };
  struct LostInterrupt {  ///< the nth TRAP packet of a queue interrupts nobody
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
  /// Worker threads beside the callers' own; none = one less than the cores. 0 works: waiting callers run the engines.
  std::optional<std::uint32_t> workers{};
  /// With a seed, everything the semantics leaves open is decided by a random generator: which queue moves next, how
  /// copies of a queue interleave (piece by piece, in any order), how long anything takes. One thread, so a seed
  /// repeats.
  std::optional<std::uint64_t> adversarial_seed{};
  FaultInjection faults{};
};

}  // namespace cortado::device

// --- Targets ---------------------------------------------------------------------------------------------------------

namespace cortado {

struct RunOptions {
  std::uint32_t iterations = 1;  ///< the time is their median
  std::uint32_t warmup = 0;      ///< unchecked iterations before those, on devices
  bool trace = false;            ///< spans and flows; on devices of the last 16 iterations at most
  bool watts = false;            ///< with trace, simulated on a machine with power: watts over time
  device::RunOptions device{};   ///< of devices only; iterations are those above
  sim::SimulateOptions sim{};    ///< of the simulator only; iterations and trace are those above
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
  /// None for a program with GEMMs: its time is not that of moving bytes.
  std::optional<Bandwidths> bandwidths{};
  std::optional<EnergyUse> energy{};                    ///< of an iteration; none: not known
  std::optional<ByteCheck> check{};                     ///< none: predicted
  std::optional<std::uint32_t> tracker_entries_peak{};  ///< of the GPU with most; none: a program without trackers
  /// What only a simulation knows: DRAM traffic, ends of queues, clocks, ... Its timeline is the one above.
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

  virtual bool predicts() const = 0;      ///< Run::time is simulated: the same every time, and several threads may call
  virtual std::string where() const = 0;  ///< the modelled machine, or the node
  /// Refuses nothing that the verifier accepted for the machine, except what the target itself cannot do.
  virtual Outcome<Run> run(const VerifiedProgram& program, const RunOptions& options) = 0;
  /// The device behind the target, whose engines and memory can be asked for; nullptr for the simulator.
  virtual device::Driver* driver() { return nullptr; }
};

/// sim, soft, kfd; the one list of targets is in targets.cpp.
std::vector<TargetInfo> list_targets();
inline constexpr std::string_view kSimulator = "sim";

struct TargetRequest {
  std::string name = "soft";
  std::uint32_t gpus = 0;      ///< at least so many; 0: as many as the machine has
  device::SoftOptions soft{};  ///< refused by targets that cannot do them
};

/// Refuses unknown names (target.unknown), devices with fewer GPUs than asked for (device.gpus), and to simulate
/// machines without timing (sim.timing). The machine must outlive the target.
Result<std::unique_ptr<Target>> open_target(const TargetRequest& request, const Machine& machine);

/// The simulator of any machine that programs were verified for.
std::unique_ptr<Target> simulator();

/// Proves the program for the machine; the failure has every error found.
Outcome<VerifiedProgram> prove(Result<Program> program, const Machine& machine, const OnStage& on_stage = {});

/// Simulates a program some of whose rules were left out; devices run only what is proved.
Outcome<Run> simulate_checked(const CheckedProgram& program, const RunOptions& options = {});

/// Proves and runs.
Outcome<Run> run_on(Target& target, Result<Program> program, const Machine& machine, const RunOptions& options = {});

/// Proves and simulates.
Outcome<Run> predict(Result<Program> program, const Machine& machine, const RunOptions& options = {});

}  // namespace cortado
