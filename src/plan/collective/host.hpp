// The host queues of a collective: who submits, triggers and waits.
//
//   single:    begin, submit all queues, wait for all of them, end.
//   per rank:  barrier "enter", begin, submit the rank's queues, wait for them, barrier "exit" (if any), end.
//
// With prelaunch the submits come first (in per rank mode before the barrier "enter": the queues stop at their gates
// and touch nothing) and `begin` stands right before the triggers: one for each host queue, shared by its dma queues,
// or one for each dma queue. Queues that stop by themselves may be submitted as early without a gate.
//
// The two barriers make replay without a barrier between iterations safe. "enter": nobody's engines write into a rank
// before its caller has read the outputs of the iteration before and written its inputs. "exit": no caller reads its
// outputs or rewrites its inputs before all engines are done. In a barrier the first rank collects one signal of every
// other rank and then raises the signal for which all wait, itself too, so that all leave at the same time: every
// signal has one writer, so that a fast rank cannot be mistaken for a slow one. Where a rank's own queues end only when
// all that the rank receives is there, "enter" is enough.
#pragma once

#include <optional>
#include <vector>

#include "cortado/collective.hpp"
#include "cortado/program.hpp"

namespace cortado::plan {

/// A queue that a host drives, and the signal that says it is done (none: another one speaks for it).
struct DrivenQueue {
  QueueId queue;
  RankId rank;
  std::optional<SignalId> done;
  bool ahead = false;  ///< submitted first, before the barrier "enter"
};

/// What the host of a rank waits for besides.
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
  std::vector<DrivenQueue> queues;     ///< in the order of submission
  std::vector<RankId> participants{};  ///< ranks with a caller, ascending
  std::vector<HostWait> waits{};       ///< before those for the queues
};

/// Where others may put commands of their own into a host queue, as indices of its commands. The last one is "end".
struct HostPlace {
  QueueId queue;
  std::optional<RankId> rank;
  std::size_t begun = 0;     ///< right behind "begin"
  std::size_t launched = 0;  ///< behind the submits or triggers
};

/// One place for each queue.
std::vector<HostPlace> add_host_queues(ProgramBuilder& builder, const HostFrame& frame);

}  // namespace cortado::plan
