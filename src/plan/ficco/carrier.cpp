#include "plan/ficco/carrier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plan/collective/peer_pairs.hpp"

namespace cortado::plan {

Carrier::Carrier(std::vector<ExchangeVariant> variants, const FiccoSchedule& way, const Machine& machine, Bench& bench)
    : variants_(std::move(variants)), way_(way), machine_(machine), bench_(bench) {
  for (const ExchangeVariant variant : variants_) {
    auto& senders = batches_[variant];
    if (!senders.empty()) continue;
    bench.only() ? open_for_all(*bench.only(), senders) : open_all(variant, senders);
  }
}

void Carrier::open_all(ExchangeVariant variant, std::vector<std::vector<Batch>>& senders) {
  for (std::uint32_t from = 0; from < bench_.ranks(); ++from) {
    senders.push_back(takes_turns() ? one_at_a_time(from) : open(variant, from));
  }
}

void Carrier::open_for_all(std::uint32_t only, std::vector<std::vector<Batch>>& senders) {
  senders.resize(bench_.ranks());
  senders[only] = takes_turns() ? one_at_a_time(only) : open(ExchangeVariant::pcpy, only);
  const std::vector<std::uint32_t> others = bench_.senders();
  for (std::size_t i = 0; i < others.size(); ++i) senders[others[i]] = {{senders[only][i].lane, {RankId{only}}}};
}

/// Behind a switch, simultaneous copies to all peers would share the port of a GPU: what tiles wait for would arrive
/// last, all of it together.
bool Carrier::takes_turns() const {
  const bool switched = machine_.timing && machine_.timing->link.shape == LinkShape::switched;
  return way_.grain == Grain::shards || (has_tiles(way_.grain) && switched);
}

bool Carrier::broadcasts_to(const Region& first, const Region& second) const {
  const std::uint64_t unit = machine_.dma.broadcast_alignment.value;
  return first.offset.value % unit == second.offset.value % unit;
}

std::vector<Batch> Carrier::open(ExchangeVariant variant, std::uint32_t from) {
  std::vector<Batch> batches;
  const std::vector<RankId> peers = bench_.peers(from);
  if (variant == ExchangeVariant::b2b) {
    batches.push_back({bench_.schedule().back_to_back_lanes(RankId{from}, peers).front(), peers});
  } else if (variant == ExchangeVariant::bcst) {
    for (const PeerPair& pair : pair_peers(bench_.schedule(), RankId{from})) {
      Batch& batch = batches.emplace_back(Batch{bench_.schedule().lane(RankId{from}, pair.engine), {pair.first}});
      if (pair.second) batch.to.push_back(*pair.second);
      batch.broadcast = pair.second.has_value();
    }
  } else {
    for (const RankId to : peers) batches.push_back({lane_towards(from, to), {to}});
  }
  return batches;
}

std::vector<Batch> Carrier::one_at_a_time(std::uint32_t from) {
  const std::vector<RankId> peers = bench_.peers(from);
  const Lane lane = lane_towards(from, peers.front());
  std::vector<Batch> batches;
  for (const RankId to : peers) batches.push_back({lane, {to}});
  return batches;
}

std::uint32_t carrier_units(const FiccoSchedule& way, const Machine& machine) {
  if (way.units > 0) return way.units;
  return std::min(machine.timing->cores.collective_units, machine.compute_units / 2);
}

Lane Carrier::lane_towards(std::uint32_t from, RankId to) {
  if (way_.means == CollectiveMeans::dma) return bench_.schedule().lane_towards(RankId{from}, to);
  const std::uint32_t all = carrier_units(way_, machine_);
  const bool alone = has_tiles(way_.grain) && takes_turns();
  const std::uint32_t units = alone ? all : all / (bench_.ranks() - 1);
  return bench_.schedule().kernel_part(RankId{from}, fmt::format("to{}", to.value), std::max(1U, units));
}

}  // namespace cortado::plan
