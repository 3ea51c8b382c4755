#include "plan/collective/all_gather.hpp"

#include "cortado/program.hpp"

#include "plan/collective/core_kernels.hpp"
#include "plan/collective/peer_pairs.hpp"

namespace cortado::plan {

AllGather::AllGather(Schedule& schedule)
    : schedule_(schedule), blocks_(schedule.request().bytes, schedule.rank_count(), Bytes{1}) {
  const Bytes bytes = schedule.request().bytes;
  for (const RankId rank : schedule.ranks()) {
    if (schedule.request().in_place) {
      outputs_.push_back(schedule.buffer("buf", rank, bytes, BufferRole::inout));
      inputs_.push_back(blocks_.of(outputs_.back(), rank.value));
    } else {
      inputs_.push_back(schedule.buffer("in", rank, blocks_.size(rank.value), BufferRole::input));
      outputs_.push_back(schedule.buffer("out", rank, bytes, BufferRole::output));
    }
  }
}

Gathering AllGather::gathering() const {
  Gathering gathering{.own = inputs_, .places = {}};
  for (const RankId rank : schedule_.ranks()) {
    std::vector<Region>& places = gathering.places.emplace_back();
    for (const RankId owner : schedule_.ranks()) places.push_back(block(rank, owner));
  }
  return gathering;
}

void AllGather::copy_own_block(RankId rank) {
  if (!schedule_.request().in_place) schedule_.copy_locally(rank, input(rank), block(rank, rank));
}

Result<Program> AllGather::finish() {
  return schedule_.finish(all_gather_contract(inputs_, outputs_));
}

namespace {

/// pcpy: every rank i pushes its block to i+1, i+2, ... modulo N, each copy in its own queue on the engine
/// that the machine prefers for that peer.
Result<Program> plan_all_gather_pcpy(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_after(rank)) {
      schedule.lane_towards(rank, peer).copy(gather.input(rank), gather.block(peer, rank));
    }
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

/// bcst: every rank pushes its block with packets that read it once and write it to two peers; see
/// peer_pairs.hpp for which two and on which engine.
Result<Program> plan_all_gather_bcst(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    push_to_pairs(schedule, rank, gather.input(rank), [&](RankId peer) { return gather.block(peer, rank); });
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

/// mcast: every rank pushes its block with packets that read it once and write it to all peers, or to as many
/// as a packet allows.
Result<Program> plan_all_gather_mcast(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    const std::vector<RankId> peers = schedule.peers_after(rank);
    std::vector<Region> destinations;
    for (const RankId peer : peers) destinations.push_back(gather.block(peer, rank));
    schedule.lane_towards(rank, peers.front()).multicast(gather.input(rank), destinations);
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

/// b2b: every rank i pushes its block to i+1, i+2, ... modulo N with back-to-back copies in one queue, so
/// that they overlap in one engine and share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such
/// queues.
Result<Program> plan_all_gather_b2b(Schedule& schedule) {
  AllGather gather(schedule);
  for (const RankId rank : schedule.ranks()) {
    const std::vector<RankId> peers = schedule.peers_after(rank);
    std::vector<Lane> lanes = schedule.back_to_back_lanes(rank, peers);
    for (std::size_t i = 0; i < peers.size(); ++i) lanes[i].copy(gather.input(rank), gather.block(peers[i], rank));
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

/// ring, cores-ring: every rank sends its block to its neighbour, then what came from the other side.
Result<Program> plan_all_gather_ring(Schedule& schedule, Ring (*make_ring)(Schedule& schedule)) {
  AllGather gather(schedule);
  make_ring(schedule).gather(gather.gathering());
  for (const RankId rank : schedule.ranks()) gather.copy_own_block(rank);
  return gather.finish();
}

/// cores-ll, cores-simple: every rank sends its block to all others with one kernel.
template <CoreProtocol kProtocol>
Result<Program> plan_all_gather_cores(Schedule& schedule) {
  using enum CoreKernels::OwnPart;
  AllGather gather(schedule);
  CoreKernels kernels(schedule, kProtocol, schedule.request().in_place ? none : beside);
  std::vector<Delivery> blocks;
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_after(rank)) {
      blocks.push_back({rank, peer, gather.input(rank), gather.block(peer, rank)});
    }
    gather.copy_own_block(rank);
  }
  kernels.deliver(blocks);
  return gather.finish();
}

}  // namespace

std::vector<Variant> all_gather_variants() {
  return {
      {.info = {.collective = "all-gather",
                .variant = "pcpy",
                .summary = "one copy and one queue per peer, each on the engine nearest to it",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_all_gather_pcpy},
      {.info = {.collective = "all-gather",
                .variant = "bcst",
                .summary = "broadcast packets: one read, two peers; half the commands, signals and doorbells",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_all_gather_bcst,
       .has = [](const Features& features) { return features.broadcast; },
       .needs = "broadcast packets"},
      {.info = {.collective = "all-gather",
                .variant = "mcast",
                .summary = "multicast packets: one read, all peers; one command, signal and doorbell per rank",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_all_gather_mcast,
       .has = [](const Features& features) { return features.multicast.has_value(); },
       .needs = "multicast packets"},
      {.info = {.collective = "all-gather",
                .variant = "b2b",
                .summary =
                    "all copies of a rank back to back in one queue, one signal; at most `ways` copies per queue",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_all_gather_b2b,
       .takes_ways = true},
      {.info = {.collective = "all-gather",
                .variant = "ring",
                .summary = "copies from neighbour to neighbour around a ring, one queue per rank",
                .in_place = true,
                .out_of_place = true},
       .plan = [](Schedule& schedule) { return plan_all_gather_ring(schedule, &Ring::on_engines); },
       .ring = true},
      {.info = {.collective = "all-gather",
                .variant = "cores-ll",
                .summary = "kernels on compute units, flags beside the data through staging memory; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan = plan_all_gather_cores<CoreProtocol::ll>},
      {.info = {.collective = "all-gather",
                .variant = "cores-simple",
                .summary = "kernels on compute units, straight to the output after a handshake; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan = plan_all_gather_cores<CoreProtocol::simple>},
      {.info = {.collective = "all-gather",
                .variant = "cores-ring",
                .summary = "kernels on compute units, from neighbour to neighbour around a ring; host per rank",
                .in_place = true,
                .out_of_place = true,
                .on_cores = true},
       .plan = [](Schedule& schedule) { return plan_all_gather_ring(schedule, &Ring::on_cores); },
       .ring = true},
  };
}

}  // namespace cortado::plan
