// What both questions of fast.hpp share: the clock of the GPU that stands for all, its resources, and the work under
// way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fast/fast.hpp"
#include "sim/gpu/machine_resources.hpp"
#include "sim/gpu/transfers.hpp"

namespace cortado::sim {

/// Of workgroups: picoseconds at full speed, as in the simulator.
inline constexpr double kWorkPerSecond = 1e12;

class OneGpu {
 public:
  /// `program` says what the GPU does, and outlives this like the machine.
  OneGpu(const Program& program, RankId gpu, const Machine& machine, Sharing sharing);

 protected:
  ~OneGpu() = default;

  /// `owner` comes back from end(). Who ignores others goes as fast as alone.
  FlowId begin(double work, std::span<const ResourceUse> uses, Transfers::Speed speed, std::uint32_t owner);
  /// On an event transfer_end.
  std::uint32_t end(const Event& event);

  /// So many workgroups side by side, per picosecond of work.
  UseList& uses_of(const WorkgroupDemand& demand, std::uint64_t workgroups);
  /// Relative to copies: a full resource gives everybody the same share of full speed.
  Transfers::Speed speed_of_workgroups() const;
  // At both ends of a link: the GPU stands for its peer as well, which does the same.
  /// A copy by an engine of the GPU.
  std::vector<ResourceUse> uses_by_engine(const Queue& queue, const Copy& copy);
  /// A copy by compute units.
  std::vector<ResourceUse> uses_by_cores(const Copy& copy);
  /// Stores of a GEMM to their place: so many bytes written for one, and read before.
  std::vector<ResourceUse> uses_of_stores(const OutputBlock& block, double writes, double reads);
  /// What streams through the last-level cache shares it with the operands, in proportion to their bytes.
  Bytes cache_held(double streaming, Bytes operands) const;

  /// What the GPU does, and of what its peer does the share that is this GPU's: fabric, cache and memory.
  std::vector<ResourceUse> at_both_ends(std::vector<ResourceUse> here, const UseList& by_peer);

  const Program& whole_;
  const Machine& machine_;
  const Timing& timing_;
  const RankId gpu_;
  const Sharing sharing_;
  Events events_;
  FluidSystem fluid_;
  MachineResources resources_;
  Listener nobody_;  // energy is not asked for
  Transfers transfers_;
};

}  // namespace cortado::sim
