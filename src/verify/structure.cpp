// verify.structure: queues are complete and submitted exactly once per iteration, all parts of a kernel together;
// signals are raised in one consistent way, and every rank of the contract has a caller.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <variant>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/visit.hpp"
#include "verify/callers.hpp"
#include "verify/naming.hpp"
#include "verify/rule.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {
namespace {

// The times of this many calls still add up without overflow.
constexpr std::uint32_t kMostCalls = 1'000'000;

/// With this advance, counters still fit in 64 bits after a million iterations.
constexpr std::uint64_t kMaxAdvance = 1ULL << 40;

void check_part(const Spot& place, const Queue& queue, Findings& findings) {
  const auto is_gemm = [](const Command& command) { return std::holds_alternative<Gemm>(command); };
  if (std::ranges::none_of(queue.commands, is_gemm)) return;
  findings.add(place, fmt::format("a GEMM as a part of kernel {}", queue.kernel),
               "a GEMM is a kernel of its own: put it on a queue without a kernel");
}

/// The reported time would be negative.
void check_stamps(const Spot& place, const Queue& queue, Findings& findings) {
  const auto begin = std::ranges::find(queue.commands, Command{Timestamp{"begin"}});
  const auto end = std::ranges::find(queue.commands, Command{Timestamp{"end"}});
  if (begin == queue.commands.end() || begin <= end) return;
  findings.add(place, "the timestamp \"end\" comes before \"begin\"",
               "they bracket the reported time: exchange them, or use other labels");
}

void check_queues(const Program& program, Findings& findings) {
  std::unordered_map<std::string_view, std::uint32_t> names;
  names.reserve(program.queues.size());
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const Queue& queue = program.queues[q];
    const Spot place{program, QueueId{q}};
    if (const auto [first, fresh] = names.emplace(queue.name, q); !fresh) {
      findings.add(place, fmt::format("queues {} and {} have the same name", first->second, q),
                   "messages and traces refer to queues by name: give each its own name");
    }
    if (queue.kind != QueueKind::host && !queue.rank) {
      findings.add(place, fmt::format("a {} queue without a rank", to_string(queue.kind)), "say whose GPU it is on");
    }
    if ((queue.kind == QueueKind::dma) != queue.engine.has_value()) {
      findings.add(place,
                   queue.engine ? fmt::format("a {} queue with an engine", to_string(queue.kind))
                                : std::string("a dma queue without an engine"),
                   "dma queues, and only dma queues, are bound to an engine");
    }
    if (queue.kind != QueueKind::compute && !queue.kernel.empty()) {
      findings.add(place, fmt::format("a {} queue as a part of kernel {}", to_string(queue.kind), queue.kernel),
                   "only compute queues are parts of a kernel");
    }
    if (queue.kind != QueueKind::compute && queue.compute_units) {
      findings.add(place, fmt::format("a {} queue with {} compute units", to_string(queue.kind), *queue.compute_units),
                   "only compute queues use compute units");
    }
    if (queue.kind != QueueKind::compute && queue.priority != 0) {
      findings.add(place, fmt::format("a {} queue with priority {}", to_string(queue.kind), queue.priority),
                   "only compute queues have a priority");
    }
    if (!queue.kernel.empty()) check_part(place, queue, findings);
    if (queue.kind == QueueKind::host) check_stamps(place, queue, findings);
    if (queue.calls > kMostCalls) {
      findings.add(place, fmt::format("{} library calls behind one queue", queue.calls),
                   fmt::format("at most {} are plausible", kMostCalls));
    }
    if (queue.kind != QueueKind::compute && queue.protocol != Protocol::none) {
      findings.add(place,
                   fmt::format("a {} queue with the protocol {}", to_string(queue.kind), to_string(queue.protocol)),
                   "only compute queues can have protocols");
    }
    if (queue.kind != QueueKind::dma && queue.submission != Submission::ring) {
      findings.add(
          place, fmt::format("a {} queue that is submitted by {}", to_string(queue.kind), to_string(queue.submission)),
          "only dma queues can get their copies through runtime calls");
    }
    if (queue.kind != QueueKind::dma && queue.packing != Packing::each) {
      findings.add(place, fmt::format("a {} queue with {} packets", to_string(queue.kind), to_string(queue.packing)),
                   "only dma queues can have packets");
    }
    if ((queue.chunk.value > 0) != (queue.protocol == Protocol::multicast)) {
      findings.add(
          place, fmt::format("a chunk of {} bytes with the protocol {}", queue.chunk.value, to_string(queue.protocol)),
          "queues that multicast, and only those, have a chunk");
    }
    if (queue.kind != QueueKind::compute && queue.calls > 0) {
      findings.add(place, fmt::format("a {} queue with library calls", to_string(queue.kind)),
                   "only compute queues can have calls");
    }
  }
}

/// The Submits of all parts of a kernel must directly follow one another: they are one launch.
void check_launches(const Program& program, Findings& findings) {
  using KernelOfRank = std::pair<std::optional<RankId>, std::string_view>;
  std::map<KernelOfRank, std::pair<std::uint32_t, std::size_t>> last;  // queue and command of the last Submit so far
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    if (program.queues[q].kind == QueueKind::dma) continue;  // cannot submit (verify.ids)
    const auto& commands = program.queues[q].commands;
    for (std::size_t c = 0; c < commands.size(); ++c) {
      const auto* submit = std::get_if<Submit>(&commands[c]);
      if (submit == nullptr || program.queue(submit->queue).kernel.empty()) continue;
      const Queue& part = program.queue(submit->queue);
      const auto [before, fresh] = last.emplace(KernelOfRank{part.rank, part.kernel}, std::pair{q, c});
      if (!fresh && before->second != std::pair{q, c - 1}) {
        findings.add(Spot(program, QueueId{q}, c),
                     fmt::format("submits queue {}, a part of kernel {}, apart from {}", part.name, part.kernel,
                                 where(program, QueueId{before->second.first}, before->second.second)),
                     "submit the parts of a kernel directly one after another, or name two kernels");
      }
      before->second = {q, c};
    }
  }
}

void check_submits(const Program& program, Findings& findings) {
  struct First {
    std::uint32_t queue;
    std::size_t command;
  };
  std::vector<std::optional<First>> submits(program.queues.size());
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    if (program.queues[q].kind == QueueKind::dma) continue;  // cannot submit (verify.ids)
    const auto& commands = program.queues[q].commands;
    for (std::size_t c = 0; c < commands.size(); ++c) {
      const auto* submit = std::get_if<Submit>(&commands[c]);
      if (submit == nullptr) continue;
      const Queue& target = program.queue(submit->queue);
      std::optional<First>& first = submits[submit->queue.value];
      if (target.kind == QueueKind::host) {
        findings.add(Spot(program, QueueId{q}, c), fmt::format("submits the host queue {}", target.name),
                     "host queues start by themselves");
      } else if (program.queues[q].kind == QueueKind::compute &&
                 (target.kind != QueueKind::dma || target.rank != program.queues[q].rank)) {
        findings.add(Spot(program, QueueId{q}, c),
                     fmt::format("a kernel submits queue {}, which is not a dma queue of its own GPU", target.name),
                     "kernels can only ring doorbells of their own GPU's engines; submit it from a host queue");
      } else if (first) {
        findings.add(Spot(program, QueueId{q}, c),
                     fmt::format("submits queue {} a second time; the first is {}", target.name,
                                 where(program, QueueId{first->queue}, first->command)),
                     "submit every queue once per iteration, from one host queue");
      } else {
        first = First{q, c};
      }
    }
  }
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    if (program.queues[q].kind == QueueKind::host || submits[q]) continue;
    findings.add(Spot(program, QueueId{q}), "no host queue submits this queue, so its commands never run",
                 fmt::format("add a submit of {} to a host queue", program.queues[q].name));
  }
}

/// What raises a signal: a command of a queue, or a tracker.
struct Raiser {
  std::optional<std::uint32_t> queue{};  // none: a tracker
  std::size_t index = 0;                 // of the command or tracker
};

/// How a signal has been raised so far.
struct Usage {
  Raiser by;
  SignalOp op = SignalOp::add;
  std::uint64_t last_set = 0;
  std::uint64_t total = 0;
};

class SignalCheck {
 public:
  SignalCheck(const Program& program, Findings& findings)
      : program_(program), findings_(findings), advances_(signal_advances(program)), usage_(program.signals.size()) {}

  void command(std::uint32_t queue, std::size_t index, const Command& command) {
    for_each_raise(command, [&](SignalId signal, std::uint64_t value, SignalOp op) {
      raise({queue, index}, signal, value, op);
    });
    for_each_wait(command, [&](SignalId signal, std::uint64_t value) {
      if (value == 0) wait_for_previous(queue, index, signal);
    });
  }

  void tracker(std::size_t index) {
    const Tracker& tracker = program_.trackers[index];
    raise({{}, index}, tracker.signal, tracker.value, SignalOp::add);
    if (tracker.updates == 0) {
      findings_.add(Spot::tracker(program_, index), fmt::format("tracker {} counts to 0", tracker.name),
                    "updates start at 1");
    }
  }

 private:
  const std::string& name(SignalId signal) const { return program_.signals[signal.value].name; }

  Spot spot(const Raiser& by) const {
    return by.queue ? Spot(program_, QueueId{*by.queue}, by.index) : Spot::tracker(program_, by.index);
  }
  std::string text(const Raiser& by) const {
    return by.queue ? where(program_, QueueId{*by.queue}, by.index) : tracker_name(program_, by.index);
  }

  /// A wait for 0: see verify/unrolled.hpp.
  void wait_for_previous(std::uint32_t queue, std::size_t index, SignalId signal) {
    const std::uint64_t advance = advances_[signal.value];
    const Spot place(program_, QueueId{queue}, index);
    if (advance == 0) {
      findings_.add(place,
                    fmt::format("waits for {} to reach 0, which is always true: nothing raises it", name(signal)),
                    "drop the wait, or raise the signal");
    } else if (index >= first_waits_of(queue)) {
      findings_.add(
          place,
          fmt::format("waits for {} to reach 0, where the previous iteration leaves it; such a wait can only be proved "
                      "at the start of a dma queue, with ge",
                      name(signal)),
          fmt::format("wait for {} at the end of the queue: the next iteration starts right after it", advance));
    }
  }

  /// Queues are checked one after another.
  std::size_t first_waits_of(std::uint32_t queue) {
    if (latest_ != queue) first_waits_ = first_waits(program_.queues[queue]);
    latest_ = queue;
    return first_waits_;
  }

  void raise(const Raiser& by, SignalId signal, std::uint64_t value, SignalOp op) {
    const Spot place = spot(by);
    if (value == 0) {
      findings_.add(place, fmt::format("raises {} by 0", name(signal)), "values start at 1");
      return;
    }
    std::optional<Usage>& usage = usage_[signal.value];
    if (!usage) {
      usage = Usage{by, op, 0, 0};
    } else if (usage->op != op) {
      findings_.add(
          place, fmt::format("{} is both set and added to; the other way is used by {}", name(signal), text(usage->by)),
          "use one way for one signal");
      return;
    } else if (op == SignalOp::set && usage->by.queue != by.queue) {
      findings_.add(place, fmt::format("{} is set by two queues; the other is {}", name(signal), text(usage->by)),
                    "let several queues add to a signal instead");
      return;
    }
    if (op == SignalOp::set && value <= usage->last_set) {
      findings_.add(
          place,
          fmt::format("sets {} to {} after it was set to {}: counters only grow", name(signal), value, usage->last_set),
          "set increasing values");
    }
    usage->last_set = value;
    const bool fits = value <= kMaxAdvance && usage->total <= kMaxAdvance - value;
    usage->total = fits ? usage->total + value : kMaxAdvance;
    if (!fits) {
      findings_.add(place, fmt::format("{} grows by more than 2^40 per iteration", name(signal)), "use smaller values");
    }
  }

  const Program& program_;
  Findings& findings_;
  const std::vector<std::uint64_t> advances_;
  std::vector<std::optional<Usage>> usage_;
  std::optional<std::uint32_t> latest_;
  std::size_t first_waits_ = 0;  // of that queue
};

void check_callers(const Program& program, Findings& findings) {
  std::vector<bool> named(program.ranks, false);
  const auto name = [&](const Region& region) { named[program.buffer(region.buffer).rank.value] = true; };
  for_each_output(program.contract, name);
  for_each_input(program, name);
  const auto callers = caller_queues(program);
  for (std::uint32_t r = 0; r < program.ranks; ++r) {
    if (!named[r] || callers[r]) continue;
    Place place;
    place.key = "contract";
    place.rank = RankId{r};
    findings.add(place, fmt::format("rank {} has inputs or outputs but no host queue that could be its caller", r),
                 "add a host queue for the rank, or one without a rank that acts for all");
  }
}

}  // namespace

void check_structure(Subject& subject, Findings& findings) {
  const Program& program = subject.program();
  check_queues(program, findings);
  check_submits(program, findings);
  check_launches(program, findings);
  SignalCheck signals(program, findings);
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const auto& commands = program.queues[q].commands;
    for (std::size_t c = 0; c < commands.size() && !findings.full(); ++c) signals.command(q, c, commands[c]);
  }
  for (std::size_t i = 0; i < program.trackers.size() && !findings.full(); ++i) signals.tracker(i);
  check_callers(program, findings);
}

}  // namespace cortado::verifier
