#include "device/executor/executor.hpp"
#include "device/executor/lower.hpp"
#include "ir/visit.hpp"
#include "verify/packet_space.hpp"

namespace cortado::device {

Result<std::vector<QueuePackets>> encode_program(const VerifiedProgram& verified) {
  const Program& program = verified.program();
  const AddressMap addresses = fixed_layout(program, verified.machine());
  const std::vector<std::uint64_t> advances = signal_advances(program);
  const PackingLimits packing = packing_limits(verified.machine().features);
  std::vector<QueuePackets> packets;
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    if (program.queues[q].kind != QueueKind::dma) continue;
    CORTADO_ASSIGN_OR_RETURN(Frame frame, lower_queue(program, QueueId{q}, addresses, advances, {.packing = packing}));
    packets.push_back({QueueId{q}, std::move(frame.dwords), std::move(frame.start)});
  }
  return packets;
}

}  // namespace cortado::device
