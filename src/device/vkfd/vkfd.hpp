// Programs for AMD GPUs without a GPU: a virtual kernel driver under an unmodified program.
//
// A library is loaded into the program (and its children) that emulates /dev/kfd, the render nodes and the driver's
// files in sysfs. Behind it are the DMA engines of the embedded node, working on the rings and doorbells of the
// program. There are no compute units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

#include "device/soft/soft.hpp"

namespace cortado::device {

struct VirtualNodeOptions {
  /// With a seed, everything that engines may do in any order is done in a random one.
  std::optional<std::uint64_t> adversarial_seed;
  FaultInjection faults;
  /// Time stamps and times of the trace are those of the modelled machine; otherwise those of this computer.
  bool model_time = false;
  bool races = false;     ///< look for races between engines; doorbells are then seen late
  std::string trace{};    ///< file for a Perfetto trace of all engines; empty: none
  std::string packets{};  ///< file for a listing of all packets; empty: none
};

struct VirtualNodeRun {
  int exit_code = 0;         ///< of the command; 128 plus the signal number if a signal ended it
  std::size_t races = 0;     ///< found in all its processes
  std::size_t refusals = 0;  ///< processes that were ended because they wanted kernels
};

/// Runs a command on the GPUs of the machine and waits for it. Messages of the node go to the command's standard
/// error. `library` is libcortado-kfd.so. Fails if the machine has no AMD GPUs (vkfd.machine), the library is
/// missing (vkfd.library), the machine has no timing to model (sim.timing) or the command cannot be started
/// (vkfd.command).
Result<VirtualNodeRun> run_on_virtual_node(const Machine& machine, const VirtualNodeOptions& options,
                                           const std::string& library, const std::vector<std::string>& command);

}  // namespace cortado::device
