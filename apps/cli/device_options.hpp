// Flags that say where and how a program runs, shared by run, bench and demo.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/device/executor.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/devices.hpp"

namespace cortado::cli {

class DeviceOptions {
 public:
  void add_to(CLI::App& app);

  /// Refuses what is wrong before any work: bad --inject, faults of engines that do not exist.
  Result<pipeline::DeviceRequest> request(std::uint32_t gpus, const Machine& machine) const;

  /// Seed, adversarial order and time-out.
  device::RunOptions run_options() const;

 private:
  std::string device_ = "soft";
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
