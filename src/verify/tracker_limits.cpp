// Part of verify.machine: trackers, and GEMMs whose output is added in memory.
#include <algorithm>

#include <fmt/format.h>

#include "verify/machine_limits.hpp"
#include "verify/naming.hpp"

namespace cortado::verifier {
namespace {

void check_entries(const Program& program, const TrackerLimits& limits, std::size_t index, Findings& findings) {
  const std::uint64_t unit = limits.granularity.value;
  const std::uint64_t needed = limits.entries_for(program.trackers[index].region.bytes());
  if (needed <= limits.entries) return;
  findings.add(Spot::tracker(program, index),
               fmt::format("{} needs {} entries of {} bytes; a GPU has {}", tracker_name(program, index), needed, unit,
                           limits.entries),
               fmt::format("watch smaller pieces: one of {} bytes would fit", unit * limits.entries));
}

void check_blocks(const Machine& machine, const Gemm& gemm, const Spot& place, Findings& findings) {
  for (std::size_t b = 0; b < gemm.outputs.size(); ++b) {
    if (gemm.outputs[b].op != CopyOp::add) continue;
    findings.add(place,
                 fmt::format("{} needs memory that adds (near_memory_compute), which {} does not have",
                             block_name(gemm, b), machine.name),
                 "store the blocks and add them with a kernel");
    return;
  }
}

}  // namespace

void check_trackers(const Program& program, const Machine& machine, Findings& findings) {
  if (!machine.features.tracker && !program.trackers.empty()) {
    findings.add(Spot::tracker(program, 0),
                 fmt::format("{} needs memory that counts updates (tracker), which {} does not have",
                             tracker_name(program, 0), machine.name),
                 "use a machine with trackers, or signals after the commands that write");
  }
  for (std::size_t i = 0; i < program.trackers.size() && machine.features.tracker && !findings.full(); ++i) {
    check_entries(program, *machine.features.tracker, i, findings);
  }
  for (std::uint32_t q = 0; q < program.queues.size() && !machine.features.near_memory_compute; ++q) {
    if (program.queues[q].kind != QueueKind::compute) continue;
    const auto& commands = program.queues[q].commands;
    for (std::size_t c = 0; c < commands.size() && !findings.full(); ++c) {
      const auto* gemm = std::get_if<Gemm>(&commands[c]);
      if (gemm != nullptr) check_blocks(machine, *gemm, Spot(program, QueueId{q}, c), findings);
    }
  }
}

}  // namespace cortado::verifier
