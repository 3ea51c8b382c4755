// Flags that say where and how a program runs, shared by run, bench and breakdown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/device/executor.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/target/target.hpp"

namespace cortado::cli {

class DeviceOptions {
 public:
  explicit DeviceOptions(std::string_view default_place = "soft") : place_(default_place) {}

  void add_to(CLI::App& app);

  /// The user wants a prediction instead of a run.
  bool simulated() const;

  /// With the simulator: refuses flags that only a device has.
  Status check_for_simulator() const;

  /// Refuses what is wrong before any work: bad --inject, faults of engines that do not exist.
  Result<TargetRequest> request(std::uint32_t gpus, const Machine& machine) const;

  /// Seed, adversarial order and time-out.
  device::RunOptions run_options() const;

 private:
  std::string place_;
  std::vector<const CLI::Option*> device_only_;
  std::uint64_t seed_ = 1;
  bool adversarial_ = false;
  std::uint32_t timeout_ms_ = 10'000;
  std::optional<std::uint32_t> workers_;
  std::vector<std::string> injections_;
};

/// "stall:GPU.ENGINE[:AFTER]", "drop-doorbell:GPU.ENGINE[:NTH]", "lose-signal:GPU.ENGINE[:NTH]" or
/// "delay-signal:GPU.ENGINE:NTH:NANOSECONDS", added to `faults`. The engine must exist in a node of `gpus` such GPUs.
Status parse_injection(const std::string& text, std::uint32_t gpus, const Machine& machine,
                       device::FaultInjection& faults);

}  // namespace cortado::cli
