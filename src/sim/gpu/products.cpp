#include "sim/gpu/products.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/tiles.hpp"
#include "ir/visit.hpp"
#include "sim/gpu/protocols.hpp"

namespace cortado::sim {
namespace {

/// Work is counted in picoseconds, so that rounding its end to whole ones is a small error.
constexpr double kWorkPerSecond = 1e12;

Place flops_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Place::flops_f32;
    case DType::f16:
      return Place::flops_f16;
    case DType::bf16:
      return Place::flops_bf16;
    default:  // programs have no others
      return Place::flops_f8;
  }
}

}  // namespace

Products::Products(Core& core, Queues& queues, QueueControl& control, UnitGrants& grants, MachineResources& resources,
                   ComputeUnits& units, Movers& movers, TrackerUnit& trackers, RunPower& power)
    : core_(core),
      queues_(queues),
      control_(control),
      grants_(grants),
      resources_(resources),
      units_(units),
      movers_(movers),
      trackers_(trackers),
      power_(power),
      known_clocks_(core.machine) {
  if (std::ranges::none_of(core.program.queues, multiplies)) return;
  products_.resize(queues.size());
  on_gpu_.resize(core.program.ranks, 0);
}

std::span<const Products::Batch> Products::batches(std::uint32_t index) const {
  if (products_.empty()) return {};
  return products_[index].batches;
}

std::optional<std::uint64_t> Products::running(std::uint32_t index) const {
  if (products_.empty() || !products_[index].model) return std::nullopt;
  return products_[index].running;
}

const ProductStores* Products::stores(std::uint32_t index) const {
  return products_[index].stores ? &*products_[index].stores : nullptr;
}

SimTime Products::flag_time(std::uint32_t index, SignalId signal) const {
  const Queue& queue = core_.program.queues[index];
  const std::optional<RankId>& home = core_.program.signals[signal.value].home;
  if (home == queue.rank) return core_.now();
  const Nanoseconds flag = home ? step_of(queue.protocol, core_.timing) : core_.timing.cores.flag;
  return core_.now() + power_.by_units(core_.gpu_of(index), flag);
}

const Gemm& Products::gemm_of(std::uint32_t index) const {
  return std::get<Gemm>(queues_.command(index));
}

void Products::begin(std::uint32_t index, const Gemm& gemm) {
  ProductRun& product = products_[index];
  product = {};
  const bool staged = core_.timing.compute->stages.has_value();
  const bool streamed = staged || leaves_units(gemm, core_.gpu_of(index));
  product.model.emplace(shape_of(gemm), tiling_of(gemm), core_.machine, L2Windows::modelled,
                        streamed ? ResultPath::streamed : ResultPath::cached,
                        rows_in_step(gemm, core_.machine.compute_units));
  product.workgroups = tile_count(gemm) * gemm.split_k;
  product.waiting = product.workgroups;
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (staged) product.reads.emplace(gemm, core_.machine, units_.most(tenant));
  if (streamed) product.stores.emplace(gemm, core_.program, trackers_.trackers());
  clock(index);
  const RankId gpu = core_.gpu_of(index);
  if (movers_.arbitration().favours_products()) movers_.begin_product(index, gpu, memory_intensity(index));
  if (++on_gpu_[gpu.value] == 1) grants_.products_changed(gpu);
  product.metered_clock = clock(index);
  power_.begin_product(gpu, product.metered_clock, core_.now());
  resources_.set_mixing(gpu, movers_.arbitration().mixing(gpu.value));
  queues_[index].blocked = Blocked::units;
  units_.launch(tenant, static_cast<std::uint32_t>(std::min<std::uint64_t>(units_.most(tenant), product.waiting)));
  grants_.grant_units(tenant);
}

/// Stores are separate flows if some go to another GPU, are added, or are watched by trackers.
bool Products::leaves_units(const Gemm& gemm, RankId gpu) const {
  return std::ranges::any_of(gemm.outputs, [&](const OutputBlock& block) {
    return block.op == CopyOp::add || core_.program.buffer(block.to.buffer).rank != gpu ||
           trackers_.trackers().watches(block.to.buffer);
  });
}

/// Memory intensity of the first stage only, as defined in arbitration.hpp.
double Products::memory_intensity(std::uint32_t index) const {
  const ProductRun& product = products_[index];
  const std::uint64_t first = std::min<std::uint64_t>(units_.most(units_.tenant_of(index)), product.workgroups);
  const auto units = static_cast<std::uint32_t>(first);
  const WorkgroupDemand demand = product.model->demand({.running = first, .units = units}, product.clock);
  const double rate = core_.timing.memory.rate.bytes_per_second();
  const double share = product.reads ? core_.timing.compute->stages->read_share : 0;
  const double all = product.reads ? product.reads->of_stage(0) : demand.memory_bytes * static_cast<double>(first);
  const double stores = product.stores ? product.stores->memory_cost(first, core_.timing.memory.update_cost) : 0;
  return (all + stores) / rate / (share * all / rate + std::max(demand.seconds, (1 - share) * all / rate));
}

WorkgroupDemand Products::demand_of(const GemmModel& model, GemmWave wave, double clock,
                                    const GemmSurroundings& beside) {
  if (!wave.last)
    wave.running = wave.units;  // the demand of a workgroup in a full wave does not depend on how many run
  for (const KnownDemand& known : known_demands_) {
    if (known.wave.running == wave.running && known.wave.units == wave.units && known.wave.last == wave.last &&
        known.clock == clock && known.beside.streams == beside.streams &&
        known.beside.cache_held == beside.cache_held && known.model == model) {
      return known.demand;
    }
  }
  constexpr std::size_t kMost = 16;
  if (known_demands_.size() == kMost) known_demands_.clear();
  known_demands_.push_back({model, wave, beside, clock, model.demand(wave, clock, beside)});
  return known_demands_.back().demand;
}

UseList& Products::price_workgroups(std::uint32_t index, std::uint32_t streams, Batch& batch) {
  ProductRun& product = products_[index];
  const RankId gpu = core_.gpu_of(index);
  const GemmSurroundings beside{.streams = streams, .cache_held = cache_held_beside(gemm_of(index), gpu)};
  batch.clock = clock(index);
  const GemmWave wave{.running = product.running, .units = units_available(index), .last = batch.last};
  WorkgroupDemand demand = demand_of(*product.model, wave, batch.clock, beside);
  if (batch.polls) demand.seconds += static_cast<double>(core_.timing.compute->poll.value) * 1e-9;
  if (product.reads) demand.memory_bytes = batch.read_beside;
  const double load =
      product.reads ? batch.read_beside : demand.memory_seconds * core_.timing.memory.rate.bytes_per_second();
  const std::uint32_t count = batch.count;
  const Gemm& gemm = gemm_of(index);
  const double work = demand.seconds * kWorkPerSecond;
  // The use of the fabric is given for the clock that GEMMs have alone under the board's cap: where the clock is
  // managed, or the board has no cap, they ask for more or less.
  const bool uncapped = core_.machine.power && std::isinf(core_.machine.power->cap_w);
  const bool other_clock = power_.managed() || uncapped;
  const double speed = other_clock ? batch.clock / sustained_clock_ghz(gemm.dtype, core_.machine) : 1;
  const double units = static_cast<double>(count) / core_.machine.compute_units * speed / kWorkPerSecond;
  // GEMMs that run in stages read the memory as separate flows.
  const double fabric = resources_.fabric_of_products(units, product.reads ? 0 : count * load / work);
  UseList& uses = resources_.product_by_cores(gpu, {.cache_bytes = count * demand.cache_bytes / work,
                                                    .memory_load = count * load / work,
                                                    .memory_bytes = count * demand.memory_bytes / work,
                                                    .memory_writes = count * demand.memory_writes / work,
                                                    .fabric_share = fabric});
  const double flops_of_each = flops(shape_of(gemm)) / static_cast<double>(product.workgroups);
  uses.touch(gpu, flops_of(gemm.dtype), count * flops_of_each / work);
  batch.fabric = fabric;
  batch.streams = streams;
  batch.work = work;
  batch.memory_reads = uses.memory_reads();
  batch.memory_writes = uses.memory_writes();
  batch.memory_load = count * load / work;
  return uses;
}

/// Where GEMMs run in stages and the memory arbitrates, a GEMM and the links of its GPU take turns in the fabric: each
/// gets an equal share of it, plus what the others leave.
Transfers::Speed Products::full_speed(std::uint32_t index) const {
  double weight = resources_.weight_of(kWorkPerSecond);
  const ComputeTiming& compute = *core_.timing.compute;
  if (products_[index].reads && movers_.arbitration().given() && compute.fabric_products > 0) {
    const double links = resources_.link_rate(core_.gpu_of(index)) / core_.timing.link.rate.bytes_per_second();
    const double of_link = compute.fabric_links / std::max(1.0, links);
    weight *= core_.timing.memory.arbitration->mixing_cost * of_link / compute.fabric_products;
  }
  return {.cap = kWorkPerSecond, .weight = weight};
}

std::uint32_t Products::units_available(std::uint32_t index) const {
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  return std::max(1U, std::min(units_.most(tenant), core_.machine.compute_units - units_.held_by_others(tenant)));
}

double Products::clock(std::uint32_t index) {
  if (power_.managed()) return power_.clocks(core_.gpu_of(index)).xcd;
  ProductRun& product = products_[index];
  const std::uint32_t units = units_available(index);
  if (product.clock_units != units) {
    product.clock = known_clocks_.of(*product.model, units);
    product.clock_units = units;
  }
  return product.clock;
}

double Products::weight() const {
  const bool even = movers_.arbitration().given() && core_.timing.compute->stages;
  return even ? 1 : resources_.weight_of(core_.timing.memory.rate.bytes_per_second());
}

void Products::begin_workgroups(std::uint32_t index, std::uint32_t granted) {
  ProductRun& product = products_[index];
  queues_[index].blocked = Blocked::transfers;
  const std::uint32_t count = workgroups_with_entries(index, granted);
  if (count == 0) return;
  const std::uint64_t first = product.workgroups - product.waiting;
  product.waiting -= count;
  product.running += count;
  if (!gemm_of(index).waits.empty()) {
    for (std::uint32_t begun = 0; begun < count;) begun += begin_group(index, first + begun, count - begun);
    return;
  }
  Batch batch;
  batch.first = first;
  batch.count = count;
  batch.last = gemm_of(index).raises.empty() && product.waiting == 0 && first >= units_available(index);
  begin_batch(index, batch);
}

void Products::begin_batch(std::uint32_t index, const Batch& begun) {
  Batch& batch = products_[index].batches.emplace_back(begun);
  if (products_[index].reads) {
    begin_reading(index, batch);
  } else {
    begin_multiplying(index, batch);
  }
}

std::uint32_t Products::begin_group(std::uint32_t index, std::uint64_t first, std::uint32_t count) {
  const Gemm& gemm = gemm_of(index);
  const std::span<const TileWait> waits = waits_of(index, first);
  const auto next = std::ranges::upper_bound(gemm.waits, first / gemm.split_k, {}, &TileWait::tiles);
  if (next != gemm.waits.end()) {
    count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, next->tiles * gemm.split_k - first));
  }
  Batch batch;
  batch.first = first;
  batch.count = count;
  batch.polls = !waits.empty();
  if (reached(index, waits)) {
    begin_batch(index, batch);
  } else {
    products_[index].held.push_back(batch);
  }
  return count;
}

std::span<const TileWait> Products::waits_of(std::uint32_t index, std::uint64_t workgroup) const {
  const Gemm& gemm = gemm_of(index);
  return waits_of_tile(gemm, workgroup / gemm.split_k);
}

bool Products::reached(std::uint32_t index, std::span<const TileWait> waits) const {
  bool all = true;
  for (const TileWait& wait : waits) {
    const std::uint64_t value = core_.signals.base(wait.signal, queues_[index].iteration) + wait.value;
    all = core_.signals.reached_or_note(wait.signal, value, index) && all;
  }
  return all;
}

void Products::release_tiles(std::uint32_t index) {
  std::vector<Batch> held = std::exchange(products_[index].held, {});
  for (const Batch& batch : held) {
    const auto there = [&](const TileWait& wait) {
      return core_.signals.value(wait.signal) >= core_.signals.base(wait.signal, queues_[index].iteration) + wait.value;
    };
    if (std::ranges::all_of(waits_of(index, batch.first), there)) {
      begin_batch(index, batch);
    } else {
      products_[index].held.push_back(batch);
    }
  }
}

std::optional<TileWait> Products::held_by(std::uint32_t index) const {
  if (products_.empty() || products_[index].held.empty()) return std::nullopt;
  return waits_of(index, products_[index].held.front().first).front();
}

void Products::begin_reading(std::uint32_t index, Batch& batch) {
  const double bytes = products_[index].reads->of_workgroups(batch.first, batch.count);
  const double before = bytes * core_.timing.compute->stages->read_share;
  batch.read_beside = (bytes - before) / batch.count;
  if (before <= 0) return begin_multiplying(index, batch);
  batch.reads = true;
  UseList& uses = resources_.reads_by_cores(core_.gpu_of(index));
  batch.flow = movers_.begin(before, uses, {.weight = weight()}, {.queue = index, .kind = Mover::Kind::workgroups});
}

void Products::begin_multiplying(std::uint32_t index, Batch& batch) {
  batch.reads = false;
  UseList& uses = price_workgroups(index, units_.held_by_others(units_.tenant_of(index)), batch);
  batch.flow = movers_.begin(batch.work, uses, full_speed(index), {.queue = index, .kind = Mover::Kind::workgroups});
}

void Products::settle(ComputeUnits::Tenant on_gpu_of) {
  if (products_.empty()) return;
  for (const ComputeUnits::Tenant tenant : units_.neighbours(on_gpu_of)) {
    if (units_.is_kernel(tenant)) continue;
    const std::uint32_t index = units_.queues(tenant).front();
    ProductRun& product = products_[index];
    const std::uint32_t streams = units_.held_by_others(tenant);
    for (Batch& batch : product.batches) {
      if (batch.reads) continue;
      if (batch.streams == streams && batch.clock == clock(index)) continue;
      const Batch before = batch;
      UseList& uses = price_workgroups(index, streams, batch);
      const double scale = batch.work / before.work;
      const double remaining = core_.transfers.remaining(batch.flow);
      batch.flow = movers_.replace(batch.flow, scale, uses, full_speed(index),
                                   remaining * (scale * batch.memory_reads - before.memory_reads),
                                   remaining * (scale * batch.memory_writes - before.memory_writes));
    }
  }
}

void Products::end_workgroups(std::uint32_t index, FlowId flow) {
  ProductRun& product = products_[index];
  const auto at = std::ranges::find(product.batches, flow, &Batch::flow);
  if (at->reads) return begin_multiplying(index, *at);
  const Batch batch = *at;
  product.batches.erase(at);
  product.running -= batch.count;
  if (product.stores) {
    product.stores->add(batch.first, batch.count);
    start_stores(index);
  } else {
    product.done += batch.count;
    raise_tiles(index, gemm_of(index));
  }
  units_.release(units_.tenant_of(index), batch.count, core_.now());
  want_units(index);
  if (product.done == product.workgroups) end(index);
}

/// A workgroup whose stores have not drained keeps its registers: a compute unit can hold one of these beside a running
/// one.
void Products::want_units(std::uint32_t index) {
  const ProductRun& product = products_[index];
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  const std::uint64_t most = units_.most(tenant);
  const std::uint64_t undrained = product.workgroups - product.waiting - product.done;
  const std::uint64_t room =
      std::min<std::uint64_t>(most - units_.held(tenant), 2 * most - std::min(2 * most, undrained));
  units_.want(tenant, static_cast<std::uint32_t>(std::min(room, product.waiting)));
  grants_.grant_units(tenant);
}

void Products::end(std::uint32_t index) {
  const RankId gpu = core_.gpu_of(index);
  movers_.end_product(index, gpu);
  const bool last = --on_gpu_[gpu.value] == 0;
  power_.end_product(gpu, products_[index].metered_clock, core_.now());
  resources_.set_mixing(gpu, last ? 1 : movers_.arbitration().mixing(gpu.value));
  if (last) grants_.products_changed(gpu);
  queues_.end_command(index);
  control_.step(index);
}

std::uint64_t Products::done_in_order(std::uint32_t index) const {
  const ProductRun& product = products_[index];
  if (gemm_of(index).waits.empty()) return product.done;
  std::uint64_t first = product.workgroups - product.waiting;
  for (const Batch& batch : product.batches) first = std::min(first, batch.first);
  for (const Batch& batch : product.held) first = std::min(first, batch.first);
  return product.stores ? std::min(first, product.stores->first_undrained()) : first;
}

void Products::raise_tiles(std::uint32_t index, const Gemm& gemm) {
  ProductRun& product = products_[index];
  const std::uint64_t tiles = done_in_order(index) / gemm.split_k;
  for (; product.raised < gemm.raises.size() && gemm.raises[product.raised].tiles <= tiles; ++product.raised) {
    const TileSignal& raise = gemm.raises[product.raised];
    queues_.raise_at(flag_time(index, raise.signal), index, raise.signal, raise.value, SignalOp::add);
  }
}

/// What streams through the last-level cache shares it with the operands, in proportion to their bytes.
Bytes Products::cache_held_beside(const Gemm& gemm, RankId gpu) const {
  const double streaming = movers_.streaming(gpu);
  if (streaming <= 0) return {};
  const GemmShape shape = shape_of(gemm);
  const auto operands = static_cast<double>((gemm.outputs.empty() ? operand_bytes(shape) : read_bytes(shape)).value);
  const auto cache = static_cast<double>(core_.timing.memory.cache_bytes.value);
  return {static_cast<std::uint64_t>(cache * streaming / (streaming + operands))};
}

}  // namespace cortado::sim
