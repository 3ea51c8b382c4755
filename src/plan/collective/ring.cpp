#include "plan/collective/ring.hpp"

#include <utility>

namespace cortado::plan {

Ring Ring::on_cores(Schedule& schedule) {
  schedule.omit_exit_barrier();
  std::vector<Lane> lanes;
  for (const RankId rank : schedule.ranks()) {
    lanes.push_back(schedule.kernel_part(rank, "ring", schedule.compute_units()));
    schedule.set_local_lane(rank, lanes.back());
  }
  return {schedule, std::move(lanes), true};
}

Ring Ring::on_engines(Schedule& schedule) {
  std::vector<Lane> lanes;
  for (const RankId rank : schedule.ranks()) {
    lanes.push_back(schedule.lane_towards(rank, {(rank.value + 1) % schedule.rank_count()}));
  }
  return {schedule, std::move(lanes), false};
}

Ring::Ring(Schedule& schedule, std::vector<Lane> lanes, bool on_cores)
    : schedule_(schedule),
      count_(schedule.rank_count()),
      lanes_(std::move(lanes)),
      on_cores_(on_cores),
      arrivals_(count_, std::vector<std::optional<SignalId>>(count_)) {}

void Ring::reduce_by_kernel(const Reduction& reduction) {
  const DType dtype = schedule_.request().dtype;
  std::vector<std::vector<Region>> staged(count_, std::vector<Region>(count_));  // [rank][owner]
  for (const RankId rank : schedule_.ranks()) {
    // All blocks come by but the one that the rank before starts with.
    const Bytes missing = reduction.blocks.size(before(rank, 1).value);
    const Region staging = schedule_.buffer("staging", rank, schedule_.request().bytes - missing, BufferRole::scratch);
    Bytes offset;
    for (std::uint32_t back = 2; back <= count_; ++back) {
      const RankId owner = before(rank, back);
      const Bytes bytes = reduction.blocks.size(owner.value);
      staged[rank.value][owner.value] = slice(staging, offset, bytes);
      offset += bytes;
    }
  }
  for (std::uint32_t step = 1; step < count_; ++step) {
    for (const RankId rank : schedule_.ranks()) {
      const RankId owner = before(rank, step);
      if (reduction.blocks.size(owner.value).value == 0) continue;
      const Region own = reduction.input_block(rank, owner);
      const Region& to = staged[next(rank).value][owner.value];
      Lane& lane = after_arrival(rank, owner);
      if (step == 1) {
        lane.copy(own, to);
      } else {
        lane.reduce({staged[rank.value][owner.value], own}, to, dtype);
      }
      hand_on(rank, owner);
    }
  }
  for (const RankId rank : schedule_.ranks()) {
    if (reduction.blocks.size(rank.value).value == 0) continue;
    after_arrival(rank, rank)
        .reduce({staged[rank.value][rank.value], reduction.input_block(rank, rank)}, reduction.sums[rank.value], dtype);
  }
}

void Ring::reduce_by_adding(const Reduction& reduction) {
  for (std::uint32_t step = 1; step < count_; ++step) {
    for (const RankId rank : schedule_.ranks()) {
      const RankId owner = before(rank, step);
      if (reduction.blocks.size(owner.value).value == 0) continue;
      after_arrival(rank, owner)
          .add(reduction.input_block(rank, owner), reduction.input_block(next(rank), owner), schedule_.request().dtype);
      hand_on(rank, owner);
    }
  }
}

void Ring::gather(const Gathering& gathering) {
  for (std::uint32_t step = 1; step < count_; ++step) {
    for (const RankId rank : schedule_.ranks()) {
      const RankId owner = before(rank, step - 1);
      const Region& src = step == 1 ? gathering.own[rank.value] : gathering.places[rank.value][owner.value];
      if (src.bytes().value == 0) continue;
      after_arrival(rank, owner).copy(src, gathering.places[next(rank).value][owner.value]);
      hand_on(rank, owner);
    }
  }
  if (!on_cores_) return;
  for (const RankId rank : schedule_.ranks()) after_arrival(rank, next(rank));
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
