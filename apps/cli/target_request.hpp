// Flags that say where and how a program runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "arguments.hpp"
#include "device/executor/executor.hpp"

namespace cortado::cli {

/// "sim" or "device", as in the table of flags.
std::string_view target_mode(std::string_view target);

/// The target named `name` with the flags of devices. Refuses mistakes before any work: a wrong --inject, faults of
/// engines that do not exist.
Result<TargetRequest> target_request(const Arguments& arguments, const std::string& name, std::uint32_t gpus,
                                     const Machine& machine);

/// --machine, or the default one, with the clocks of --clock. For commands that have both flags.
Result<Machine> machine_of(const Arguments& arguments);
/// The same for a given machine.
Status set_clock(const Arguments& arguments, Machine& machine);

/// --machine with the features of --with. For commands that have both flags.
Result<Machine> machine_with_features(const Arguments& arguments);
/// The same for a given machine.
Result<Machine> machine_with_features(const Arguments& arguments, const Machine& machine);

/// Seed, adversarial order and time-out.
device::RunOptions device_run_options(const Arguments& arguments);

device::CheckOutputs check_of(const Arguments& arguments);  ///< --check

/// --threads, or as many as there are cores.
std::uint32_t threads_of(const Arguments& arguments);

/// "stall:GPU.ENGINE[:AFTER]", "drop-doorbell:GPU.ENGINE[:NTH]", "lose-signal:GPU.ENGINE[:NTH]" or
/// "delay-signal:GPU.ENGINE:NTH:NANOSECONDS", added to `faults`. The engine must exist in a node of `gpus` such GPUs.
Status parse_injection(const std::string& text, std::uint32_t gpus, const Machine& machine,
                       device::FaultInjection& faults);

}  // namespace cortado::cli
