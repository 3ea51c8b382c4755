#include "sim/gpu/movers.hpp"

#include <algorithm>

#include "ir/visit.hpp"
#include "sim/gpu/machine_resources.hpp"

namespace cortado::sim {

Movers::Movers(Core& core, const Trackers& trackers)
    : core_(core),
      trackers_(trackers),
      arbitration_(core.timing.memory.arbitration, core.options.arbitration, core.program.ranks) {
  if (std::ranges::any_of(core.program.queues, multiplies)) streaming_.resize(core.program.ranks, 0);
}

FlowId Movers::begin(double amount, const UseList& uses, Transfers::Speed speed, const Mover& mover) {
  std::uint32_t owner = 0;
  if (free_.empty()) {
    owner = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    owner = free_.back();
    free_.pop_back();
  }
  const bool produces = mover.kind != Mover::Kind::command;
  (produces ? traffic_.producer_reads : traffic_.collective_reads) += amount * uses.memory_reads();
  (produces ? traffic_.producer_writes : traffic_.collective_writes) += amount * uses.memory_writes();
  if (mover.command != nullptr) count_streaming(*mover.command, +1);
  const double weight = speed.weight;
  if (arbitration_.favours_products()) speed.weight *= share_of(mover);
  const FlowId flow = core_.transfers.begin(amount, uses, speed, owner);
  entries_[owner] = {mover, true, weight, flow};
  return flow;
}

Mover Movers::end(FlowId flow) {
  const std::uint32_t owner = core_.transfers.finish(flow);
  entries_[owner].alive = false;
  free_.push_back(owner);
  const Mover mover = entries_[owner].mover;
  if (mover.command != nullptr) count_streaming(*mover.command, -1);
  return mover;
}

FlowId Movers::replace(FlowId flow, double scale, const UseList& uses, Transfers::Speed speed, double more_reads,
                       double more_writes) {
  traffic_.producer_reads += more_reads;
  traffic_.producer_writes += more_writes;
  return core_.transfers.replace(flow, scale, uses, speed);
}

/// Stores of GEMMs count as communication: GEMMs wait only for their reads.
bool Movers::is_communication(const Mover& mover) const {
  return mover.kind != Mover::Kind::workgroups;
}

double Movers::share_of(const Mover& mover) const {
  if (!is_communication(mover)) return 1;
  if (mover.kind == Mover::Kind::stores) return arbitration_.share(mover.to.value);
  double share = 1;
  for_each_access(*mover.command, [&](const Region& region, AccessKind) {
    share = std::min(share, arbitration_.share(core_.program.buffer(region.buffer).rank.value));
  });
  return share;
}

void Movers::set_weight(FlowId flow, double weight) {
  Entry& entry = entries_[core_.transfers.owner(flow)];
  entry.weight = weight;
  core_.transfers.set_weight(flow, arbitration_.favours_products() ? weight * share_of(entry.mover) : weight);
}

void Movers::reweigh() {
  for (const Entry& entry : entries_) {
    if (!entry.alive || !is_communication(entry.mover)) continue;
    core_.transfers.set_weight(entry.flow, entry.weight * share_of(entry.mover));
  }
}

void Movers::begin_product(std::uint32_t queue, RankId gpu, double memory_intensity) {
  if (arbitration_.begin_product(queue, gpu.value, memory_intensity)) reweigh();
}

void Movers::end_product(std::uint32_t queue, RankId gpu) {
  if (arbitration_.end_product(queue, gpu.value)) reweigh();
}

void Movers::count_streaming(const Command& command, double sign) {
  if (streaming_.empty()) return;
  for_each_access(command, [&](const Region& region, AccessKind) {
    const Buffer& buffer = core_.program.buffer(region.buffer);
    if (buffer.host || trackers_.watches(region.buffer)) return;  // not cached
    streaming_[buffer.rank.value] += sign * static_cast<double>(region.bytes().value);
  });
}

}  // namespace cortado::sim
