// verify.units: who waits and holds compute units (rule 8 of cortado/program.hpp) may hold all that what it waits for
// needs; then both wait for ever. Holders are
//   - Gemms with tiles that wait: each workgroup of a tile holds one unit;
//   - kernels with parts that wait: they hold the units of all their parts from launch to end.
//
// A step of a stream needs a unit if it computes, or rings a doorbell. A part of a kernel needs one for whatever it
// does, be it only to raise a signal; once it has done anything, it has its units. So the first step of the part that
// is no wait stands for all of them.
//
// A holder H needs a step w if H cannot end without w but can begin without it. A holder H' of the GPU of w may keep w
// from starting, unless both are of one stream, or parts of one kernel that has no more parts than the GPU has units,
// or
//   - w is finished before H' begins, or begins after H' has ended;
//   - the holders of the GPU are limited so that units are left for w: one, or one for every part of a kernel;
//   - w is launched before H' begins, and has no lower priority: then it is before H' when units are given (rule 8). A
//     part of a kernel, which holds its units from launch to end, is launched when its queue is submitted; any other
//     step when all that stands before it in its queue is over, so of a stream that is submitted first only the first.
//     In either case the queue is through with the iteration before.
// A higher priority alone does not help: nobody loses units that it holds. A circle H -> w -> H' -> ... -> H is
// refused. It may go over several GPUs: where copy kernels push, each GPU waits for the kernel that another one cannot
// start.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/tenants.hpp"
#include "ir/tiles.hpp"
#include "verify/happens_before.hpp"
#include "verify/naming.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {
namespace {

/// A Gemm whose tiles wait, or a part of a kernel that waits.
struct Holder {
  std::uint32_t queue = 0;
  std::uint32_t command = 0;  ///< the Gemm, or the first Wait
  std::uint32_t begin = 0;    ///< step that submits the first tiles, or the part
  std::uint32_t end = 0;      ///< step that joins the last ones, or the last of the part
};

/// H needs the step, which H' may keep from starting.
struct Blocked {
  std::uint32_t step = 0;
  std::size_t by = 0;
};

bool is_wait(const Command& command) {
  return std::holds_alternative<Wait>(command);
}

bool has_waiting_tiles(const Command& command) {
  const auto* gemm = std::get_if<Gemm>(&command);
  return gemm != nullptr && !gemm->waits.empty();
}

bool part_waits(const Queue& queue) {
  return !queue.kernel.empty() && std::ranges::any_of(queue.commands, is_wait);
}

/// Whether the kernels and streams that hold units while they wait leave the others any.
class Room {
 public:
  Room(const Program& program, const Machine& machine)
      : units_(machine.compute_units), tenants_(tenants_of(program, units_)), holds_(tenants_.all.size()) {
    for (std::size_t t = 0; t < holds_.size(); ++t) {
      const Tenant& tenant = tenants_.all[t];
      for (const std::uint32_t q : tenant.queues) holds_[t] = std::max(holds_[t], held_in(program.queues[q], tenant));
      if (holds_[t] > 0) held_[tenant.gpu] += holds_[t];
    }
  }

  /// Whether the queues are of one stream, or of one kernel all of whose parts run at the same time.
  bool together(std::uint32_t a, std::uint32_t b) const {
    return tenants_.of_queue[a] == tenants_.of_queue[b] && fits(tenants_.all[tenants_.of_queue[a]]);
  }
  /// What the stream or kernel of the queue may hold while it waits.
  std::uint32_t held_by(std::uint32_t queue) const { return holds_[tenants_.of_queue[queue]]; }

  /// Holders leave the queue's kernel or stream the units that it needs to begin: one for every part.
  bool is_left_for(std::uint32_t queue) const { return is_left_for_tenant(tenants_.of_queue[queue]); }
  bool is_left_for_all() const {
    for (std::uint32_t t = 0; t < holds_.size(); ++t) {
      if (!is_left_for_tenant(t)) return false;
    }
    return true;
  }

 private:
  /// What a queue of the tenant makes it hold while it waits. A Gemm holds no more units than it has workgroups.
  static std::uint32_t held_in(const Queue& queue, const Tenant& tenant) {
    if (part_waits(queue)) return tenant.most;
    std::uint64_t held = 0;
    for (const Command& command : queue.commands) {
      if (!has_waiting_tiles(command)) continue;
      const Gemm& gemm = std::get<Gemm>(command);
      const std::uint64_t tiles = std::min<std::uint64_t>(tile_count(gemm), tenant.most);
      held = std::max(held, tiles * std::min<std::uint64_t>(gemm.split_k, tenant.most));
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(held, tenant.most));
  }

  bool fits(const Tenant& tenant) const { return tenant.queues.size() <= units_; }

  bool is_left_for_tenant(std::uint32_t at) const {
    const Tenant& tenant = tenants_.all[at];
    const auto held = held_.find(tenant.gpu);
    if (held == held_.end()) return true;
    const std::uint64_t others = held->second - holds_[at];
    return others + tenant.queues.size() <= units_;
  }

  std::uint32_t units_;
  Tenants tenants_;
  std::vector<std::uint32_t> holds_;      // by tenant: 0 if it never waits with units
  std::map<RankId, std::uint64_t> held_;  // by GPU: what holders may hold together
};

class UnitCheck {
 public:
  UnitCheck(const Unrolled& unrolled, const HappensBefore& order, const Room& room, const Machine& machine)
      : unrolled_(unrolled), order_(order), room_(room), program_(unrolled.program()), machine_(machine) {
    find_holders();
  }

  void run(Findings& findings) {
    const std::vector<Blocked> blocked = blocked_steps();
    if (blocked.empty()) return;
    needs_.resize(holders_.size());
    for (std::size_t h = 0; h < holders_.size(); ++h) {
      for (const Blocked& one : blocked) {
        const Node step = unrolled_.node(one.step, 0);
        const bool before_end = order_.starts_before(step, unrolled_.node(holders_[h].end, 0));
        const bool before_begin = order_.starts_before(step, unrolled_.node(holders_[h].begin, 0));
        if (before_end && !before_begin) needs_[h].push_back(one);
      }
    }
    for (std::size_t h = 0; h < holders_.size() && !findings.full(); ++h) {
      if (const auto circle = circle_from(h)) return report(h, *circle, findings);
    }
  }

 private:
  RankId gpu(std::uint32_t queue) const { return *program_.queues[queue].rank; }

  void find_holders() {
    submitter_.resize(unrolled_.chain_count());
    for (std::uint32_t s = 0; s < unrolled_.steps().size(); ++s) {
      const Step& step = unrolled_.steps()[s];
      if (step.kind == StepKind::submit) submitter_[step.target] = s;
      if (unrolled_.is_tiles(step.chain)) continue;
      if (step.kind == StepKind::submit && unrolled_.is_tiles(step.target) && step.part == 0) {
        holders_.push_back({step.queue, step.command, s, s});
      }
      if (step.kind == StepKind::join) holders_.back().end = s;
    }
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
      const Queue& queue = program_.queues[q];
      if (!part_waits(queue)) continue;
      const auto wait = std::ranges::find_if(queue.commands, is_wait);
      holders_.push_back({q, static_cast<std::uint32_t>(wait - queue.commands.begin()), submitter_[q],
                          unrolled_.first_step(q) + unrolled_.step_count(q) - 1});
    }
  }

  /// Of a kernel's part only the first step that is no wait.
  bool needs_unit(std::uint32_t s) const {
    const Step& step = unrolled_.steps()[s];
    if (!unrolled_.is_kind(step.queue, QueueKind::compute)) return false;
    if (program_.queues[step.queue].kernel.empty()) {
      const bool rings = step.kind == StepKind::submit && unrolled_.is_kind(step.target, QueueKind::dma);
      return step.kind == StepKind::work || rings;
    }
    if (step.kind == StepKind::wait || step.chain != step.queue) return false;
    const std::uint32_t first = unrolled_.first_step(step.chain);
    return s == first || (unrolled_.steps()[s - 1].kind == StepKind::wait && only_waits(first, s));
  }

  bool only_waits(std::uint32_t begin, std::uint32_t end) const {
    return std::all_of(unrolled_.steps().begin() + begin, unrolled_.steps().begin() + end,
                       [](const Step& step) { return step.kind == StepKind::wait; });
  }

  /// What a holder of the same GPU may keep from starting.
  std::vector<Blocked> blocked_steps() const {
    std::vector<Blocked> blocked;
    for (std::uint32_t s = 0; s < unrolled_.steps().size(); ++s) {
      const Step& step = unrolled_.steps()[s];
      if (!needs_unit(s) || room_.is_left_for(step.queue)) continue;
      for (std::size_t h = 0; h < holders_.size(); ++h) {
        const Holder& holder = holders_[h];
        if (holder.queue == step.queue || gpu(holder.queue) != gpu(step.queue)) continue;
        if (room_.together(holder.queue, step.queue)) continue;
        if (!is_out_of_the_way(s, holder)) blocked.push_back({s, h});
      }
    }
    return blocked;
  }

  /// Whether the step is finished, or launched with no lower priority, before the holder begins; or begins after it.
  bool is_out_of_the_way(std::uint32_t s, const Holder& holder) const {
    const Step& step = unrolled_.steps()[s];
    const Queue& queue = program_.queues[step.queue];
    const Node node = unrolled_.node(s, 0);
    const Node begin = unrolled_.node(holder.begin, 0);
    const Node next_begin = unrolled_.node(holder.begin, 1);
    if (order_.finished_before(node, begin) && order_.finished_before(node, next_begin)) return true;
    if (order_.starts_before(unrolled_.node(holder.end, 0), node)) return true;
    if (queue.priority < program_.queues[holder.queue].priority) return false;
    const std::uint32_t first = unrolled_.first_step(step.chain);
    const bool launched = s == first || !queue.kernel.empty()
                              ? order_.starts_before(unrolled_.node(submitter_[step.chain], 0), begin)
                              : order_.finished_before(unrolled_.node(s - 1, 0), begin);
    const std::uint32_t last = first + unrolled_.step_count(step.chain) - 1;
    return launched && order_.finished_before(unrolled_.node(last, 0), next_begin);
  }

  /// The steps of a circle of needs from a holder back to itself.
  std::optional<std::vector<Blocked>> circle_from(std::size_t start) const {
    std::vector<std::optional<std::pair<std::size_t, Blocked>>> reached(holders_.size());  // from where, by what
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

  bool is_kernel(const Holder& holder) const { return !program_.queues[holder.queue].kernel.empty(); }

  std::string units_of(const Holder& holder) const {
    return fmt::format("{} of the {} compute units of GPU {}", room_.held_by(holder.queue), machine_.compute_units,
                       gpu(holder.queue).value);
  }

  /// "tiles of queue stream, command 0" or "kernel cores of queue cores0.to1, command 0"
  std::string who(const Holder& holder) const {
    return fmt::format("{} of {}",
                       is_kernel(holder) ? fmt::format("kernel {}", program_.queues[holder.queue].kernel) : "tiles",
                       where(program_, QueueId{holder.queue}, holder.command));
  }

  void report(std::size_t start, const std::vector<Blocked>& circle, Findings& findings) const {
    const Holder& holder = holders_[start];
    std::string message = is_kernel(holder)
                              ? fmt::format("kernel {}, which waits, may hold {} forever: it waits for",
                                            program_.queues[holder.queue].kernel, units_of(holder))
                              : fmt::format("waiting tiles may hold {} forever: they wait for", units_of(holder));
    for (std::size_t i = 0; i < circle.size(); ++i) {
      const Step& step = unrolled_.steps()[circle[i].step];
      message += fmt::format(
          "{} {} ({}), which needs a unit that {} may hold", i == 0 ? "" : "; these wait for", unrolled_.who(step),
          to_string(program_, program_.queues[step.queue].commands[step.command]), who(holders_[circle[i].by]));
    }
    findings.add(
        Spot(program_, QueueId{holder.queue}, holder.command), std::move(message),
        is_kernel(holder)
            ? "limit the kernel to fewer compute units, submit it after what it waits for, or let DMA engines copy"
            : "limit the queue of the gemm so that some units stay free (compute_units), make the copies parts of one "
              "kernel that is submitted before the gemm and has no lower priority, or let DMA engines copy");
  }

  const Unrolled& unrolled_;
  const HappensBefore& order_;
  const Room& room_;
  const Program& program_;
  const Machine& machine_;
  std::vector<std::uint32_t> submitter_;     // by chain: the step that submits it
  std::vector<Holder> holders_;              // Gemms, queue by queue; then parts of kernels
  std::vector<std::vector<Blocked>> needs_;  // of a holder
};

}  // namespace

void check_units(Subject& subject, Findings& findings) {
  const Room room(subject.program(), subject.machine());
  if (room.is_left_for_all()) return;
  UnitCheck(subject.unrolled(), subject.happens_before(), room, subject.machine()).run(findings);
}

}  // namespace cortado::verifier
