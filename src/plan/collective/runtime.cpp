// What is between the caller and the engines (RuntimeMode), as commands of the program.
//
//   runtime  every dma queue of a GPU waits for the GPU's gate. A coordinator, a separate queue, opens the gate and
//            waits for all of them, and the host waits for its signal.
//   library  where the machine's runtime has batches (library.batch_bytes): the copies of a GPU are back to back in one
//            queue, or in separate queues with a coordinator as above. The barriers are those of the next item.
//   library, device  one kernel per GPU tells all others that it has arrived and waits for them, opens the gate, waits
//                    for its queues, and does the same again: a barrier before the copies and one after. The calls
//                    counted for the kernel are those that make copies, flags and waits one by one; for a kernel that
//                    writes packets itself, one packet and one doorbell per peer. On machines whose kernels ring
//                    doorbells, this is part of the program, and there is no gate.
#include <fmt/format.h>

#include "plan/collective/schedule.hpp"

namespace cortado::plan {

SignalId Schedule::gate(RankId rank) {
  const auto found = gates_.find(rank);
  if (found != gates_.end()) return found->second;
  return gates_.emplace(rank, builder_.signal(fmt::format("gate{}", rank.value), rank)).first->second;
}

std::vector<DrivenQueue> Schedule::coordinate(const std::vector<DrivenQueue>& queues,
                                              const std::vector<RankId>& participants) {
  std::vector<std::vector<SignalId>> ends(request_.ranks);
  std::vector<std::vector<QueueId>> rung(request_.ranks);
  std::vector<DrivenQueue> driven;
  for (DrivenQueue queue : queues) {
    const bool on_engine = builder_.peek().queue(queue.queue).kind == QueueKind::dma;
    if (on_engine) {
      ends[queue.rank.value].push_back(*queue.done);
      queue.done.reset();
    }
    if (on_engine && kernels_ring()) {
      rung[queue.rank.value].push_back(queue.queue);
    } else {
      driven.push_back(queue);
    }
  }
  if (request_.runtime != RuntimeMode::runtime) {
    std::vector<DrivenQueue> barriers = add_barriers(ends, rung, participants);
    barriers.insert(barriers.end(), driven.begin(), driven.end());
    exit_barrier_ = false;
    return barriers;
  }
  for (const RankId rank : ranks()) {
    if (!ends[rank.value].empty()) driven.push_back(add_coordinator(rank, ends[rank.value], {}));
  }
  return driven;
}

DrivenQueue Schedule::add_coordinator(RankId rank, const std::vector<SignalId>& ends, std::optional<SignalId> begin) {
  const QueueId queue = builder_.dma_queue(fmt::format("coordinator{}", rank.value), rank, coordinator_engine());
  if (begin) builder_.add(queue, Wait{*begin});
  builder_.add(queue, Signal{gate(rank)});
  for (const SignalId end : ends) builder_.add(queue, Wait{end});
  const SignalId done = builder_.signal(fmt::format("coordinator{}.done", rank.value));
  builder_.add(queue, Signal{done});
  return {queue, rank, done};
}

EngineId Schedule::coordinator_engine() const {
  std::vector<EngineId> engines = machine_->present_engines(EngineClass::host);
  if (engines.empty()) engines = machine_->present_engines(EngineClass::peer);
  return engines.front();
}

bool Schedule::has_coordinators() const {
  return request_.runtime == RuntimeMode::runtime || (request_.runtime == RuntimeMode::library && fans_out());
}

bool Schedule::fans_out() const {
  return machine_->timing && machine_->timing->library && machine_->timing->library->batch_bytes.value > 0;
}

/// Kernels write a word into the memory of every other participant.
void Schedule::check_barriers(const std::vector<RankId>& participants) {
  for (const RankId from : participants) {
    for (const RankId to : participants) {
      if (from == to || machine_->linked[from.value][to.value]) continue;
      refuse("plan.link",
             fmt::format(
                 "the barriers of the mode {} need links between all ranks, but GPU {} of {} has none to GPU {}",
                 request_.runtime == RuntimeMode::library ? "library" : "device", from.value, machine_->name, to.value),
             "use the mode raw or runtime, or ranks that are all linked");
      return;
    }
  }
}

std::vector<DrivenQueue> Schedule::add_barriers(const std::vector<std::vector<SignalId>>& ends,
                                                const std::vector<std::vector<QueueId>>& rung,
                                                const std::vector<RankId>& participants) {
  check_barriers(participants);
  const auto peers = static_cast<std::uint32_t>(participants.size()) - 1;
  // One copy per peer, and for each barrier one flag and one wait per peer; or one packet and one doorbell, if these
  // are not commands of the kernel.
  const std::uint32_t calls = request_.runtime == RuntimeMode::library ? 5 * peers : kernels_ring() ? 0 : 2 * peers;
  std::map<RankId, QueueId> kernels;
  for (const RankId rank : participants) {
    kernels[rank] = builder_.compute_queue(fmt::format("barrier{}", rank.value), rank, 0, 1, "barrier", calls);
  }
  const auto barrier = [&](const char* name) {
    std::vector<std::vector<SignalId>> told(request_.ranks);  // by receiver
    for (const RankId rank : participants) {
      for (const RankId peer : peers_after(rank)) {
        if (!kernels.contains(peer)) continue;
        told[peer.value].push_back(builder_.signal(fmt::format("{}{}.{}", name, rank.value, peer.value), peer));
        builder_.add(kernels[rank], Signal{told[peer.value].back()});
      }
    }
    for (const RankId rank : participants) {
      for (const SignalId signal : told[rank.value]) builder_.add(kernels[rank], Wait{signal});
    }
  };
  barrier("entered");
  std::vector<DrivenQueue> driven;
  for (const RankId rank : participants) {
    const std::vector<SignalId>& of_rank = ends[rank.value];
    if (request_.runtime == RuntimeMode::library && fans_out() && of_rank.size() > 1) {
      const SignalId begin = builder_.signal(fmt::format("batch{}", rank.value), rank);
      DrivenQueue coordinator = add_coordinator(rank, of_rank, begin);
      builder_.add(kernels[rank], Signal{begin});
      builder_.add(kernels[rank], Wait{*coordinator.done});
      coordinator.done.reset();  // the kernel waits for it
      driven.push_back(coordinator);
      continue;
    }
    if (gates_.contains(rank)) builder_.add(kernels[rank], Signal{gate(rank)});
    for (const QueueId queue : rung[rank.value]) builder_.add(kernels[rank], Submit{queue});
    for (const SignalId end : of_rank) builder_.add(kernels[rank], Wait{end});
  }
  barrier("left");
  for (const RankId rank : participants) {
    const SignalId done = builder_.signal(fmt::format("barrier{}.done", rank.value));
    builder_.add(kernels[rank], Signal{done});
    driven.push_back({kernels[rank], rank, done});
  }
  return driven;
}

}  // namespace cortado::plan
