// Where programs run: the simulator, the embedded node, or real GPUs, all behind one interface. A target takes a
// VerifiedProgram and returns a Run.
//
//   auto target = open_target({.name = "sim"}, machine).value();
//   const Run run = target->run(verified, {.iterations = 3}).value();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/device/executor.hpp"
#include "cortado/device/soft.hpp"
#include "cortado/ir/visit.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/report/bandwidth.hpp"
#include "cortado/sim/simulate.hpp"
#include "cortado/target/failure.hpp"
#include "cortado/timeline/timeline.hpp"
#include "cortado/verify/verify.hpp"

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
  Bytes bytes{};       ///< of the whole buffer (report/bandwidth.hpp)
  /// None for a program with GEMMs: its time is not that of moving bytes.
  std::optional<report::Bandwidths> bandwidths{};
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
