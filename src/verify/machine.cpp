// verify.machine: the limits of the machine. Packets, reach, capacity, counters and trackers each have their own file.
#include "verify/machine_limits.hpp"
#include "verify/naming.hpp"

namespace cortado::verifier {

void check_machine(Subject& subject, Findings& findings) {
  const Program& program = subject.program();
  const Machine& machine = subject.machine();
  check_capacity(program, machine, findings);
  if (program.ranks > machine.gpus) return;  // links of GPUs that do not exist cannot be looked up
  check_reach(program, machine, findings);
  check_counters(program, findings);
  check_trackers(program, machine, findings);
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const Queue& queue = program.queues[q];
    check_initiative(program, machine, QueueId{q}, findings);
    if (queue.kind != QueueKind::dma) continue;
    for (std::size_t c = 0; c < queue.commands.size() && !findings.full(); ++c) {
      check_packet(program, machine, queue.commands[c], Spot(program, QueueId{q}, c), findings);
    }
  }
}

}  // namespace cortado::verifier
