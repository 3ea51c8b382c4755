// Part of verify.machine: what fits into the machine.
#include <algorithm>

#include <fmt/format.h>

#include "verify/machine_limits.hpp"
#include "verify/naming.hpp"
#include "verify/packet_space.hpp"

namespace cortado::verifier {
namespace {

constexpr std::uint64_t kDwordBytes = 4;

void check_memory(const Program& program, const Machine& machine, Findings& findings) {
  const std::uint64_t unit = std::max<std::uint64_t>(machine.allocation_alignment.value, 1);
  std::vector<std::uint64_t> used(program.ranks, 0);
  for (const Buffer& buffer : program.buffers) {
    if (buffer.host) continue;  // machines do not say how much memory their hosts have
    std::uint64_t& total = used[buffer.rank.value];
    const std::uint64_t limit = machine.memory_bytes.value;
    // A buffer takes whole units; sizes above the limit are clamped so that the sum cannot wrap.
    const std::uint64_t size = std::min(buffer.size.value, limit + 1);
    const std::uint64_t before = total;
    total += (size + unit - 1) / unit * unit;
    if (before > limit || total <= limit) continue;
    Place place;
    place.rank = buffer.rank;
    findings.add(place,
                 fmt::format("the buffers of rank {} up to {} need more than the {} bytes of its memory",
                             buffer.rank.value, buffer.name, limit),
                 "use smaller buffers or more ranks");
  }
}

}  // namespace

std::uint64_t frame_bytes(const Queue& queue, const DmaLimits& limits, const Features& features) {
  return packets_dwords(queue, limits, features) * kDwordBytes;
}

void check_capacity(const Program& program, const Machine& machine, Findings& findings) {
  if (program.ranks > machine.gpus) {
    findings.add({},
                 fmt::format("the program has {} ranks but {} has {} GPUs", program.ranks, machine.name, machine.gpus),
                 "use a larger machine or fewer ranks");
  }
  check_memory(program, machine, findings);
  for (std::uint32_t q = 0; q < program.queues.size() && !findings.full(); ++q) {
    const Queue& queue = program.queues[q];
    if (queue.kind == QueueKind::dma) {
      const std::uint64_t frame = frame_bytes(queue, machine.dma, machine.features);
      if (frame < machine.dma.ring_bytes.value) continue;
      findings.add(
          Spot(program, QueueId{q}),
          fmt::format("one iteration may take {} bytes of packets; the ring has {}, of which one must stay free", frame,
                      machine.dma.ring_bytes.value),
          "spread the commands over more queues");
    }
    if (queue.compute_units && (*queue.compute_units == 0 || *queue.compute_units > machine.compute_units)) {
      findings.add(Spot(program, QueueId{q}),
                   fmt::format("limited to {} compute units; a GPU of {} has {}", *queue.compute_units, machine.name,
                               machine.compute_units),
                   "use 1 to as many as there are, or no limit");
    }
  }
}

}  // namespace cortado::verifier
