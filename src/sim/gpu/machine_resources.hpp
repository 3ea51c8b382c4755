// A machine as resources of the fluid solver: DMA engines, links or switch ports, last-level caches and memories.
//
// Rates are bytes per second. What one byte per second of a transfer takes:
//   engine   copy 1, swap 2 (both directions), broadcast 2 * rate / broadcast_rate, local copy rate / local_rate
//   link     1 in its direction; stores of compute units 1 / wire_efficiency
//   cache    1 for each read and write, if the machine has one
//   memory   1 for each read and write that the cache does not hold. The cache holds the share
//            min(1, cache bytes / bytes of the rank's buffers) of them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/sim/fluid.hpp"

namespace cortado::sim {

/// The resources of one transfer.
class UseList {
 public:
  void add(ResourceId resource, double factor) { uses_[count_++] = {resource, factor}; }
  std::span<const ResourceUse> view() const { return {uses_.data(), count_}; }

 private:
  std::array<ResourceUse, 64> uses_;
  std::size_t count_ = 0;
};

class MachineResources {
 public:
  /// The machine has timing. Both it and the program must outlive this.
  MachineResources(const Machine& machine, const Program& program, FluidSystem& fluid);

  UseList copy_by_engine(RankId gpu, EngineId engine, const Copy& copy);
  UseList broadcast_by_engine(RankId gpu, EngineId engine, const Broadcast& broadcast);
  UseList swap_by_engine(RankId gpu, EngineId engine, const Swap& swap);
  UseList copy_by_cores(const Copy& copy);
  /// Per byte of the destination.
  UseList kernel_by_cores(const Kernel& kernel);

 private:
  RankId rank_of(const Region& region) const { return program_.buffer(region.buffer).rank; }
  ResourceId engine(RankId gpu, EngineId engine);
  void add_path(UseList& uses, RankId from, RankId to, double factor);
  void add_memory(UseList& uses, RankId rank, double factor);
  ResourceId link(RankId from, RankId to);

  struct MemoryOfRank {
    std::optional<ResourceId> cache;
    ResourceId memory;
    double miss_share = 1;
  };

  const Machine& machine_;
  const Timing& timing_;
  const Program& program_;
  FluidSystem& fluid_;
  std::vector<MemoryOfRank> memories_;
  std::vector<ResourceId> egress_;  // switched: one port a rank and direction
  std::vector<ResourceId> ingress_;
  std::vector<std::optional<ResourceId>> links_;    // mesh: [from * ranks + to], made when first used
  std::vector<std::optional<ResourceId>> engines_;  // [rank * (greatest engine id + 1) + engine], made when first used
  std::size_t engine_ids_ = 0;
};

}  // namespace cortado::sim
