#include "plan/c3/append_program.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "ir/visit.hpp"

namespace cortado::plan {
namespace {

/// Ids of the program that is added become ids of the whole. Host queues, which nobody names, may have moved into those
/// of the whole.
class Renumber {
 public:
  Renumber(const Program& into, std::vector<std::uint32_t> queues)
      : buffers_(static_cast<std::uint32_t>(into.buffers.size())),
        signals_(static_cast<std::uint32_t>(into.signals.size())),
        queues_(std::move(queues)) {}

  void operator()(Region& region) const { region.buffer.value += buffers_; }
  void operator()(SignalId& signal) const { signal.value += signals_; }
  void operator()(QueueId& queue) const { queue.value = queues_[queue.value]; }

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
          for (Region& also : kernel.also) all(also);
        },
        [this](Submit& submit) { all(submit.queue); },  //
        [this](Trigger& trigger) { all(trigger.signal); },
        [this](Gemm& gemm) {
          all(gemm.a, gemm.b);
          if (gemm.outputs.empty()) all(gemm.c);
          for (OutputBlock& block : gemm.outputs) all(block.to);
          for (TileSignal& raise : gemm.raises) all(raise.signal);
          for (TileWait& wait : gemm.waits) all(wait.signal);
        },
        [](Timestamp&) {});
  }

  void operator()(Clause& clause) const {
    all(clause.output);
    for (Region& term : clause.terms) all(term);
  }

  void operator()(ProductClause& clause) const {
    all(clause.output);
    for (Product& product : clause.products) {
      for (Region& block : product.a) all(block);
      all(product.b);
    }
  }

  void operator()(Tracker& tracker) const { all(tracker.region, tracker.signal); }

 private:
  template <class... Ids>
  void all(Ids&... ids) const {
    ((*this)(ids), ...);
  }

  std::uint32_t buffers_;
  std::uint32_t signals_;
  std::vector<std::uint32_t> queues_;
};

/// What stands before "begin" goes before that of `host`, what stands between it and "end" before its "end".
void append_host(std::vector<Command>& host, HostPlace& place, std::vector<Command> more, std::size_t begun) {
  const auto begin = more.begin() + static_cast<std::ptrdiff_t>(begun);
  host.insert(host.end() - 1, begin, more.end() - 1);
  host.insert(host.begin() + static_cast<std::ptrdiff_t>(place.begun) - 1, more.begin(), begin - 1);
  place.begun += begun - 1;
  place.launched += begun - 1;
}

enum class Hosts { same, own };

void add_program(OpenProgram& program, OpenProgram more, const std::string& suffix, Hosts hosts) {
  Program& whole = program.program;
  Program& added = more.program;
  CORTADO_CHECK(whole.ranks == added.ranks, "programs of the same ranks");
  const auto joined = [&](std::uint32_t queue) -> HostPlace* {
    if (hosts == Hosts::own) return nullptr;
    const auto place =
        std::ranges::find_if(more.hosts, [&](const HostPlace& host) { return host.queue.value == queue; });
    if (place == more.hosts.end()) return nullptr;
    const auto same = std::ranges::find(program.hosts, place->rank, &HostPlace::rank);
    return same == program.hosts.end() ? nullptr : &*same;
  };
  std::vector<std::uint32_t> ids;
  auto next = static_cast<std::uint32_t>(whole.queues.size());
  for (std::uint32_t queue = 0; queue < added.queues.size(); ++queue) {
    const HostPlace* host = joined(queue);
    ids.push_back(host != nullptr ? host->queue.value : next++);
  }
  const Renumber renumber(whole, ids);
  for (Buffer& buffer : added.buffers) buffer.name += suffix;
  for (SignalInfo& signal : added.signals) signal.name += suffix;
  for (Queue& queue : added.queues) {
    queue.name += suffix;
    if (!queue.kernel.empty()) queue.kernel += suffix;
    for (Command& command : queue.commands) renumber(command);
  }
  for (Clause& clause : added.contract.clauses) renumber(clause);
  for (ProductClause& clause : added.contract.products) renumber(clause);
  for (Tracker& tracker : added.trackers) {
    tracker.name += suffix;
    renumber(tracker);
  }

  std::ranges::move(added.buffers, std::back_inserter(whole.buffers));
  std::ranges::move(added.signals, std::back_inserter(whole.signals));
  std::ranges::move(added.contract.clauses, std::back_inserter(whole.contract.clauses));
  std::ranges::move(added.contract.products, std::back_inserter(whole.contract.products));
  std::ranges::move(added.trackers, std::back_inserter(whole.trackers));
  whole.contract.name += " + " + added.contract.name;
  whole.name += " + " + added.name;

  for (std::uint32_t queue = 0; queue < added.queues.size(); ++queue) {
    const auto place =
        std::ranges::find_if(more.hosts, [&](const HostPlace& host) { return host.queue.value == queue; });
    if (HostPlace* host = joined(queue)) {
      append_host(whole.queues[host->queue.value].commands, *host, std::move(added.queues[queue].commands),
                  place->begun);
      continue;
    }
    whole.queues.push_back(std::move(added.queues[queue]));
    if (hosts == Hosts::own || place == more.hosts.end()) continue;
    program.hosts.push_back(*place);
    program.hosts.back().queue = QueueId{ids[queue]};
  }
}

}  // namespace

OpenProgram open_program(Program program) {
  OpenProgram open;
  for (std::uint32_t i = 0; i < program.queues.size(); ++i) {
    const Queue& queue = program.queues[i];
    if (queue.kind != QueueKind::host) continue;
    const auto begin = std::ranges::find(queue.commands, Command{Timestamp{"begin"}});
    CORTADO_CHECK(begin != queue.commands.end(), "a host queue has its begin");
    const auto begun = static_cast<std::size_t>(begin - queue.commands.begin()) + 1;
    open.hosts.push_back({QueueId{i}, queue.rank, begun, begun});
  }
  open.program = std::move(program);
  return open;
}

void append_program(OpenProgram& program, OpenProgram more, const std::string& suffix) {
  add_program(program, std::move(more), suffix, Hosts::same);
}

void add_beside(OpenProgram& program, OpenProgram more, const std::string& suffix) {
  add_program(program, std::move(more), suffix, Hosts::own);
}

}  // namespace cortado::plan
