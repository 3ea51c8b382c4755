#include "plan/collective/broadcast.hpp"

#include "cortado/program.hpp"

namespace cortado::plan {

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

}  // namespace cortado::plan
