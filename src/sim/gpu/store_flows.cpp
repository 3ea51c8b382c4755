// Stores of GEMMs as separate flows. In a batch, a workgroup starts only if there are entries for the trackers that it
// updates; the others wait without holding a compute unit.
#include <algorithm>

#include "sim/gpu/products.hpp"

namespace cortado::sim {

void Products::start_stores(std::uint32_t index) {
  ProductStores& stores = *products_[index].stores;
  const RankId gpu = core_.gpu_of(index);
  for (std::uint32_t lane = 0; lane < stores.lanes(); ++lane) {
    const auto next = stores.start(lane);
    if (!next) continue;
    const ProductStores::Run& run = stores.run(*next);
    const OutputBlock& block = stores.block(run);
    UseList& uses = resources_.stores_by_cores(gpu, block.to, block.op, stores.writes(), stores.reads());
    const double share = stores.to(lane) == gpu ? weight() : resources_.weight_of_link();
    movers_.begin(static_cast<double>(run.bytes), uses, {.weight = share},
                  {.queue = index, .kind = Mover::Kind::stores, .lane = lane, .to = stores.to(lane)});
  }
}

void Products::end_stores(std::uint32_t index, std::uint32_t lane) {
  ProductRun& product = products_[index];
  const ProductStores::Run run = product.stores->run(*product.stores->under_way(lane));
  product.done += product.stores->drain(lane);
  raise_tiles(index, gemm_of(index));
  trackers_.land(product.stores->updates_of(run), product.stores->to(lane) != core_.gpu_of(index), queues_[index].span);
  start_stores(index);
  if (product.done == product.workgroups) return end(index);
  want_units(index);
}

std::uint32_t Products::workgroups_with_entries(std::uint32_t index, std::uint32_t granted) {
  const ProductRun& product = products_[index];
  if (trackers_.trackers().none() || !product.stores) return granted;
  const std::uint64_t first = product.workgroups - product.waiting;
  std::optional<std::uint32_t> missing;
  const auto opens = [&](const TrackerUpdate& update) {
    if (trackers_.trackers().open(update.tracker)) return true;
    missing = update.tracker;
    return false;
  };
  std::uint32_t count = 0;
  while (count < granted && std::ranges::all_of(product.stores->updates_by(first + count), opens)) ++count;
  if (count > 0) trackers_.stop_waiting(index);
  if (!missing) return count;
  trackers_.wait(index, *missing);
  queues_[index].blocked = Blocked::entries;
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  units_.release(tenant, granted - count, core_.now());
  units_.want(tenant, 0);
  return count;
}

}  // namespace cortado::sim
