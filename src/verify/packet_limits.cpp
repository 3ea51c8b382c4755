// Part of verify.machine: what one packet of a DMA engine can carry.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "ir/visit.hpp"
#include "verify/machine_limits.hpp"

namespace cortado::verifier {
namespace {

class PacketCheck {
 public:
  PacketCheck(const Program& program, const Machine& machine, const Spot& place, Findings& findings)
      : program_(program), machine_(machine), place_(place), findings_(findings) {}

  void copy(const Copy& copy) {
    if (copy.op == CopyOp::add) {
      feature(machine_.features.adds(), "memory or engines that add at the destination",
              "reduce with a kernel on a compute queue");
      if (!machine_.features.near_memory_compute && is_tracked(copy.dst.buffer)) {
        error(fmt::format("adds to tracked bytes, which needs memory that adds; {} has engines that do", machine_.name),
              "updates of tracked bytes must be added by the memory (near_memory_compute)");
      }
      if (copy.src.rows != 1) error("an adding copy has several rows", "use one adding copy per row");
    }
    if (copy.src.rows > 1) {
      window(copy);
    } else {
      bytes(copy.src.width, machine_.dma.max_copy_bytes, "copy");
    }
  }

  void broadcast(const Broadcast& broadcast) {
    feature(machine_.features.broadcast, "broadcast packets", "use two copies");
    bytes(broadcast.src.width, machine_.dma.max_copy_bytes, "broadcast");
    const std::uint64_t unit = std::max<std::uint64_t>(machine_.dma.broadcast_alignment.value, 1);
    const std::uint64_t first = broadcast.dst1.offset.value % unit;
    const std::uint64_t second = broadcast.dst2.offset.value % unit;
    if (first == second) return;
    error(fmt::format("the destinations {} and {} are {} and {} bytes into a unit of {} bytes",
                      to_string(program_, broadcast.dst1), to_string(program_, broadcast.dst2), first, second, unit),
          fmt::format("both destinations of a broadcast must be equal modulo {}", unit));
  }

  void swap(const Swap& swap) {
    feature(machine_.features.swap, "swap packets", "use copies through a scratch buffer");
    bytes(swap.a.width, machine_.dma.max_swap_bytes, "swap");
    const std::uint64_t unit = std::max<std::uint64_t>(machine_.dma.swap_alignment.value, 1);
    for (const Region* side : {&swap.a, &swap.b}) {
      if (side->offset.value % unit == 0) continue;
      error(fmt::format("{} starts {} bytes after a multiple of {}", to_string(program_, *side),
                        side->offset.value % unit, unit),
            fmt::format("both sides of a swap must start at multiples of {} bytes", unit));
    }
  }

 private:
  bool is_tracked(BufferId buffer) const {
    return std::ranges::any_of(program_.trackers, [&](const Tracker& one) { return one.region.buffer == buffer; });
  }

  /// A strided copy counts in elements: the largest power of two up to 16 that divides width, pitches and offsets.
  void window(const Copy& copy) {
    const DmaLimits& dma = machine_.dma;
    const std::uint64_t parts = 16 | copy.src.width.value | copy.src.pitch.value | copy.dst.pitch.value |
                                copy.src.offset.value | copy.dst.offset.value;
    const std::uint64_t element = parts & (~parts + 1);  // lowest bit set
    const std::uint64_t unit = std::max<std::uint64_t>(dma.window_alignment.value, 1);
    const std::uint64_t columns = copy.src.width.value / element;
    if (columns > dma.max_window_elements || copy.src.rows > dma.max_window_elements) {
      error(fmt::format("a strided copy of {} x {} elements of {} bytes; one packet takes {} x {}", columns,
                        copy.src.rows, element, dma.max_window_elements, dma.max_window_elements),
            "split it, or align offsets, width and pitches to 16 bytes");
    }
    for (const Region* side : {&copy.src, &copy.dst}) {
      if (side->pitch.value / element > dma.max_pitch_elements) {
        error(fmt::format("{}: a pitch of {} elements of {} bytes; the packet has room for {}",
                          to_string(program_, *side), side->pitch.value / element, element, dma.max_pitch_elements),
              "copy row by row, or align to 16 bytes");
      }
      if (side->offset.value % unit != 0 || side->pitch.value % unit != 0) {
        error(fmt::format("{}: offset and pitch of a strided copy must be multiples of {}", to_string(program_, *side),
                          unit),
              "copy row by row");
      }
    }
  }

  void bytes(Bytes asked, Bytes limit, const char* what) {
    if (asked <= limit) return;
    error(fmt::format("a {} of {} bytes; one packet of {} takes at most {}", what, asked.value, machine_.name,
                      limit.value),
          fmt::format("split it into {} packets", (asked.value - 1) / std::max<std::uint64_t>(limit.value, 1) + 1));
  }

  void feature(bool present, const char* what, const char* hint) {
    if (!present) error(fmt::format("needs {}, which {} does not have", what, machine_.name), hint);
  }

  void error(std::string message, std::string hint) { findings_.add(place_, std::move(message), std::move(hint)); }

  const Program& program_;
  const Machine& machine_;
  const Spot& place_;
  Findings& findings_;
};

}  // namespace

void check_packet(const Program& program, const Machine& machine, const Command& command, const Spot& place,
                  Findings& findings) {
  PacketCheck check(program, machine, place, findings);
  match(
      command, [&](const Copy& copy) { check.copy(copy); },
      [&](const Broadcast& broadcast) { check.broadcast(broadcast); }, [&](const Swap& swap) { check.swap(swap); },
      [](const auto&) {});
}

}  // namespace cortado::verifier
