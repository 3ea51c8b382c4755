#include "sim/gpu/clock_control.hpp"

#include <algorithm>

namespace cortado::sim {

ClockControl::ClockControl(Core& core, MachineResources& resources, ComputeUnits& units, ComputeQueues& compute,
                           Products& products, RunPower& power)
    : core_(core),
      resources_(resources),
      units_(units),
      compute_(compute),
      products_(products),
      power_(power),
      manager_(power.manager()) {
  if (manager_ == nullptr) return;
  core.events.post(manager_->interval(), EventClass::begin, {EventKind::control, 0});
}

template <class Visitor>
void ClockControl::for_each_queue(RankId gpu, Visitor&& visit) const {
  for (std::uint32_t index = 0; index < core_.program.queues.size(); ++index) {
    const Queue& queue = core_.program.queues[index];
    if (queue.kind == QueueKind::compute && queue.rank == gpu) visit(index);
  }
}

void ClockControl::interval_over() {
  if (core_.events.next_time() == SimTime::never()) return;  // nothing can happen any more
  constexpr std::uint32_t kMostCorrections = 16;
  corrections_left_ = kMostCorrections;
  decided_ = core_.now();
  for (std::uint32_t gpu = 0; gpu < core_.program.ranks; ++gpu) {
    if (manager_->decide(gpu, core_.now())) change_clocks({gpu});
  }
  core_.events.post(core_.now() + manager_->interval(), EventClass::begin, {EventKind::control, 0});
}

void ClockControl::rates_changed() {
  if (manager_ == nullptr) return;
  for (std::uint32_t gpu = 0; gpu < core_.program.ranks; ++gpu) {
    const Utilisation use{unit_use({gpu}), resources_.iod_use({gpu}), resources_.memory_use({gpu})};
    if (manager_->observe(gpu, use, contention({gpu}), core_.now())) change_clocks({gpu});
  }
  correct();
}

void ClockControl::correct() {
  if (corrections_left_ == 0 || decided_ != core_.now()) return;
  --corrections_left_;
  for (std::uint32_t gpu = 0; gpu < core_.program.ranks; ++gpu) {
    if (manager_->correct(gpu, core_.now())) change_clocks({gpu});
  }
}

void ClockControl::change_clocks(RankId gpu) {
  const Clocks& clocks = power_.clocks(gpu);
  const Power& power = *core_.machine.power;
  const auto ratio = [](const std::optional<ComponentPower>& component, double ghz) {
    return component ? ghz / component->nominal_ghz : 1;
  };
  resources_.set_clocks(gpu, ratio(power.iod, clocks.iod), ratio(power.hbm, clocks.hbm));
  for_each_queue(gpu, [&](std::uint32_t queue) {
    compute_.clock_changed(queue);
    products_.settle(units_.tenant_of(queue));
  });
  core_.transfers.request_settle();
}

/// As a share of its full speed. A flow that competes for something that follows a clock would get less of it if it
/// asked for less, so it uses all of its clock. Links have room or not, whoever asks.
double ClockControl::use_of_clock(FlowId flow, double full_speed, std::size_t of_its_own) const {
  const double share = core_.fluid.rate(flow) / full_speed;
  const auto full = core_.fluid.bottleneck(flow);
  if (!full || resources_.is_link(*full) || core_.fluid.flow_count(*full) <= of_its_own) return share;
  return 1;
}

double ClockControl::unit_use(RankId gpu) const {
  double use = -1;
  for_each_queue(gpu, [&](std::uint32_t queue) {
    if (const auto flow = compute_.flow(queue)) {
      const double cap = compute_.full_speed(queue);
      if (cap > 0) use = std::max(use, use_of_clock(*flow, cap, 1));
    }
    const auto batches = products_.batches(queue);
    for (const Products::Batch& batch : batches) {
      if (!batch.reads) {
        use = std::max(use, use_of_clock(batch.flow, products_.full_speed(queue).cap, batches.size()));
      }
    }
  });
  return use;
}

/// All batches of GEMMs on the GPU taken together: what the slowest of them competes for.
Contention ClockControl::contention(RankId gpu) const {
  const FluidSystem& fluid = core_.fluid;
  std::size_t batches = 0;
  std::optional<FlowId> held_up;
  double worst = 1;
  const auto for_each_batch = [&](const auto& visit) {
    for_each_queue(gpu, [&](std::uint32_t queue) {
      for (const Products::Batch& batch : products_.batches(queue)) {
        if (!batch.reads) visit(batch, fluid.rate(batch.flow) / products_.full_speed(queue).cap);
      }
    });
  };
  for_each_batch([&](const Products::Batch& batch, double share) {
    ++batches;
    if (share >= worst || !fluid.bottleneck(batch.flow)) return;
    worst = share;
    held_up = batch.flow;
  });
  const auto has_copies = [&](const std::optional<ResourceId>& resource) {
    return resource && fluid.flow_count(*resource) > batches;
  };
  const bool copies = has_copies(resources_.fabric(gpu)) || has_copies(resources_.memory(gpu));
  const Contention none{.copies = copies, .products = batches > 0};
  if (!held_up) return none;
  const ResourceId full = *fluid.bottleneck(*held_up);
  const bool fabric = resources_.fabric(gpu) == full;
  const bool memory = resources_.memory(gpu) == full;
  if ((!fabric && !memory) || fluid.flow_count(full) <= batches) return none;
  double of_products = 0;
  for_each_batch([&](const Products::Batch& batch, double) {
    of_products += fluid.rate(batch.flow) * (fabric ? batch.fabric : batch.memory_load);
  });
  return {.share = worst,
          .of_products = std::min(1.0, of_products / fluid.capacity(full)),
          .at = fabric ? Component::iod : Component::hbm,
          .copies = copies,
          .products = true};
}

}  // namespace cortado::sim
