// verify.units: a tile that waits holds its compute unit (rule 8 of cortado/program.hpp). If what it waits for needs
// units of a GPU all of whose units may be held by waiting tiles, both may wait for ever.
//
// A waiting Gemm G needs a step w if G cannot end without w but can begin without it. A waiting Gemm G' of the GPU of
// w, on another queue, may keep w from starting unless
//   - w is finished before G' begins, or begins after G' has ended;
//   - the queues of waiting Gemms of the GPU are limited so that units are left for w: one, or one for every part of a
//     kernel;
//   - w is launched before G' begins, and has no lower priority: then it is before G' when units are given (rule 8). A
//     part of a kernel, which holds its units from launch to end, is launched when its queue is submitted; any other
//     step when all that stands before it in its queue is over, so of a stream that is submitted first only the first.
//     In either case the queue is through with the iteration before.
// A higher priority alone does not help: nobody loses units that it holds. A circle G -> w -> G' -> ... -> G is
// refused. It may go over several GPUs: where copy kernels push, each GPU waits for the kernel that another one cannot
// start.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "verify/happens_before.hpp"
#include "verify/naming.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {
namespace {

/// A Gemm whose tiles wait.
struct WaitingGemm {
  std::uint32_t queue = 0;
  std::uint32_t command = 0;
  std::uint32_t begin = 0;  ///< step that submits its first tiles
  std::uint32_t end = 0;    ///< step that joins its last ones
};

/// G needs the step, which G' may keep from starting.
struct Blocked {
  std::uint32_t step = 0;
  std::size_t by = 0;
};

class UnitCheck {
 public:
  UnitCheck(const Unrolled& unrolled, const HappensBefore& order, const Machine& machine)
      : unrolled_(unrolled), order_(order), program_(unrolled.program()), machine_(machine) {
    find_gemms();
    for (const Queue& queue : program_.queues) {
      if (!queue.kernel.empty()) ++parts_[{queue.rank->value, queue.kernel}];
    }
  }

  void run(Findings& findings) {
    if (gemms_.empty()) return;
    const std::vector<Blocked> blocked = blocked_steps();
    if (blocked.empty()) return;
    needs_.resize(gemms_.size());
    std::vector<Query> queries;
    for (const WaitingGemm& gemm : gemms_) {
      for (const Blocked& one : blocked) {
        queries.push_back({unrolled_.node(one.step, 0), unrolled_.node(gemm.end, 0), false});
        queries.push_back({unrolled_.node(one.step, 0), unrolled_.node(gemm.begin, 0), false});
      }
    }
    order_.answer(queries);
    auto query = queries.begin();
    for (std::size_t g = 0; g < gemms_.size(); ++g) {
      for (const Blocked& one : blocked) {
        const bool before_end = (query++)->holds;
        const bool before_begin = (query++)->holds;
        if (before_end && !before_begin) needs_[g].push_back(one);
      }
    }
    for (std::size_t g = 0; g < gemms_.size() && !findings.full(); ++g) {
      if (const auto circle = circle_from(g)) return report(g, *circle, findings);
    }
  }

 private:
  RankId gpu(std::uint32_t queue) const { return *program_.queues[queue].rank; }

  void find_gemms() {
    for (std::uint32_t s = 0; s < unrolled_.steps().size(); ++s) {
      const Step& step = unrolled_.steps()[s];
      if (unrolled_.is_tiles(step.chain)) return;
      if (step.kind == StepKind::submit && unrolled_.is_tiles(step.target) && step.part == 0) {
        gemms_.push_back({step.queue, step.command, s, s});
      }
      if (step.kind == StepKind::join) gemms_.back().end = s;
    }
  }

  /// Units of the GPU that its waiting Gemms leave, but for those of one queue.
  std::uint32_t left_on(RankId on, std::uint32_t but) const {
    std::uint64_t held = 0;
    std::uint32_t last = ~0U;
    for (const WaitingGemm& gemm : gemms_) {
      if (gpu(gemm.queue) != on || gemm.queue == but || gemm.queue == std::exchange(last, gemm.queue)) continue;
      held += program_.queues[gemm.queue].compute_units.value_or(machine_.compute_units);
    }
    return machine_.compute_units - static_cast<std::uint32_t>(std::min<std::uint64_t>(held, machine_.compute_units));
  }

  bool has_room(std::uint32_t queue) const {
    const Queue& q = program_.queues[queue];
    const auto parts = parts_.find({q.rank->value, q.kernel});
    return left_on(*q.rank, queue) >= (parts == parts_.end() ? 1 : parts->second);
  }

  /// What a waiting Gemm of the same GPU may keep from starting.
  std::vector<Blocked> blocked_steps() const {
    struct Doubt {
      Blocked blocked;
      bool yields = false;  // its priority is lower
    };
    std::vector<std::uint32_t> submitter(unrolled_.chain_count(), 0);
    for (std::uint32_t s = 0; s < unrolled_.steps().size(); ++s) {
      const Step& step = unrolled_.steps()[s];
      if (step.kind == StepKind::submit) submitter[step.target] = s;
    }
    std::vector<Doubt> doubts;
    std::vector<Query> queries;
    for (std::uint32_t s = 0; s < unrolled_.steps().size(); ++s) {
      const Step& step = unrolled_.steps()[s];
      const bool rings = step.kind == StepKind::submit && unrolled_.is_kind(step.target, QueueKind::dma);
      const bool computes = (step.kind == StepKind::work || rings) && !unrolled_.is_tracker(step.queue) &&
                            unrolled_.is_kind(step.queue, QueueKind::compute);
      if (!computes || has_room(step.queue)) continue;
      for (std::size_t g = 0; g < gemms_.size(); ++g) {
        const WaitingGemm& gemm = gemms_[g];
        if (gemm.queue == step.queue || gpu(gemm.queue) != gpu(step.queue)) continue;
        const Queue& queue = program_.queues[step.queue];
        const std::uint32_t first = unrolled_.first_step(step.chain);
        const std::uint32_t last = first + unrolled_.step_count(step.chain) - 1;
        const Node begin = unrolled_.node(gemm.begin, 0);
        const Node next_begin = unrolled_.node(gemm.begin, 1);
        doubts.push_back({{s, g}, queue.priority < program_.queues[gemm.queue].priority});
        queries.push_back(order_.finished_before(unrolled_.node(s, 0), begin));
        queries.push_back(order_.finished_before(unrolled_.node(s, 0), next_begin));
        queries.push_back({unrolled_.node(gemm.end, 0), unrolled_.node(s, 0), false});
        queries.push_back(s == first || !queue.kernel.empty()
                              ? Query{unrolled_.node(submitter[step.queue], 0), begin, false}
                              : order_.finished_before(unrolled_.node(s - 1, 0), begin));
        queries.push_back(order_.finished_before(unrolled_.node(last, 0), next_begin));
      }
    }
    order_.answer(queries);
    std::vector<Blocked> blocked;
    for (std::size_t d = 0; d < doubts.size(); ++d) {
      const Query* of = &queries[5 * d];
      const bool finished = of[0].holds && of[1].holds;
      const bool behind = of[2].holds;
      const bool launched = of[3].holds && of[4].holds && !doubts[d].yields;
      if (finished || behind || launched) continue;
      blocked.push_back(doubts[d].blocked);
    }
    return blocked;
  }

  /// The steps of a circle of needs from a Gemm back to itself.
  std::optional<std::vector<Blocked>> circle_from(std::size_t start) const {
    std::vector<std::optional<std::pair<std::size_t, Blocked>>> reached(gemms_.size());  // from where, by what
    std::vector<std::size_t> open{start};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const Blocked& one : needs_[at]) {
        if (reached[one.by]) continue;
        reached[one.by] = std::pair(at, one);
        open.push_back(one.by);
      }
    }
    if (!reached[start]) return std::nullopt;
    std::vector<Blocked> circle;
    for (std::size_t at = start; circle.empty() || at != start; at = reached[at]->first) {
      circle.push_back(reached[at]->second);
    }
    std::ranges::reverse(circle);
    return circle;
  }

  std::string units_of(const WaitingGemm& gemm) const {
    const std::uint32_t most = program_.queues[gemm.queue].compute_units.value_or(machine_.compute_units);
    return fmt::format("{} of the {} compute units of GPU {}", std::min(most, machine_.compute_units),
                       machine_.compute_units, gpu(gemm.queue).value);
  }

  void report(std::size_t start, const std::vector<Blocked>& circle, Findings& findings) const {
    const WaitingGemm& gemm = gemms_[start];
    std::string message = fmt::format("tiles that wait may hold {} for ever: they wait for", units_of(gemm));
    for (std::size_t i = 0; i < circle.size(); ++i) {
      const Step& step = unrolled_.steps()[circle[i].step];
      const WaitingGemm& holder = gemms_[circle[i].by];
      message +=
          fmt::format("{} {} ({}), which needs a unit that tiles of {} may hold", i == 0 ? "" : "; these wait for",
                      unrolled_.who(step), to_string(program_, program_.queues[step.queue].commands[step.command]),
                      where(program_, QueueId{holder.queue}, holder.command));
    }
    findings.add(Spot(program_, QueueId{gemm.queue}, gemm.command), std::move(message),
                 "limit the queue of the gemm so that units are left (compute_units), make the copies parts of one "
                 "kernel that is submitted before the gemm and has no lower priority, or let DMA engines copy");
  }

  const Unrolled& unrolled_;
  const HappensBefore& order_;
  const Program& program_;
  const Machine& machine_;
  std::vector<WaitingGemm> gemms_;                                        // queue by queue
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> parts_;  // of a kernel
  std::vector<std::vector<Blocked>> needs_;                               // of a Gemm
};

bool any_waits(const Program& program) {
  const auto waits = [](const Command& command) {
    const auto* gemm = std::get_if<Gemm>(&command);
    return gemm != nullptr && !gemm->waits.empty();
  };
  return std::ranges::any_of(program.queues,
                             [&](const Queue& queue) { return std::ranges::any_of(queue.commands, waits); });
}

}  // namespace

void check_units(Subject& subject, Findings& findings) {
  if (!any_waits(subject.program())) return;
  UnitCheck(subject.unrolled(), subject.happens_before(), subject.machine()).run(findings);
}

}  // namespace cortado::verifier
