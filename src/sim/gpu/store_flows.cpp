// Stores of products as flows of their own, and the trackers that count them and the copies of engines.
//
//   stores     drain as the memory they go to, and the links on the way, let them (stores.hpp). They hold no compute
//              unit, but workgroups start only while no more than two a unit have not drained (product.cpp)
//   trackers   get an update when the run of stores or the copy that makes it has ended; stores over a link need
//              `links.latency` more, which is part of copy_start for copies. The one that makes a tracker complete
//              raises its signal at once. Nobody pays for that
//   entries    a batch of workgroups, or a copy, starts only with entries for the trackers that it updates
//              (trackers.hpp); of a batch those workgroups start that have them, the others wait without a compute unit
#include <algorithm>
#include <utility>

#include "sim/gpu/run.hpp"

namespace cortado::sim {

void Run::start_stores(std::uint32_t index) {
  ProductStores& stores = *products_[index].stores;
  const RankId gpu = *program_.queues[index].rank;
  for (std::uint32_t lane = 0; lane < stores.lanes(); ++lane) {
    const auto next = stores.start(lane);
    if (!next) continue;
    const ProductStores::Run& run = stores.run(*next);
    const OutputBlock& block = stores.block(run);
    UseList& uses = resources_.stores_by_cores(gpu, block.to, block.op, stores.writes(), stores.reads());
    begin_transfer(static_cast<double>(run.bytes), uses, {.weight = stores.to(lane) == gpu ? product_weight() : 1},
                   {.queue = index, .span = kNoSpan, .kind = Mover::Kind::stores, .lane = lane});
  }
}

void Run::end_stores(std::uint32_t index, std::uint32_t lane) {
  ProductRun& product = products_[index];
  const ProductStores::Run run = product.stores->run(*product.stores->under_way(lane));
  product.done += product.stores->drain(lane);
  raise_tiles(index, gemm_of(index));
  land(product.stores->updates_of(run), product.stores->to(lane) != program_.queues[index].rank, queues_[index].span);
  start_stores(index);
  if (product.done == product.workgroups) return end_product(index);
  want_units(index);
}

std::uint32_t Run::workgroups_with_entries(std::uint32_t index, std::uint32_t granted) {
  const ProductRun& product = products_[index];
  if (trackers_.none() || !product.stores) return granted;
  const std::uint64_t first = product.workgroups - product.waiting;
  std::optional<std::uint32_t> missing;
  const auto opens = [&](const TrackerUpdate& update) {
    if (trackers_.open(update.tracker)) return true;
    missing = update.tracker;
    return false;
  };
  std::uint32_t count = 0;
  while (count < granted && std::ranges::all_of(product.stores->updates_by(first + count), opens)) ++count;
  if (count > 0) stop_waiting_for_entries(index);
  if (!missing) return count;
  wait_for_entries(index, *missing);
  queues_[index].blocked = Blocked::entries;
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  units_.release(tenant, granted - count, events_.now());
  units_.want(tenant, 0);
  return count;
}

bool Run::open_trackers(std::uint32_t index, const Copy& copy) {
  if (!trackers_.watches(copy.dst.buffer)) return true;
  std::optional<std::uint32_t> missing;
  trackers_.for_each_within(copy.dst, [&](std::uint32_t tracker, std::uint64_t) {
    if (!missing && !trackers_.open(tracker)) missing = tracker;
  });
  if (missing) {
    wait_for_entries(index, *missing);
  } else {
    stop_waiting_for_entries(index);
  }
  return !missing;
}

void Run::wait_for_entries(std::uint32_t index, std::uint32_t tracker) {
  if (!queues_[index].entries_since) queues_[index].entries_since = events_.now();
  queues_[index].entries_of = tracker;
  std::vector<std::uint32_t>& waiters = entry_waiters_[trackers_.gpu_of(tracker).value];
  if (std::ranges::find(waiters, index) == waiters.end()) waiters.push_back(index);
}

void Run::stop_waiting_for_entries(std::uint32_t index) {
  const auto since = std::exchange(queues_[index].entries_since, std::nullopt);
  if (since) entries_waited_ += to_seconds(events_.now() - *since);
}

void Run::land_copy(const Copy& copy, std::uint32_t span) {
  if (!trackers_.watches(copy.dst.buffer)) return;
  std::vector<TrackerUpdate> updates;
  trackers_.for_each_within(copy.dst, [&](std::uint32_t tracker, std::uint64_t bytes) {
    updates.push_back({tracker, bytes});
  });
  land(updates, false, span);  // the start of a copy has paid for the way
}

void Run::land(std::span<const TrackerUpdate> updates, bool over_link, std::uint32_t span) {
  for (const TrackerUpdate& update : updates) {
    if (!over_link) {
      update_tracker(update, span);
      continue;
    }
    auto index = static_cast<std::uint32_t>(landings_.size());
    if (free_landings_.empty()) {
      landings_.push_back({update, span});
    } else {
      index = free_landings_.back();
      free_landings_.pop_back();
      landings_[index] = {update, span};
    }
    events_.schedule(events_.now() + to_sim_time(timing_.link.latency), EventClass::end,
                     {EventKind::update_lands, index});
  }
}

void Run::update_tracker(const TrackerUpdate& update, std::uint32_t span) {
  if (!trackers_.update(update)) return;
  const Tracker& tracker = program_.trackers[update.tracker];
  const std::uint32_t raise = signals_.keep({tracker.signal, tracker.value, SignalOp::add, span});
  events_.schedule(events_.now(), EventClass::begin, {EventKind::signal_visible, raise});
  // Its entries are free, and another tracker is the first that is not complete.
  const auto waiters = std::exchange(entry_waiters_[trackers_.gpu_of(update.tracker).value], {});
  for (const std::uint32_t queue : waiters) {
    if (!queues_[queue].entries_since) continue;  // another writer has opened its tracker meanwhile
    if (program_.queues[queue].kind == QueueKind::dma) {
      move_ready_copies(queue);
    } else {
      want_units(queue);
    }
  }
}

}  // namespace cortado::sim
