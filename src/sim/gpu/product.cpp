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
#include <algorithm>

#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {
namespace {

/// Work is counted in picoseconds, so that rounding to whole ones at its end is small.
constexpr double kWorkPerSecond = 1e12;

Transfers::Speed full_speed(const Timing& timing) {
  return {.cap = kWorkPerSecond, .weight = kWorkPerSecond / timing.engine.rate.bytes_per_second()};
}

}  // namespace

void Run::begin_product(std::uint32_t index, const Gemm& gemm) {
  ProductRun& product = products_[index];
  product = {};
  product.model.emplace(shape_of(gemm), tiling_of(gemm), machine_);
  product.waiting = product.model->workgroups();
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  queues_[index].blocked = Blocked::units;
  units_.launch(tenant, static_cast<std::uint32_t>(std::min<std::uint64_t>(units_.most(tenant), product.waiting)));
  grant_units(tenant);
}

double Run::price_workgroups(std::uint32_t index, std::uint32_t count, std::uint32_t streams, UseList*& uses) {
  const ProductRun& product = products_[index];
  const RankId gpu = *program_.queues[index].rank;
  const auto& gemm = std::get<Gemm>(program_.queues[index].commands[queues_[index].command]);
  const GemmSurroundings beside{.streams = streams, .cache_held = cache_held_beside(gemm, gpu)};
  const WorkgroupDemand demand = product.model->demand(product.running, beside);
  const double work = demand.seconds * kWorkPerSecond;
  const double fabric = timing_.compute->fabric_products * count / machine_.compute_units;
  uses = &resources_.product_by_cores(gpu, count * demand.cache_bytes / work, count * demand.memory_bytes / work,
                                      fabric / kWorkPerSecond);
  return work;
}

void Run::begin_workgroups(std::uint32_t index, std::uint32_t count) {
  ProductRun& product = products_[index];
  queues_[index].blocked = Blocked::transfers;
  product.waiting -= count;
  product.running += count;
  const std::uint32_t streams = units_.held_by_others(units_.tenant_of(index));
  UseList* uses = nullptr;
  const double work = price_workgroups(index, count, streams, uses);
  const FlowId flow =
      begin_transfer(work, *uses, full_speed(timing_), {.queue = index, .span = kNoSpan, .workgroups = true});
  product.batches.push_back({flow, count, streams, work, uses->memory()});
}

void Run::settle_products(ComputeUnits::Tenant on_gpu_of) {
  for (const ComputeUnits::Tenant tenant : units_.neighbours(on_gpu_of)) {
    if (units_.is_kernel(tenant)) continue;
    const std::uint32_t index = units_.queues(tenant).front();
    ProductRun& product = products_[index];
    const std::uint32_t streams = units_.held_by_others(tenant);
    for (Batch& batch : product.batches) {
      if (batch.streams == streams) continue;
      UseList* uses = nullptr;
      const double work = price_workgroups(index, batch.count, streams, uses);
      const double scale = work / batch.work;
      memory_bytes_ += transfers_.remaining(batch.flow) * (scale * uses->memory() - batch.memory);
      batch = {transfers_.replace(batch.flow, scale, uses->view(), full_speed(timing_)), batch.count, streams, work,
               uses->memory()};
    }
  }
}

void Run::end_workgroups(std::uint32_t index, FlowId flow) {
  ProductRun& product = products_[index];
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  const auto batch = std::ranges::find(product.batches, flow, &Batch::flow);
  const std::uint32_t count = batch->count;
  product.batches.erase(batch);
  product.running -= count;
  product.done += count;
  raise_tiles(index, std::get<Gemm>(program_.queues[index].commands[queues_[index].command]));
  units_.release(tenant, count, events_.now());
  const std::uint64_t room = units_.most(tenant) - units_.held(tenant);
  units_.want(tenant, static_cast<std::uint32_t>(std::min(room, product.waiting)));
  grant_units(tenant);
  if (product.done < product.model->workgroups()) return;
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
  const auto operands = static_cast<double>(operand_bytes(shape_of(gemm)).value);
  const auto cache = static_cast<double>(timing_.memory.cache_bytes.value);
  return {static_cast<std::uint64_t>(cache * streaming / (streaming + operands))};
}

void Run::count_streaming(const Command& command, double sign) {
  if (streaming_.empty()) return;
  for (const Access& access : accesses(command)) {
    streaming_[program_.buffer(access.region.buffer).rank.value] +=
        sign * static_cast<double>(access.region.bytes().value);
  }
}

}  // namespace cortado::sim
