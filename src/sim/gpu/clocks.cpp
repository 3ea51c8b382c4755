// Energy and clocks of a run: what the power meter hears of, and what managed clocks change.
//
//   products   what a workgroup takes but for its overhead is for the clock that the machine file gives its element
//              type; at another clock it takes as much more or less
//   kernels    copies and reductions by compute units are for the nominal clock: copy_clock_share of the time of a byte
//              follows the clock, and so do the start of a kernel and the raising of a flag
//   caches, fabric, engines and memory follow their clocks (machine_resources.hpp); all else stays as it is
//
// Where clocks are not managed, nothing above changes. Energy then counts as if the compute dies ran at the lowest of
// the clocks that the products under way are given for, and at the nominal clock without any.
#include <algorithm>

#include "sim/gpu/run.hpp"

namespace cortado::sim {
namespace {

std::size_t index_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0;
    case DType::f16:
      return 1;
    case DType::bf16:
      return 2;
    default:
      return 3;
  }
}

constexpr std::array<DType, 4> kTypes{DType::f32, DType::f16, DType::bf16, DType::f8};

}  // namespace

MachineResources::Energies Run::energies_of(const Machine& machine, const SimulateOptions& options) {
  using Energies = MachineResources::Energies;
  if (options.manage) return Energies::managed;
  return options.energy && machine.power ? Energies::counted : Energies::none;
}

double Run::xcd_clock(RankId gpu, DType dtype) const {
  return manager_ ? meter_->clocks(gpu.value).xcd : sustained_clock_ghz(dtype, machine_);
}

double Run::unit_speed(RankId gpu) const {
  return manager_ ? meter_->clocks(gpu.value).xcd / machine_.power->xcd->nominal_ghz : 1;
}

double Run::copy_speed(RankId gpu) const {
  const double share = manager_ ? machine_.power->copy_clock_share : 0;
  return 1 / (1 - share + share / unit_speed(gpu));
}

SimTime Run::by_units(RankId gpu, Nanoseconds time) const {
  if (!manager_) return to_sim_time(time);
  return sim_time_from_seconds(static_cast<double>(time.value) * 1e-9 / unit_speed(gpu));
}

double Run::joules_of_flop(DType dtype) const {
  const Power& power = *machine_.power;
  return std::array{power.f32_flop, power.f16_flop, power.bf16_flop, power.f8_flop}[index_of(dtype)];
}

void Run::product_clock(RankId gpu, DType dtype, std::int32_t more) {
  if (!meter_ || manager_ || !machine_.power->xcd) return;
  if (product_types_.empty()) product_types_.resize(program_.ranks);
  auto& types = product_types_[gpu.value];
  types[index_of(dtype)] += static_cast<std::uint32_t>(more);
  Clocks clocks = nominal_clocks(*machine_.power);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] > 0) clocks.xcd = std::min(clocks.xcd, sustained_clock_ghz(kTypes[i], machine_));
  }
  meter_->set_clocks(gpu.value, clocks, events_.now());
}

void Run::manage_clocks() {
  if (events_.next_time() == SimTime::never()) return;  // nothing can happen any more
  constexpr std::uint32_t kMostCorrections = 16;
  corrections_left_ = kMostCorrections;
  decided_ = events_.now();
  for (std::uint32_t gpu = 0; gpu < program_.ranks; ++gpu) {
    if (manager_->decide(gpu, events_.now())) change_clocks({gpu});
  }
  events_.schedule(events_.now() + manager_->interval(), EventClass::begin, {EventKind::control, 0});
}

void Run::correct_clocks() {
  if (corrections_left_ == 0 || decided_ != events_.now()) return;
  --corrections_left_;
  for (std::uint32_t gpu = 0; gpu < program_.ranks; ++gpu) {
    if (manager_->correct(gpu, events_.now())) change_clocks({gpu});
  }
}

void Run::change_clocks(RankId gpu) {
  const Clocks& clocks = meter_->clocks(gpu.value);
  const Power& power = *machine_.power;
  const auto ratio = [](const std::optional<ComponentPower>& component, double ghz) {
    return component ? ghz / component->nominal_ghz : 1;
  };
  resources_.set_clocks(gpu, ratio(power.iod, clocks.iod), ratio(power.hbm, clocks.hbm));
  for (std::uint32_t index = 0; index < queues_.size(); ++index) {
    const Queue& queue = program_.queues[index];
    if (queue.kind != QueueKind::compute || queue.rank != gpu) continue;
    if (queues_[index].flow) set_speed_of_kernel(index);
    if (!products_.empty()) settle_products(units_.tenant_of(index));
  }
  transfers_.request_settle();
}

/// Of its full speed. A flow that stands with others at something that follows a clock would get less of it with less
/// to ask for: it makes use of all of its clock. Links have room or not, whoever asks.
double Run::use_of_clock(FlowId flow, double full_speed, std::size_t of_its_own) const {
  const double share = fluid_.rate(flow) / full_speed;
  const auto full = fluid_.bottleneck(flow);
  if (!full || resources_.is_link(*full) || fluid_.flow_count(*full) <= of_its_own) return share;
  return 1;
}

double Run::unit_use(RankId gpu) const {
  double use = -1;
  for (std::uint32_t index = 0; index < queues_.size(); ++index) {
    const Queue& queue = program_.queues[index];
    if (queue.kind != QueueKind::compute || queue.rank != gpu) continue;
    if (queues_[index].flow) {
      const double cap = speed_of_kernel(index);
      if (cap > 0) use = std::max(use, use_of_clock(*queues_[index].flow, cap, 1));
    }
    if (products_.empty()) continue;
    const auto& batches = products_[index].batches;
    for (const Batch& batch : batches) {
      if (!batch.reads) use = std::max(use, use_of_clock(batch.flow, full_speed(index).cap, batches.size()));
    }
  }
  return use;
}

/// Of the batches of products on the GPU, together: at what the slowest of them stands.
Contention Run::contention(RankId gpu) const {
  std::size_t batches = 0;
  std::optional<FlowId> held_up;
  double worst = 1;
  const auto for_each_batch = [&](const auto& visit) {
    for (std::uint32_t index = 0; index < products_.size(); ++index) {
      if (program_.queues[index].rank != gpu) continue;
      for (const Batch& batch : products_[index].batches) {
        if (!batch.reads) visit(batch, fluid_.rate(batch.flow) / full_speed(index).cap);
      }
    }
  };
  for_each_batch([&](const Batch& batch, double share) {
    ++batches;
    if (share >= worst || !fluid_.bottleneck(batch.flow)) return;
    worst = share;
    held_up = batch.flow;
  });
  const auto has_copies = [&](const std::optional<ResourceId>& resource) {
    return resource && fluid_.flow_count(*resource) > batches;
  };
  const bool copies = has_copies(resources_.fabric(gpu)) || has_copies(resources_.memory(gpu));
  if (!held_up) return {.copies = copies};
  const ResourceId full = *fluid_.bottleneck(*held_up);
  const bool fabric = resources_.fabric(gpu) == full;
  const bool memory = resources_.memory(gpu) == full;
  if ((!fabric && !memory) || fluid_.flow_count(full) <= batches) return {.copies = copies};
  double of_products = 0;
  for_each_batch([&](const Batch& batch, double) {
    of_products += fluid_.rate(batch.flow) * (fabric ? batch.fabric : batch.memory_reads + batch.memory_writes);
  });
  return {.share = worst,
          .of_products = std::min(1.0, of_products / fluid_.capacity(full)),
          .at = fabric ? Component::iod : Component::hbm,
          .copies = copies};
}

void Run::observe_use() {
  for (std::uint32_t gpu = 0; gpu < program_.ranks; ++gpu) {
    const Utilisation use{unit_use({gpu}), resources_.iod_use({gpu}), resources_.memory_use({gpu})};
    if (manager_->observe(gpu, use, contention({gpu}), events_.now())) change_clocks({gpu});
  }
}

void Run::note_energy(IterationEnergy::Moment moment, std::uint32_t iteration) {
  if (!meter_ || !iteration_energy_->at(moment, iteration)) return;
  iteration_energy_->keep(moment, iteration, meter_->joules(events_.now()));
}

void Run::tell_energy(Simulated& result) {
  if (!meter_) return;
  const SimTime end = last_;
  Timeline& timeline = result.timeline;
  timeline.energy = EnergyUse{.energy = meter_->joules(end), .seconds = to_seconds(end), .gpus = program_.ranks};
  timeline.iteration_energies = std::move(*iteration_energy_).finish();
  timeline.counters = meter_->counters(end);
  if (!manager_) return;
  result.clocks = manager_->summary(end);
  const std::vector<Counter> clocks = manager_->counters();
  timeline.counters.insert(timeline.counters.end(), clocks.begin(), clocks.end());
}

}  // namespace cortado::sim
