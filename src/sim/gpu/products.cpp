// Products: workgroups on compute units.
//
// Workgroups start as units are granted. Those that start together are one flow that ends when all of them are done, at
// the same time: n workgroups that take t seconds each alone progress by at most one second a second, while they draw n
// times what a workgroup takes from last-level cache and memory. What a workgroup takes depends on what runs beside it
// (gemm/gemm.hpp): it is settled when it starts, and anew when other kernels get compute units of the GPU or give them
// back.
//
// A full memory serves in the order of requests: everybody gets the same share of what it would take alone. So the
// weight of such a flow is its full speed, where a copy, whose full speed is the rate of an engine, has the weight 1.
// Machines that arbitrate may weigh otherwise (arbitration.hpp).
//
// On machines whose products run in stages (timing.compute->stages), those that start together first read read_share of
// what they need from memory (gemm/stages.hpp), a flow that only the memory limits, and then multiply while they read
// the rest. There, and wherever a product has an output map, units are given back when all is multiplied; the stores
// are flows of their own (store_flows.cpp), and the product is over when the last of them is.
#include <algorithm>

#include "cortado/ir/tiles.hpp"
#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {
namespace {

/// Work is counted in picoseconds, so that rounding to whole ones at its end is small.
constexpr double kWorkPerSecond = 1e12;

}  // namespace

const Gemm& Run::gemm_of(std::uint32_t index) const {
  return std::get<Gemm>(program_.queues[index].commands[queues_[index].command]);
}

void Run::begin_product(std::uint32_t index, const Gemm& gemm) {
  ProductRun& product = products_[index];
  product = {};
  const bool staged = timing_.compute->stages.has_value();
  const bool streamed = staged || !gemm.outputs.empty();
  product.model.emplace(shape_of(gemm), tiling_of(gemm), machine_, L2Windows::modelled,
                        streamed ? ResultPath::streamed : ResultPath::cached);
  product.workgroups = tile_count(gemm) * gemm.split_k;
  product.waiting = product.workgroups;
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (staged) product.reads.emplace(gemm, machine_, units_.most(tenant));
  if (streamed) product.stores.emplace(gemm, program_, trackers_);
  const std::uint32_t gpu = program_.queues[index].rank->value;
  if (arbitration_.favours_products() && arbitration_.begin_product(index, gpu, memory_intensity(index))) reweigh();
  ++products_on_gpu_[gpu];
  product_clock({gpu}, gemm.dtype, +1);
  resources_.set_mixing({gpu}, arbitration_.mixing(gpu));
  queues_[index].blocked = Blocked::units;
  units_.launch(tenant, static_cast<std::uint32_t>(std::min<std::uint64_t>(units_.most(tenant), product.waiting)));
  grant_units(tenant);
}

/// Of the first stage alone, as arbitration.hpp has it.
double Run::memory_intensity(std::uint32_t index) const {
  const ProductRun& product = products_[index];
  const std::uint64_t first = std::min<std::uint64_t>(units_.most(units_.tenant_of(index)), product.workgroups);
  const WorkgroupDemand demand = product.model->demand(first);
  const double rate = timing_.memory.rate.bytes_per_second();
  const double share = product.reads ? timing_.compute->stages->read_share : 0;
  const double all = product.reads ? product.reads->of_stage(0) : demand.memory_bytes * static_cast<double>(first);
  const double stores = product.stores ? product.stores->memory_cost(first, timing_.memory.update_cost) : 0;
  return (all + stores) / rate / (share * all / rate + std::max(demand.seconds, (1 - share) * all / rate));
}

UseList& Run::price_workgroups(std::uint32_t index, std::uint32_t streams, Batch& batch) {
  const ProductRun& product = products_[index];
  const RankId gpu = *program_.queues[index].rank;
  const GemmSurroundings beside{.streams = streams, .cache_held = cache_held_beside(gemm_of(index), gpu)};
  WorkgroupDemand demand = product.model->demand(product.running, beside);
  if (product.reads) demand.memory_bytes = batch.read_beside;
  const std::uint32_t count = batch.count;
  const Gemm& gemm = gemm_of(index);
  batch.clock = xcd_clock(gpu, gemm.dtype);
  const double overhead = static_cast<double>(timing_.compute->tile_overhead.value) * 1e-9;
  const double speed = batch.clock / sustained_clock_ghz(gemm.dtype, machine_);
  const double seconds = speed == 1 ? demand.seconds : overhead + (demand.seconds - overhead) / speed;
  const double work = seconds * kWorkPerSecond;
  // The fabric is for the clock that the machine file gives: as much in all, in another time.
  const double fabric = timing_.compute->fabric_products * count / machine_.compute_units * (demand.seconds / seconds);
  UseList& uses =
      resources_.product_by_cores(gpu, count * demand.cache_bytes / work, count * demand.memory_bytes / work,
                                  count * demand.memory_writes / work, fabric / kWorkPerSecond);
  if (meter_) {
    const double flops_of_each = flops(shape_of(gemm)) / static_cast<double>(product.workgroups);
    uses.draw(gpu, EnergyPart::xcd_products, count * flops_of_each / work * joules_of_flop(gemm.dtype));
  }
  batch.fabric = fabric / kWorkPerSecond;
  batch.streams = streams;
  batch.work = work;
  batch.memory_reads = uses.memory_reads();
  batch.memory_writes = uses.memory_writes();
  return uses;
}

/// Where products run in stages and the memory arbitrates, a product and the links of its GPU take turns in the fabric:
/// each would get as much of it as any other, and what others leave.
Transfers::Speed Run::full_speed(std::uint32_t index) const {
  double weight = kWorkPerSecond / timing_.engine.rate.bytes_per_second();
  const ComputeTiming& compute = *timing_.compute;
  if (products_[index].reads && arbitration_.given() && compute.fabric_products > 0) {
    const double links = resources_.link_rate(*program_.queues[index].rank) / timing_.link.rate.bytes_per_second();
    const double of_link = compute.fabric_links / std::max(1.0, links);
    weight *= timing_.memory.arbitration->mixing_cost * of_link / compute.fabric_products;
  }
  return {.cap = kWorkPerSecond, .weight = weight};
}

double Run::product_weight() const {
  const bool even = arbitration_.given() && timing_.compute->stages;
  return even ? 1 : timing_.memory.rate.value / timing_.engine.rate.value;
}

void Run::begin_workgroups(std::uint32_t index, std::uint32_t granted) {
  ProductRun& product = products_[index];
  queues_[index].blocked = Blocked::transfers;
  const std::uint32_t count = workgroups_with_entries(index, granted);
  if (count == 0) return;
  Batch& batch = product.batches.emplace_back();
  batch.first = product.workgroups - product.waiting;
  batch.count = count;
  product.waiting -= count;
  product.running += count;
  if (product.reads) {
    begin_reading(index, batch);
  } else {
    begin_multiplying(index, batch);
  }
}

void Run::begin_reading(std::uint32_t index, Batch& batch) {
  const double bytes = products_[index].reads->of_workgroups(batch.first, batch.count);
  const double before = bytes * timing_.compute->stages->read_share;
  batch.read_beside = (bytes - before) / batch.count;
  if (before <= 0) return begin_multiplying(index, batch);
  batch.reads = true;
  UseList& uses = resources_.reads_by_cores(*program_.queues[index].rank);
  batch.flow = begin_transfer(before, uses, {.weight = product_weight()},
                              {.queue = index, .span = kNoSpan, .kind = Mover::Kind::workgroups});
}

void Run::begin_multiplying(std::uint32_t index, Batch& batch) {
  batch.reads = false;
  UseList& uses = price_workgroups(index, units_.held_by_others(units_.tenant_of(index)), batch);
  batch.flow = begin_transfer(batch.work, uses, full_speed(index),
                              {.queue = index, .span = kNoSpan, .kind = Mover::Kind::workgroups});
}

void Run::settle_products(ComputeUnits::Tenant on_gpu_of) {
  for (const ComputeUnits::Tenant tenant : units_.neighbours(on_gpu_of)) {
    if (units_.is_kernel(tenant)) continue;
    const std::uint32_t index = units_.queues(tenant).front();
    ProductRun& product = products_[index];
    const std::uint32_t streams = units_.held_by_others(tenant);
    for (Batch& batch : product.batches) {
      if (batch.reads) continue;
      if (batch.streams == streams && batch.clock == xcd_clock(*program_.queues[index].rank, gemm_of(index).dtype)) {
        continue;
      }
      const Batch before = batch;
      UseList& uses = price_workgroups(index, streams, batch);
      const double scale = batch.work / before.work;
      const double remaining = transfers_.remaining(batch.flow);
      traffic_.producer_reads += remaining * (scale * batch.memory_reads - before.memory_reads);
      traffic_.producer_writes += remaining * (scale * batch.memory_writes - before.memory_writes);
      batch.flow = transfers_.replace(batch.flow, scale, uses.view(), uses.draws(), full_speed(index));
    }
  }
}

void Run::end_workgroups(std::uint32_t index, FlowId flow) {
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
  units_.release(units_.tenant_of(index), batch.count, events_.now());
  want_units(index);
  if (product.done == product.workgroups) end_product(index);
}

/// A workgroup whose stores have not drained keeps its registers: a compute unit holds one such beside one that works.
void Run::want_units(std::uint32_t index) {
  const ProductRun& product = products_[index];
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  const std::uint64_t most = units_.most(tenant);
  const std::uint64_t undrained = product.workgroups - product.waiting - product.done;
  const std::uint64_t room =
      std::min<std::uint64_t>(most - units_.held(tenant), 2 * most - std::min(2 * most, undrained));
  units_.want(tenant, static_cast<std::uint32_t>(std::min(room, product.waiting)));
  grant_units(tenant);
}

void Run::end_product(std::uint32_t index) {
  const RankId gpu = *program_.queues[index].rank;
  if (arbitration_.end_product(index, gpu.value)) reweigh();
  const bool last = --products_on_gpu_[gpu.value] == 0;
  product_clock(gpu, gemm_of(index).dtype, -1);
  resources_.set_mixing(gpu, last ? 1 : arbitration_.mixing(gpu.value));
  end_command(index);
  step(index);
}

void Run::raise_tiles(std::uint32_t index, const Gemm& gemm) {
  ProductRun& product = products_[index];
  const std::uint64_t tiles = product.done / gemm.split_k;
  for (; product.raised < gemm.raises.size() && gemm.raises[product.raised].tiles <= tiles; ++product.raised) {
    const TileSignal& raise = gemm.raises[product.raised];
    raise_at(flag_time(index, raise.signal), index, raise.signal, raise.value, SignalOp::add);
  }
}

/// What streams through the last-level cache shares it with the operands, in proportion to their bytes.
Bytes Run::cache_held_beside(const Gemm& gemm, RankId gpu) const {
  const double streaming = streaming_[gpu.value];
  if (streaming <= 0) return {};
  const GemmShape shape = shape_of(gemm);
  const auto operands = static_cast<double>((gemm.outputs.empty() ? operand_bytes(shape) : read_bytes(shape)).value);
  const auto cache = static_cast<double>(timing_.memory.cache_bytes.value);
  return {static_cast<std::uint64_t>(cache * streaming / (streaming + operands))};
}

void Run::count_streaming(const Command& command, double sign) {
  if (streaming_.empty()) return;
  for (const Access& access : accesses(command)) {
    if (trackers_.watches(access.region.buffer)) continue;  // not cached
    streaming_[program_.buffer(access.region.buffer).rank.value] +=
        sign * static_cast<double>(access.region.bytes().value);
  }
}

}  // namespace cortado::sim
