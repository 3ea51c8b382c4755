// The host queues of a collective: who submits, triggers and waits.
//
//   single:    begin, submit all queues, wait for all of them, end.
//   per rank:  barrier "enter", begin, submit the rank's queues, wait for them, barrier "exit" (if any), end.
//
// With prelaunch, the submits come first (in per-rank mode before the barrier "enter": the queues stop at their gates
// and touch nothing), and `begin` comes right before the triggers: one for each host queue, shared by its dma queues,
// or one for each dma queue. Queues that stop by themselves may be submitted just as early without a gate.
//
// The two barriers make replay safe without a barrier between iterations. "enter": no engine writes into a rank before
// its caller has read the outputs of the previous iteration and written its inputs. "exit": no caller reads its outputs
// or rewrites its inputs before all engines are done. In a barrier, the first rank collects one signal from every other
// rank and then raises the signal that all wait for, including itself, so that all leave at the same time: every signal
// has one writer, so that a fast rank cannot be mistaken for a slow one. If a rank's own queues end only when
// everything that the rank receives has arrived, "enter" is enough.
#pragma once

#include <optional>
#include <vector>

#include "cortado/plan.hpp"
#include "cortado/program.hpp"

namespace cortado::plan {

/// A queue that a host drives, and the signal that says that it is done (none: the signal of another queue covers it).
struct DrivenQueue {
  QueueId queue;
  RankId rank;
  std::optional<SignalId> done;
  bool ahead = false;  ///< submitted first, before the barrier "enter"
};

/// What else the host of a rank waits for.
struct HostWait {
  RankId rank;
  SignalId signal;
  std::uint64_t value = 1;
};

/// A word that a host writes to start prelaunched queues.
struct HostTrigger {
  std::optional<RankId> host;  ///< the rank of the host; none: the single host
  SignalId signal;
};

struct HostFrame {
  HostThreads threads = HostThreads::single;
  bool exit_barrier = true;
  std::vector<HostTrigger> triggers;
  std::vector<DrivenQueue> queues;     ///< in submission order
  std::vector<RankId> participants{};  ///< ranks with a caller, ascending
  std::vector<HostWait> waits{};       ///< before those for the queues
};

/// Where others may insert their own commands into a host queue, as indices of its commands. The last one is "end".
struct HostPlace {
  QueueId queue;
  std::optional<RankId> rank;
  std::size_t begun = 0;     ///< right after "begin"
  std::size_t launched = 0;  ///< after the submits or triggers
};

/// One place per queue.
std::vector<HostPlace> add_host_queues(ProgramBuilder& builder, const HostFrame& frame);

}  // namespace cortado::plan
