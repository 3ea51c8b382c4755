#include "plan/c3/append_program.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "ir/visit.hpp"

namespace cortado::plan {
namespace {

/// Ids of the program that is added become ids of the whole.
class Renumber {
 public:
  explicit Renumber(const Program& into)
      : buffers_(static_cast<std::uint32_t>(into.buffers.size())),
        signals_(static_cast<std::uint32_t>(into.signals.size())),
        queues_(static_cast<std::uint32_t>(into.queues.size())) {}

  void operator()(Region& region) const { region.buffer.value += buffers_; }
  void operator()(SignalId& signal) const { signal.value += signals_; }
  void operator()(QueueId& queue) const { queue.value += queues_; }

  void operator()(Command& command) const {
    match(
        command, [this](Copy& copy) { all(copy.src, copy.dst); },
        [this](Broadcast& copy) { all(copy.src, copy.dst1, copy.dst2); },
        [this](Swap& swap) { all(swap.a, swap.b); },  //
        [this](Wait& wait) { all(wait.signal); },     //
        [this](Signal& signal) { all(signal.signal); },
        [this](Kernel& kernel) {
          for (Region& source : kernel.sources) all(source);
          all(kernel.dst);
        },
        [this](Submit& submit) { all(submit.queue); },  //
        [this](Trigger& trigger) { all(trigger.signal); },
        [](Gemm&) { CORTADO_CHECK(false, "collectives multiply nothing"); }, [](Timestamp&) {});
  }

  void operator()(Clause& clause) const {
    all(clause.output);
    for (Region& term : clause.terms) all(term);
  }

 private:
  template <class... Ids>
  void all(Ids&... ids) const {
    ((*this)(ids), ...);
  }

  std::uint32_t buffers_;
  std::uint32_t signals_;
  std::uint32_t queues_;
};

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
