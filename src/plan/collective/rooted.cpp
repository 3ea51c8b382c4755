// Collectives with a root: broadcast, gather, scatter and point-to-point.
#include <vector>

#include "cortado/program.hpp"

#include "plan/collective/blocks.hpp"
#include "plan/collective/peer_pairs.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {
namespace {

/// What the broadcast variants have in common: buffers and the contract.
///
///   out of place: in<root> is copied to every out<r>, including the root's own
///   in place:     buf<root> is copied to every other buf<r>
class BroadcastToAll {
 public:
  explicit BroadcastToAll(Schedule& schedule);

  RankId root() const { return schedule_.request().root; }
  const Region& input() const { return input_; }
  const Region& output(RankId rank) const { return outputs_[rank.value]; }

  /// Fills the root's own output if that is a separate buffer, and completes the program.
  Result<Program> finish();

 private:
  Schedule& schedule_;
  Region input_;
  std::vector<Region> outputs_;
};

BroadcastToAll::BroadcastToAll(Schedule& schedule) : schedule_(schedule) {
  const Bytes bytes = schedule.request().bytes;
  const bool in_place = schedule.request().in_place;
  for (const RankId rank : schedule.ranks()) {
    const BufferRole role = in_place && rank == root() ? BufferRole::inout : BufferRole::output;
    outputs_.push_back(schedule.buffer(in_place ? "buf" : "out", rank, bytes, role));
  }
  input_ = in_place ? output(root()) : schedule.buffer("in", root(), bytes, BufferRole::input);
}

Result<Program> BroadcastToAll::finish() {
  if (!schedule_.request().in_place) schedule_.copy_locally(root(), input_, output(root()));
  return schedule_.finish(broadcast_contract(input_, outputs_));
}

/// broadcast pcpy: the root pushes the buffer to root+1, root+2, ... modulo N, each copy in its own queue on the engine
/// that the machine prefers for that peer.
Result<Program> plan_broadcast_pcpy(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  for (const RankId peer : schedule.peers_after(broadcast.root())) {
    schedule.lane_towards(broadcast.root(), peer).copy(broadcast.input(), broadcast.output(peer));
  }
  return broadcast.finish();
}

/// broadcast bcst: the root pushes the buffer with packets that read it once and write it to two peers
/// (peer_pairs.hpp).
Result<Program> plan_broadcast_bcst(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  push_to_pairs(schedule, broadcast.root(), broadcast.input(), [&](RankId peer) { return broadcast.output(peer); });
  return broadcast.finish();
}

/// broadcast mcast: the root pushes the buffer with packets that read it once and write it to all peers, or to as many
/// as a packet allows.
Result<Program> plan_broadcast_mcast(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  const std::vector<RankId> peers = schedule.peers_after(broadcast.root());
  std::vector<Region> destinations;
  for (const RankId peer : peers) destinations.push_back(broadcast.output(peer));
  schedule.lane_towards(broadcast.root(), peers.front()).multicast(broadcast.input(), destinations);
  return broadcast.finish();
}

/// broadcast b2b: the root pushes the buffer to root+1, root+2, ... modulo N with back-to-back copies in one queue that
/// share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such queues.
Result<Program> plan_broadcast_b2b(Schedule& schedule) {
  BroadcastToAll broadcast(schedule);
  const std::vector<RankId> peers = schedule.peers_after(broadcast.root());
  std::vector<Lane> lanes = schedule.back_to_back_lanes(broadcast.root(), peers);
  for (std::size_t i = 0; i < peers.size(); ++i) lanes[i].copy(broadcast.input(), broadcast.output(peers[i]));
  return broadcast.finish();
}

/// gather pcpy: every rank pushes its block to its place in the root's buffer, on the engine that the machine prefers
/// for the root.
///
///   out of place: in<r> goes to block r of out<root>, including the root's own
///   in place:     the root's block is already at its place in buf<root>
Result<Program> plan_gather_pcpy(Schedule& schedule) {
  const Bytes bytes = schedule.request().bytes;
  const RankId root = schedule.request().root;
  const bool in_place = schedule.request().in_place;
  const Blocks blocks(bytes, schedule.rank_count(), Bytes{1});
  const Region output =
      schedule.buffer(in_place ? "buf" : "out", root, bytes, in_place ? BufferRole::inout : BufferRole::output);
  std::vector<Region> inputs;
  for (const RankId rank : schedule.ranks()) {
    const Region block = blocks.of(output, rank.value);
    if (in_place && rank == root) {
      inputs.push_back(block);
      continue;
    }
    inputs.push_back(schedule.buffer("in", rank, block.bytes(), BufferRole::input));
    if (rank == root) {
      schedule.copy_locally(rank, inputs.back(), block);
    } else {
      schedule.lane_towards(rank, root).copy(inputs.back(), block);
    }
  }
  return schedule.finish(gather_contract(inputs, output));
}

/// What the scatter variants have in common: buffers, blocks and the contract.
///
///   out of place: block r of in<root> goes to out<r>, including the root's own
///   in place:     the root keeps its block where it is, in buf<root>
class Scatter {
 public:
  explicit Scatter(Schedule& schedule);

  RankId root() const { return schedule_.request().root; }
  const Region& block(RankId rank) const { return blocks_[rank.value]; }
  const Region& output(RankId rank) const { return outputs_[rank.value]; }

  /// Fills the root's own output if that is a separate buffer, and completes the program.
  Result<Program> finish();

 private:
  Schedule& schedule_;
  std::vector<Region> blocks_;   // of the root's buffer
  std::vector<Region> outputs_;  // by rank
};

Scatter::Scatter(Schedule& schedule) : schedule_(schedule) {
  const Bytes bytes = schedule.request().bytes;
  const bool in_place = schedule.request().in_place;
  const Blocks blocks(bytes, schedule.rank_count(), Bytes{1});
  const bool keeps = in_place && blocks.size(root().value).value > 0;
  const Region whole =
      schedule.buffer(in_place ? "buf" : "in", root(), bytes, keeps ? BufferRole::inout : BufferRole::input);
  for (const RankId rank : schedule.ranks()) {
    blocks_.push_back(blocks.of(whole, rank.value));
    outputs_.push_back(in_place && rank == root()
                           ? blocks_.back()
                           : schedule.buffer("out", rank, blocks.size(rank.value), BufferRole::output));
  }
}

Result<Program> Scatter::finish() {
  if (!schedule_.request().in_place) schedule_.copy_locally(root(), block(root()), output(root()));
  return schedule_.finish(scatter_contract(blocks_, outputs_));
}

/// scatter pcpy: the root pushes block j to rank j for j = root+1, root+2, ... modulo N, each copy in its own queue on
/// the engine that the machine prefers for that peer.
Result<Program> plan_scatter_pcpy(Schedule& schedule) {
  Scatter scatter(schedule);
  for (const RankId peer : schedule.peers_after(scatter.root())) {
    schedule.lane_towards(scatter.root(), peer).copy(scatter.block(peer), scatter.output(peer));
  }
  return scatter.finish();
}

/// scatter b2b: the root pushes block j to rank j for j = root+1, root+2, ... modulo N with back-to-back copies in one
/// queue that share one doorbell and one signal. With `ways` w there are ceil((N-1)/w) such queues.
Result<Program> plan_scatter_b2b(Schedule& schedule) {
  Scatter scatter(schedule);
  const std::vector<RankId> peers = schedule.peers_after(scatter.root());
  std::vector<Lane> lanes = schedule.back_to_back_lanes(scatter.root(), peers);
  for (std::size_t i = 0; i < peers.size(); ++i) lanes[i].copy(scatter.block(peers[i]), scatter.output(peers[i]));
  return scatter.finish();
}

/// point-to-point pcpy: the source (root) pushes its buffer to the destination (peer) on the engine that the machine
/// prefers for it.
Result<Program> plan_point_to_point_pcpy(Schedule& schedule) {
  const CollectiveRequest& request = schedule.request();
  const Region input = schedule.buffer("in", request.root, request.bytes, BufferRole::input);
  const Region output = schedule.buffer("out", request.peer, request.bytes, BufferRole::output);
  schedule.lane_towards(request.root, request.peer).copy(input, output);
  return schedule.finish(point_to_point_contract(input, output));
}

}  // namespace

std::vector<Variant> rooted_variants() {
  return {
      {.info = {.collective = "broadcast",
                .variant = "pcpy",
                .summary = "the root copies to every peer, one queue each",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_broadcast_pcpy,
       .rooted = true},
      {.info = {.collective = "broadcast",
                .variant = "bcst",
                .summary = "broadcast packets: one read, two peers",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_broadcast_bcst,
       .has = [](const Features& features) { return features.broadcast; },
       .needs = "broadcast packets",
       .rooted = true},
      {.info = {.collective = "broadcast",
                .variant = "mcast",
                .summary = "multicast packets: one read, all peers",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_broadcast_mcast,
       .has = [](const Features& features) { return features.multicast.has_value(); },
       .needs = "multicast packets",
       .rooted = true},
      {.info = {.collective = "broadcast",
                .variant = "b2b",
                .summary = "all copies of the root back to back in one queue, one signal",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_broadcast_b2b,
       .rooted = true,
       .takes_ways = true},
      {.info = {.collective = "gather",
                .variant = "pcpy",
                .summary = "every rank copies its block to the root",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_gather_pcpy,
       .rooted = true},
      {.info = {.collective = "scatter",
                .variant = "pcpy",
                .summary = "the root copies a block to every peer, one queue each",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_scatter_pcpy,
       .rooted = true},
      {.info = {.collective = "scatter",
                .variant = "b2b",
                .summary = "all copies of the root back to back in one queue, one signal",
                .in_place = true,
                .out_of_place = true},
       .plan = plan_scatter_b2b,
       .rooted = true,
       .takes_ways = true},
      {.info = {.collective = "point-to-point",
                .variant = "pcpy",
                .summary = "one copy from one rank to another",
                .in_place = false,
                .out_of_place = true},
       .plan = plan_point_to_point_pcpy,
       .rooted = true,
       .paired = true},
  };
}

}  // namespace cortado::plan
