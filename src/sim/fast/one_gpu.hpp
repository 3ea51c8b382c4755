// What both questions of fast.hpp share: the clock of the GPU that stands for all, its resources, and the work in
// progress.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fast/fast.hpp"
#include "sim/gpu/machine_resources.hpp"
#include "sim/gpu/transfers.hpp"

namespace cortado::sim {

/// Unit of the work of workgroups: picoseconds at full speed, as in the simulator.
inline constexpr double kWorkPerSecond = 1e12;

class OneGpu {
 public:
  /// `program` says what the GPU does; it and the machine must outlive this.
  OneGpu(const Program& program, RankId gpu, const Machine& machine, Sharing sharing);

 protected:
  ~OneGpu() = default;

  /// `owner` is returned by end(). With Sharing::ignored, the flow runs as fast as it would alone.
  FlowId begin(double work, std::span<const ResourceUse> uses, Transfers::Speed speed, std::uint32_t owner);
  /// To be called on a transfer_end event.
  std::uint32_t end(const Event& event);

  /// What this many concurrent workgroups use, per picosecond of work.
  UseList& uses_of(const WorkgroupDemand& demand, std::uint64_t workgroups);
  /// Relative to copies: a full resource gives everybody the same share of its full speed.
  Transfers::Speed speed_of_workgroups() const;
  // Both ends of a link: the GPU also stands for its peer, which does the same.
  /// A copy by an engine of the GPU.
  std::vector<ResourceUse> uses_by_engine(const Queue& queue, const Copy& copy);
  /// A copy by compute units.
  std::vector<ResourceUse> uses_by_cores(const Copy& copy);
  /// Stores of a GEMM to their destination: per byte stored, this many bytes written, and read before.
  std::vector<ResourceUse> uses_of_stores(const OutputBlock& block, double writes, double reads);
  /// The part of the last-level cache left to the operands: streaming data shares it with them in proportion to bytes.
  Bytes cache_held(double streaming, Bytes operands) const;

  /// What the GPU does, plus the share of the peer's work that falls on this GPU: fabric, cache and memory.
  std::vector<ResourceUse> at_both_ends(std::vector<ResourceUse> here, const UseList& by_peer);

  const Program& whole_;
  const Machine& machine_;
  const Timing& timing_;
  const RankId gpu_;
  const Sharing sharing_;
  Events events_;
  FluidSystem fluid_;
  MachineResources resources_;
  Listener nobody_;  // energy is not needed
  Transfers transfers_;
};

}  // namespace cortado::sim
