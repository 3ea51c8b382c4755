#include "plan/collective/host.hpp"

#include <fmt/format.h>

namespace cortado::plan {
namespace {

/// A barrier among host queues; add_to appends the part of one participant.
class Barrier {
 public:
  Barrier(ProgramBuilder& builder, const char* name, const std::vector<RankId>& participants) : builder_(builder) {
    go_ = builder.signal(fmt::format("{}.go", name));
    for (std::size_t i = 1; i < participants.size(); ++i) {
      arrived_.push_back(builder.signal(fmt::format("{}{}", name, participants[i].value)));
    }
  }

  void add_to(QueueId host, std::size_t participant) {
    if (participant > 0) {
      builder_.add(host, Signal{arrived_[participant - 1]});
    } else {
      for (const SignalId signal : arrived_) builder_.add(host, Wait{signal});
      builder_.add(host, Signal{go_});
    }
    builder_.add(host, Wait{go_});
  }

 private:
  ProgramBuilder& builder_;
  SignalId go_;
  std::vector<SignalId> arrived_;
};

/// A host's part in the two barriers of its iteration.
struct Barriers {
  Barrier* enter;
  Barrier* exit;  ///< nullptr: none
  std::size_t participant;
};

/// One host queue; without `rank` it serves all ranks.
HostPlace add_host_queue(ProgramBuilder& builder, const HostFrame& frame, std::optional<RankId> rank,
                         std::optional<Barriers> barriers) {
  const QueueId host = builder.host_queue(rank ? fmt::format("host{}", rank->value) : "host", rank);
  std::vector<DrivenQueue> mine;
  for (const DrivenQueue& queue : frame.queues) {
    if (!rank || queue.rank == *rank) mine.push_back(queue);
  }
  const auto submit = [&](bool ahead) {
    for (const DrivenQueue& queue : mine) {
      if (queue.ahead == ahead) builder.add(host, Submit{queue.queue});
    }
  };

  submit(true);
  if (barriers) barriers->enter->add_to(host, barriers->participant);
  builder.add(host, Timestamp{"begin"});
  const auto here = [&] { return builder.peek().queue(host).commands.size(); };
  HostPlace place{host, rank, here()};
  submit(false);
  for (const HostTrigger& trigger : frame.triggers) {
    if (trigger.host == rank) builder.add(host, Trigger{trigger.signal});
  }
  place.launched = here();
  for (const HostWait& wait : frame.waits) {
    if (!rank || wait.rank == *rank) builder.add(host, Wait{wait.signal, wait.value});
  }
  for (const DrivenQueue& queue : mine) {
    if (queue.done) builder.add(host, Wait{*queue.done});
  }
  if (barriers && barriers->exit != nullptr) barriers->exit->add_to(host, barriers->participant);
  builder.add(host, Timestamp{"end"});
  return place;
}

}  // namespace

std::vector<HostPlace> add_host_queues(ProgramBuilder& builder, const HostFrame& frame) {
  if (frame.threads == HostThreads::single) return {add_host_queue(builder, frame, {}, {})};
  Barrier enter(builder, "enter", frame.participants);
  std::optional<Barrier> exit;
  if (frame.exit_barrier) exit.emplace(builder, "exit", frame.participants);
  std::vector<HostPlace> places;
  for (std::size_t i = 0; i < frame.participants.size(); ++i) {
    places.push_back(
        add_host_queue(builder, frame, frame.participants[i], Barriers{&enter, exit ? &*exit : nullptr, i}));
  }
  return places;
}

}  // namespace cortado::plan
