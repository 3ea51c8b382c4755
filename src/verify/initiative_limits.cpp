// Part of verify.machine: packets of several commands, and doorbells that kernels ring.
#include <fmt/format.h>

#include "cortado/program.hpp"

#include "verify/machine_limits.hpp"
#include "verify/naming.hpp"
#include "verify/packet_space.hpp"

namespace cortado::verifier {
void check_initiative(const Program& program, const Machine& machine, QueueId id, Findings& findings) {
  const Queue& queue = program.queue(id);
  if (!has_packing(machine.features, queue.packing)) {
    findings.add(Spot(program, id),
                 fmt::format("needs {} packets, which {} does not have", to_string(queue.packing), machine.name),
                 "use one packet per command, or a machine that has them (mi300x-8+codesign)");
  }
  if (queue.packing == Packing::multicast && !program.trackers.empty()) {
    findings.add(Spot(program, id), "multicast packets in a program with trackers",
                 "updates of tracked bytes must be separate copies: use one packet per command");
  }
  if (queue.kind != QueueKind::compute || machine.features.device_initiated) return;
  for (std::size_t c = 0; c < queue.commands.size() && !findings.full(); ++c) {
    if (!std::holds_alternative<Submit>(queue.commands[c])) continue;
    findings.add(
        Spot(program, id, c),
        fmt::format("needs kernels that ring doorbells (device_initiated), which {} does not have", machine.name),
        "submit the queue from a host queue, or use a machine that has it (mi300x-8+codesign)");
  }
}

}  // namespace cortado::verifier
