#include "sim/gpu/host_links.hpp"

#include <algorithm>

namespace cortado::sim {

HostLinks::HostLinks(const Timing& timing, std::uint32_t gpus, FluidSystem& fluid) : timing_(timing), fluid_(fluid) {
  if (!timing.host_link) return;
  links_.resize(gpus);
  if (timing.host_link->gpus_per_port > 1) ports_.resize(gpus / timing.host_link->gpus_per_port + 1);
  memories_.resize(timing.host_link->numa_nodes);
}

ResourceId HostLinks::made(std::optional<ResourceId>& resource, GBps rate) {
  if (!resource) resource = fluid_.add_resource(rate.bytes_per_second());
  return *resource;
}

void HostLinks::add_port(UseList& uses, Port& port, Direction direction, bool by_units) {
  const HostLinkTiming& link = *timing_.host_link;
  const bool in = direction == Direction::to_gpu;
  const GBps rate = in ? link.to_gpu : link.from_gpu;
  const GBps units = in ? link.units_to_gpu : link.units_from_gpu;
  uses.add(made(port.directions[in ? 0 : 1], rate), by_units ? rate.value / units.value : 1);
  uses.add(made(port.both, link.both), by_units ? link.both.value / link.units_both.value : 1);
}

void HostLinks::add_link(UseList& uses, RankId gpu, Direction direction, bool by_units) {
  add_port(uses, links_[gpu.value], direction, by_units);
  if (!ports_.empty()) add_port(uses, ports_[gpu.value / timing_.host_link->gpus_per_port], direction, by_units);
  uses.touch(gpu, Place::link, 1);
}

void HostLinks::add_memory(UseList& uses, std::uint32_t numa_node, double touches) {
  uses.add(made(memories_[numa_node], timing_.host_link->memory), touches);
}

double HostLinks::engine_rate(EngineId engine, Direction direction) const {
  const HostLinkTiming& link = *timing_.host_link;
  if (direction == Direction::to_gpu) return link.to_gpu.bytes_per_second();
  const bool slow = std::ranges::find(link.slow_engines, engine.value) != link.slow_engines.end();
  return (slow ? link.slow_from_gpu : link.from_gpu).bytes_per_second();
}

bool HostLinks::is_link(ResourceId resource) const {
  return std::ranges::any_of(
      links_, [&](const Port& port) { return std::ranges::find(port.directions, resource) != port.directions.end(); });
}

}  // namespace cortado::sim
