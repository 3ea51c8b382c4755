// Links between GPUs and host memory, as resources of the fluid solver.
//
// One byte per second of a transfer takes: 1 of its direction of the GPU's link, 1 of the capacity of both directions
// together, the same of a root port if several GPUs share one, and 1 of the memory of its NUMA node. Compute units
// reach a lower rate than engines: each of their bytes takes proportionally more.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "sim/fluid/fluid.hpp"
#include "sim/gpu/use_list.hpp"

namespace cortado::sim {

class HostLinks {
 public:
  HostLinks(const Timing& timing, std::uint32_t gpus, FluidSystem& fluid);

  enum class Direction { to_gpu, from_gpu };
  void add_link(UseList& uses, RankId gpu, Direction direction, bool by_units);
  void add_memory(UseList& uses, std::uint32_t numa_node, double touches);
  /// Bytes per second of an engine running alone.
  double engine_rate(EngineId engine, Direction direction) const;
  bool is_link(ResourceId resource) const;

 private:
  /// A link or a root port.
  struct Port {
    std::array<std::optional<ResourceId>, 2> directions{};
    std::optional<ResourceId> both{};
  };
  void add_port(UseList& uses, Port& port, Direction direction, bool by_units);
  ResourceId made(std::optional<ResourceId>& resource, GBps rate);

  const Timing& timing_;
  FluidSystem& fluid_;
  std::vector<Port> links_;  // by GPU, created on first use
  std::vector<Port> ports_;  // where GPUs share root ports
  std::vector<std::optional<ResourceId>> memories_;
};

}  // namespace cortado::sim
