// Products: workgroups on compute units.
//
// Workgroups start as units are granted. Those that start together are one flow that ends when all of them are done, at
// the same time: n workgroups that take t seconds each alone progress by at most one second a second, while they draw n
// times what a workgroup takes from last-level cache and memory. What a workgroup takes is settled when it starts, from
// how many run beside it then (gemm/gemm.hpp).
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

void Run::begin_workgroups(std::uint32_t index, std::uint32_t count) {
  ProductRun& product = products_[index];
  const RankId gpu = *program_.queues[index].rank;
  const auto& gemm = std::get<Gemm>(program_.queues[index].commands[queues_[index].command]);
  queues_[index].blocked = Blocked::transfers;
  product.waiting -= count;
  product.running += count;
  const GemmSurroundings beside{.streams = units_.held_by_others(units_.tenant_of(index)),
                                .cache_held = cache_held_beside(gemm, gpu)};
  const WorkgroupDemand demand = product.model->demand(product.running, beside);
  const double work = demand.seconds * kWorkPerSecond;
  const UseList& uses =
      resources_.product_by_cores(gpu, count * demand.fabric_bytes / work, count * demand.memory_bytes / work);
  begin_transfer(work, uses, {.cap = kWorkPerSecond, .weight = kWorkPerSecond / timing_.engine.rate.bytes_per_second()},
                 {.queue = index, .span = kNoSpan, .workgroups = count});
}

void Run::end_workgroups(std::uint32_t index, std::uint32_t count) {
  ProductRun& product = products_[index];
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
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
