#include "plan/c3/append_program.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "plan/renumber.hpp"

namespace cortado::plan {
namespace {

/// What stands before "begin" goes before that of `host`, what stands between it and "end" before its "end".
void append_host(std::vector<Command>& host, HostPlace& place, std::vector<Command> more, std::size_t begun) {
  const auto begin = more.begin() + static_cast<std::ptrdiff_t>(begun);
  host.insert(host.end() - 1, begin, more.end() - 1);
  host.insert(host.begin() + static_cast<std::ptrdiff_t>(place.begun) - 1, more.begin(), begin - 1);
  place.begun += begun - 1;
  place.launched += begun - 1;
}

}  // namespace

void append_program(OpenProgram& program, OpenProgram more, const std::string& suffix) {
  Program& whole = program.program;
  Program& added = more.program;
  CORTADO_CHECK(whole.ranks == added.ranks && added.trackers.empty() && added.contract.products.empty(),
                "collectives of the same ranks");
  const Renumber renumber(whole);
  for (Buffer& buffer : added.buffers) buffer.name += suffix;
  for (SignalInfo& signal : added.signals) signal.name += suffix;
  for (Queue& queue : added.queues) {
    queue.name += suffix;
    if (!queue.kernel.empty()) queue.kernel += suffix;
    for (Command& command : queue.commands) renumber(command);
  }
  for (Clause& clause : added.contract.clauses) renumber(clause);

  std::ranges::move(added.buffers, std::back_inserter(whole.buffers));
  std::ranges::move(added.signals, std::back_inserter(whole.signals));
  std::ranges::move(added.contract.clauses, std::back_inserter(whole.contract.clauses));
  whole.contract.name += " + " + added.contract.name;
  whole.name += " + " + added.name;

  // Hosts come last in a collective, and nobody names them: the ids of the others stay in order.
  const auto hosts = std::ranges::find(added.queues, QueueKind::host, &Queue::kind);
  CORTADO_CHECK(static_cast<std::size_t>(added.queues.end() - hosts) == more.hosts.size(), "hosts stand at the end");
  std::move(added.queues.begin(), hosts, std::back_inserter(whole.queues));
  for (HostPlace place : more.hosts) {
    Queue& host = added.queues[place.queue.value];
    const auto same = std::ranges::find(program.hosts, place.rank, &HostPlace::rank);
    if (same != program.hosts.end()) {
      append_host(whole.queues[same->queue.value].commands, *same, std::move(host.commands), place.begun);
      continue;
    }
    place.queue = QueueId{static_cast<std::uint32_t>(whole.queues.size())};
    whole.queues.push_back(std::move(host));
    program.hosts.push_back(place);
  }
}

}  // namespace cortado::plan
