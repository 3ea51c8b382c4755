#include "plan/collective/ring.hpp"

#include <utility>

namespace cortado::plan {

Terms terms_of(const Reduction& reduction) {
  Terms terms{{}, reduction.sums};
  for (std::uint32_t rank = 0; rank < reduction.inputs.size(); ++rank) {
    auto& blocks = terms.blocks.emplace_back();
    for (std::uint32_t owner = 0; owner < reduction.inputs.size(); ++owner) {
      blocks.push_back(reduction.input_block({rank}, {owner}));
    }
  }
  return terms;
}

namespace {

/// Extends the order, depth first, with GPUs that it does not contain yet.
bool close_ring(std::vector<RankId>& order, std::vector<bool>& taken, const Machine& machine) {
  const std::vector<bool>& reached = machine.linked[order.back().value];
  if (order.size() == taken.size()) return reached[order.front().value];
  for (std::uint32_t next = 0; next < taken.size(); ++next) {
    if (taken[next] || !reached[next]) continue;
    taken[next] = true;
    order.push_back({next});
    if (close_ring(order, taken, machine)) return true;
    order.pop_back();
    taken[next] = false;
  }
  return false;
}

}  // namespace

std::vector<RankId> ring_order(std::uint32_t ranks, const Machine& machine) {
  std::vector<RankId> order;
  bool closed = true;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    order.push_back({rank});
    const std::uint32_t next = (rank + 1) % ranks;
    closed = closed && (next == rank || machine.linked[rank][next]);
  }
  // Partial meshes have few GPUs; a search among many would never end.
  constexpr std::uint32_t kMostSearched = 16;
  if (closed) return order;
  if (ranks > kMostSearched) return {};
  order = {RankId{0}};
  std::vector<bool> taken(ranks, false);
  taken[0] = true;
  return close_ring(order, taken, machine) ? order : std::vector<RankId>{};
}

Ring Ring::on_cores(Schedule& schedule) {
  schedule.omit_exit_barrier();
  std::vector<Lane> lanes;
  for (const RankId rank : schedule.ranks()) {
    lanes.push_back(schedule.kernel_part(rank, "ring", schedule.compute_units()));
    schedule.set_local_lane(rank, lanes.back());
  }
  return {schedule, ring_order(schedule.rank_count(), schedule.machine()), std::move(lanes), {.on_cores = true}};
}

Ring Ring::on_engines(Schedule& schedule) {
  const std::vector<RankId> order = ring_order(schedule.rank_count(), schedule.machine());
  std::vector<RankId> next(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    next[order[place].value] = order[(place + 1) % order.size()];
  }
  std::vector<Lane> lanes;
  for (const RankId rank : schedule.ranks()) lanes.push_back(schedule.lane_towards(rank, next[rank.value]));
  return {schedule, order, std::move(lanes), {}};
}

Ring Ring::of_library(Schedule& schedule, const Channel& channel) {
  schedule.omit_exit_barrier();
  std::vector<Lane> lanes;
  for (const RankId rank : schedule.ranks()) {
    lanes.push_back(schedule.library_part(rank, channel.name, channel.units, channel.protocol));
  }
  return {schedule,
          channel.order,
          std::move(lanes),
          {.on_cores = true, .staged = channel.staged, .name = channel.name + "."}};
}

Ring::Ring(Schedule& schedule, std::vector<RankId> order, std::vector<Lane> lanes, Traits traits)
    : schedule_(schedule),
      count_(schedule.rank_count()),
      order_(std::move(order)),
      place_(count_),
      lanes_(std::move(lanes)),
      traits_(std::move(traits)),
      arrivals_(count_, std::vector<std::optional<SignalId>>(count_)),
      last_(count_) {
  for (std::uint32_t place = 0; place < count_; ++place) place_[order_[place].value] = place;
}

std::vector<std::vector<Region>> Ring::stage(const Terms& terms) {
  std::vector<std::vector<Region>> staged(count_, std::vector<Region>(count_));
  for (const RankId rank : schedule_.ranks()) {
    // All blocks pass through except the one that the previous rank starts with.
    Bytes size;
    for (std::uint32_t back = 2; back <= count_; ++back) size += terms.size(before(rank, back));
    const Region staging = schedule_.buffer(traits_.name + "staging", rank, size, BufferRole::scratch);
    Bytes offset;
    for (std::uint32_t back = 2; back <= count_; ++back) {
      const RankId owner = before(rank, back);
      const Bytes bytes = terms.size(owner);
      staged[rank.value][owner.value] = slice(staging, offset, bytes);
      offset += bytes;
    }
  }
  return staged;
}

void Ring::pass_sums(const Terms& terms, const std::vector<std::vector<Region>>& staged) {
  for (std::uint32_t step = 1; step < count_; ++step) {
    for (const RankId rank : schedule_.ranks()) {
      const RankId owner = before(rank, step);
      if (terms.size(owner).value == 0) continue;
      const Region own = terms.block(rank, owner);
      const Region& to = staged[next(rank).value][owner.value];
      Lane& lane = after_arrival(rank, owner);
      if (step == 1) {
        lane.copy(own, to);
      } else {
        lane.reduce({staged[rank.value][owner.value], own}, to, schedule_.request().dtype);
      }
      hand_on(rank, owner);
    }
  }
}

void Ring::reduce_by_kernel(const Terms& terms) {
  const std::vector<std::vector<Region>> staged = stage(terms);
  pass_sums(terms, staged);
  for (const RankId rank : schedule_.ranks()) {
    if (terms.size(rank).value == 0) continue;
    after_arrival(rank, rank)
        .reduce({staged[rank.value][rank.value], terms.block(rank, rank)}, terms.sums[rank.value],
                schedule_.request().dtype);
  }
}

void Ring::all_reduce_by_kernel(const Terms& terms, const Gathering& sums) {
  const std::vector<std::vector<Region>> staged = stage(terms);
  pass_sums(terms, staged);
  for (const RankId rank : schedule_.ranks()) {
    if (terms.size(rank).value == 0) continue;
    after_arrival(rank, rank)
        .reduce({staged[rank.value][rank.value], terms.block(rank, rank)}, target(rank, rank, sums),
                schedule_.request().dtype, {terms.sums[rank.value]});
    hand_on(rank, rank);
  }
  gather_from(2, sums);
}

void Ring::reduce_by_adding(const Terms& terms) {
  for (std::uint32_t step = 1; step < count_; ++step) {
    for (const RankId rank : schedule_.ranks()) {
      const RankId owner = before(rank, step);
      if (terms.size(owner).value == 0) continue;
      after_arrival(rank, owner)
          .add(terms.block(rank, owner), terms.block(next(rank), owner), schedule_.request().dtype);
      hand_on(rank, owner);
    }
  }
}

void Ring::gather_from(std::uint32_t first_step, const Gathering& gathering) {
  for (std::uint32_t step = first_step; step < count_; ++step) {
    for (const RankId rank : schedule_.ranks()) {
      const RankId owner = before(rank, step - 1);
      const Region& src = step == 1 ? gathering.own[rank.value] : gathering.places[rank.value][owner.value];
      if (src.bytes().value == 0) continue;
      after_arrival(rank, owner).copy(src, target(rank, owner, gathering));
      hand_on(rank, owner);
    }
  }
  if (traits_.on_cores) finish_gathering(gathering);
}

Region Ring::target(RankId rank, RankId owner, const Gathering& gathering) {
  const RankId to = next(rank);
  const Region& place = gathering.places[to.value][owner.value];
  if (!traits_.staged || next(to) != owner) return place;
  last_[to.value] = schedule_.buffer(traits_.name + "last", to, place.bytes(), BufferRole::scratch);
  return *last_[to.value];
}

void Ring::finish_gathering(const Gathering& gathering) {
  for (const RankId rank : schedule_.ranks()) {
    const RankId owner = next(rank);
    Lane& lane = after_arrival(rank, owner);
    if (last_[rank.value]) lane.copy(*last_[rank.value], gathering.places[rank.value][owner.value]);
  }
}

void Ring::hand_on(RankId rank, RankId owner) {
  const RankId to = next(rank);
  arrivals_[to.value][owner.value] = lanes_[rank.value].raise(to);
}

Lane& Ring::after_arrival(RankId rank, RankId owner) {
  Lane& lane = lanes_[rank.value];
  if (const auto arrival = std::exchange(arrivals_[rank.value][owner.value], {})) lane.wait(*arrival);
  return lane;
}

}  // namespace cortado::plan
