// verify.tracker: every byte of a tracker's region gets exactly the updates that the tracker counts, in every
// iteration, and nothing but updates (rule 7 of cortado/program.hpp).
#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "verify/naming.hpp"
#include "verify/region_owners.hpp"
#include "verify/regions.hpp"
#include "verify/rule.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {
namespace {

/// Updates beyond this number are only counted.
constexpr std::size_t kNamedUpdates = 4;

/// How often some bytes are updated in an iteration.
struct Count {
  std::uint64_t adds = 0;
  std::uint64_t stores = 0;

  std::uint64_t total() const { return adds + stores; }
  const Count& advanced_by(std::uint64_t) const { return *this; }
  bool continues(const Count& next, std::uint64_t) const { return adds == next.adds && stores == next.stores; }
};

std::string times(std::uint64_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

class TrackerCheck {
 public:
  TrackerCheck(const Unrolled& unrolled, Findings& findings)
      : unrolled_(unrolled), program_(unrolled.program()), findings_(findings), owners_(find_owners()) {
    counts_.resize(owners_.buffers());
    for (std::uint32_t b = 0; b < counts_.size(); ++b) counts_[b].resize(owners_.strips({b}).count());
  }

  void run() {
    halved_.resize(program_.trackers.size(), false);
    for (const Step& step : unrolled_.steps()) {
      if (findings_.full()) return;
      count(step);
    }
    for (std::uint32_t t = 0; t < program_.trackers.size() && !findings_.full(); ++t) compare(t);
  }

 private:
  /// Trackers own their bytes; the regions looked up are all those that are written.
  RegionOwners find_owners() const {
    std::vector<Region> tracked;
    for (const Tracker& tracker : program_.trackers) tracked.push_back(tracker.region);
    std::vector<Region> written;
    for (const Step& step : unrolled_.steps()) {
      for (const Access& access : unrolled_.accesses(step)) {
        if (access.kind != AccessKind::read) written.push_back(access.region);
      }
      if (const Gemm* gemm = mapped(step)) {
        for (const OutputBlock& block : gemm->outputs) written.push_back(block.to);
      }
    }
    return {tracked, written};
  }

  const Command& command(const Step& step) const { return program_.queues[step.queue].commands[step.command]; }

  /// The Gemm with an output map that the step is a part of, if any.
  const Gemm* mapped(const Step& step) const {
    if (!unrolled_.is_update(step)) return nullptr;
    return std::get_if<Gemm>(&command(step));
  }

  void count(const Step& step) {
    const bool update = unrolled_.is_update(step);
    const Gemm* gemm = mapped(step);
    if (gemm != nullptr && step.part == 0) check_blocks(step, *gemm);
    const std::uint64_t each = gemm == nullptr ? 1 : gemm->split_k;
    bool told = false;
    for (const Access& access : unrolled_.accesses(step)) {
      if (access.kind == AccessKind::read) continue;
      const bool adds = access.kind == AccessKind::read_write;
      owners_.visit(access.region, [&](const Strips::Cell& cell, std::uint32_t tracker) {
        if (tracker == kNoOwner || told) return;
        if (!update) {
          told = true;
          report_uncounted(step, tracker);
          return;
        }
        if (adds) check_elements(step, tracker);
        counts_[access.region.buffer.value][cell.strip].update(
            cell.begin, cell.end,
            [&](std::uint64_t, std::uint64_t, Count& count) { (adds ? count.adds : count.stores) += each; });
      });
    }
  }

  /// An update must add whole elements.
  void check_elements(const Step& step, std::uint32_t tracker) {
    const auto dtype = [](const Command& c) {
      const auto* gemm = std::get_if<Gemm>(&c);
      return gemm != nullptr ? gemm->dtype : std::get<Copy>(c).dtype;
    };
    const Region region = joined(program_.trackers[tracker].region);
    const std::uint64_t size = size_of(dtype(command(step))).value;
    const bool whole = region.offset.value % size == 0 && region.width.value % size == 0 &&
                       (region.rows == 1 || region.pitch.value % size == 0);
    if (whole || halved_[tracker]) return;
    halved_[tracker] = true;
    findings_.add(Spot::tracker(program_, tracker),
                  fmt::format("{} watches parts of {} elements, which {} adds", tracker_name(program_, tracker),
                              to_string(dtype(command(step))), unrolled_.who(step)),
                  fmt::format("offset, width and pitch must be multiples of {}", size));
  }

  /// Blocks that add must be tracked everywhere. Several workgroups cannot store to one tracked tile.
  void check_blocks(const Step& step, const Gemm& gemm) {
    for (std::size_t b = 0; b < gemm.outputs.size() && !findings_.full(); ++b) {
      const OutputBlock& block = gemm.outputs[b];
      bool all = true;
      bool any = false;
      owners_.visit(block.to, [&](const Strips::Cell&, std::uint32_t tracker) {
        all = all && tracker != kNoOwner;
        any = any || tracker != kNoOwner;
      });
      if (block.op == CopyOp::add && !all) {
        findings_.add(
            unrolled_.place(step),
            fmt::format("{} is added to {}, which has no tracker {}: the first update of a byte would not be stored",
                        block_name(gemm, b), to_string(program_, block.to), any ? "everywhere" : "at all"),
            "give every byte of it a tracker, or store the block");
      }
      if (block.op == CopyOp::store && any && gemm.split_k > 1) {
        findings_.add(unrolled_.place(step),
                      fmt::format("{} is tracked and stored by {} workgroups, each with a part of the sum",
                                  block_name(gemm, b), gemm.split_k),
                      "use op add, or split_k 1");
      }
    }
  }

  void report_uncounted(const Step& step, std::uint32_t tracker) {
    const std::string counted = "trackers only count copies on dma queues and GEMMs with an output map";
    if (step.kind == StepKind::caller_fill) {
      findings_.add(
          unrolled_.place(step),
          fmt::format("the caller writes its input to bytes that {} watches", tracker_name(program_, tracker)),
          counted);
      return;
    }
    findings_.add(unrolled_.place(step),
                  fmt::format("{} writes bytes that {} watches, but is not an update",
                              to_string(program_, command(step)), tracker_name(program_, tracker)),
                  counted);
  }

  void compare(std::uint32_t index) {
    const Tracker& tracker = program_.trackers[index];
    const auto& counts = counts_[tracker.region.buffer.value];
    const Strips& strips = owners_.strips(tracker.region.buffer);
    bool told = false;
    for (const Strips::Cell& cell : strips.cells(tracker.region)) {
      counts[cell.strip].visit(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, const Count* found) {
        const Count count = found == nullptr ? Count{} : *found;
        const bool right = count.total() == tracker.updates && (count.stores == 0 || tracker.updates == 1);
        if (right || told) return;
        told = true;
        const auto [first, last] = strips.first_run({cell.strip, begin, end});
        report(index, count, first, last);
      });
    }
  }

  void report(std::uint32_t index, const Count& count, std::uint64_t begin, std::uint64_t end) {
    const Tracker& tracker = program_.trackers[index];
    const std::string bytes = byte_range(program_, tracker.region.buffer, begin, end);
    const std::string by = updates_of(index, begin);
    std::string message = tracker_name(program_, index) + " ";
    std::string hint =
        "an update is a copy on a dma queue or, split_k times, a block of an output map; look for one that is ";
    if (count.total() == tracker.updates) {
      message += fmt::format("has stores among the {} updates of {}: {}", tracker.updates, bytes, by);
      hint = "several updates must all be adds; a store must be the only update";
    } else if (count.total() < tracker.updates) {
      message += fmt::format("never reaches the trigger: {} is updated {} in an iteration, the tracker counts {}: {}",
                             bytes, times(count.total()), tracker.updates, by);
      hint += "missing or goes elsewhere";
    } else {
      message += fmt::format("counts {}, but {} is updated {} in an iteration: {}", tracker.updates, bytes,
                             times(count.total()), by);
      hint += "too many";
    }
    findings_.add(Spot::tracker(program_, index), std::move(message), std::move(hint));
  }

  /// The steps that update a byte of the tracker.
  std::string updates_of(std::uint32_t tracker, std::uint64_t at) const {
    const Region byte = make_region(program_.trackers[tracker].region.buffer, Bytes{at}, Bytes{1});
    std::vector<std::string> names;
    std::size_t more = 0;
    for (const std::uint32_t s : unrolled_.updaters(tracker)) {
      const Step& step = unrolled_.steps()[s];
      for (const Access& access : unrolled_.accesses(step)) {
        if (access.kind == AccessKind::read || !overlap(access.region, byte)) continue;
        if (names.size() == kNamedUpdates) {
          ++more;
          continue;
        }
        const Gemm* gemm = mapped(step);
        names.push_back(fmt::format("{} ({}){}", unrolled_.who(step), to_string(program_, command(step)),
                                    gemm != nullptr && gemm->split_k > 1 ? ", " + times(gemm->split_k) : ""));
      }
    }
    if (names.empty()) return "by nothing";
    return "by " + join(names, "; ") + (more > 0 ? fmt::format(" and {} more", more) : "");
  }

  const Unrolled& unrolled_;
  const Program& program_;
  Findings& findings_;
  RegionOwners owners_;
  std::vector<std::vector<IntervalMap<Count>>> counts_;  // by buffer and strip
  std::vector<bool> halved_;                             // trackers that watch parts of elements
};

}  // namespace

void check_tracker(Subject& subject, Findings& findings) {
  const auto adds = [](const OutputBlock& block) { return block.op == CopyOp::add; };
  bool needed = !subject.program().trackers.empty();
  for (const Queue& queue : subject.program().queues) {
    if (queue.kind != QueueKind::compute) continue;
    for (const Command& command : queue.commands) {
      const auto* gemm = std::get_if<Gemm>(&command);
      needed = needed || (gemm != nullptr && std::ranges::any_of(gemm->outputs, adds));
    }
  }
  if (needed) TrackerCheck(subject.unrolled(), findings).run();
}

}  // namespace cortado::verifier
