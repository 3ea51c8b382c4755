#include "device/executor/lower.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cortado/packets.hpp"
#include "cortado/program.hpp"

#include "base/check.hpp"
#include "device/executor/executor.hpp"
#include "ir/visit.hpp"
#include "verify/packet_space.hpp"

namespace cortado::device {
namespace {

constexpr std::uint32_t kPollReferenceDword = 3;
constexpr std::uint32_t kFenceValueDword = 3;
constexpr std::uint32_t kFusedReferenceDword = 9;
constexpr std::uint32_t kTimestampAddressDword = 1;
constexpr std::uint32_t kCopyAddressDword = 3;  // of all copies except windows

/// log2 of the largest element of at most 16 bytes that divides all the numbers.
std::uint32_t element_log2(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t bits = 16;
  for (const std::uint64_t number : numbers) bits |= number;
  return static_cast<std::uint32_t>(std::countr_zero(bits));
}

/// Bases of sub-windows are dword aligned; the remainder goes into x.
sdma::WindowSide window_side(std::uint64_t address, const Region& region, std::uint32_t log2) {
  sdma::WindowSide side;
  side.base = address & ~std::uint64_t{3};
  side.x = static_cast<std::uint32_t>((address & 3) >> log2);
  side.pitch = static_cast<std::uint32_t>(region.pitch.value >> log2);
  return side;
}

class Lowering {
 public:
  Lowering(const Program& program, QueueId queue, const AddressMap& addresses,
           const std::vector<std::uint64_t>& advances, const LowerOptions& options)
      : program_(program), queue_(queue), addresses_(addresses), advances_(advances), options_(options) {}

  Result<Frame> run() && {
    const Queue& queue = program_.queue(queue_);
    const std::vector<Command>& commands = queue.commands;
    const std::vector<PackedCommands> packets = packets_of(queue, options_.trace ? PackingLimits{} : options_.packing);
    const AddressLists lists = address_lists(queue, packets);
    for (std::size_t packet = 0; packet < packets.size(); ++packet) {
      command_ = packets[packet].first;
      frame_.start.insert(frame_.start.end(), packets[packet].count, position());
      if (packets[packet].count > 1) {
        CORTADO_RETURN_IF_ERROR(lower_packed(std::span(commands).subspan(command_, packets[packet].count),
                                             queue.packing, lists.first[packet]));
        continue;
      }
      const Command& command = commands[command_];
      if (options_.trace && !std::holds_alternative<Timestamp>(command)) CORTADO_RETURN_IF_ERROR(stamp(command_));
      CORTADO_RETURN_IF_ERROR(std::visit([this](const auto& c) { return lower(c); }, command));
    }
    if (options_.trace) CORTADO_RETURN_IF_ERROR(stamp(commands.size()));
    frame_.start.push_back(position());
    return std::move(frame_);
  }

 private:
  using Commands = std::span<const Command>;

  Status lower_packed(Commands commands, Packing packing, std::uint32_t first_entry) {
    if (packing == Packing::fused) return lower_fused(commands);
    const auto& first = std::get<Copy>(commands.front());
    CORTADO_ASSIGN_OR_RETURN(const std::uint32_t bytes, narrow(first.src.width.value));
    if (packing == Packing::indirect) {
      patch_addresses({first.src, first.dst});
      return emit(sdma::CopyList{bytes, static_cast<std::uint32_t>(commands.size()), addresses_.of(first.src),
                                 addresses_.of(first.dst),
                                 addresses_.lists[queue_.value] + first_entry * sizeof(ListEntry)});
    }
    sdma::CopyMulticast multicast{bytes, addresses_.of(first.src), static_cast<std::uint32_t>(commands.size())};
    std::vector<Region> regions{first.src};
    for (std::size_t i = 0; i < commands.size(); ++i) {
      regions.push_back(std::get<Copy>(commands[i]).dst);
      multicast.dst.at(i) = addresses_.of(regions.back());
    }
    patch_addresses(regions);
    return emit(multicast);
  }

  Status lower_fused(Commands commands) {
    sdma::CopyFused fused;
    for (const Command& command : commands) {
      if (const auto* wait = std::get_if<Wait>(&command)) {
        fused.waits = true;
        fused.wait = addresses_.signals[wait->signal.value];
        fused.reference = static_cast<std::uint32_t>(wait->value);
        patch_value(kFusedReferenceDword, wait->signal, wait->value);
      } else if (const auto* signal = std::get_if<Signal>(&command)) {
        fused.signals = true;
        fused.signal = addresses_.signals[signal->signal.value];
        fused.value = signal->value;
      } else {
        const auto& copy = std::get<Copy>(command);
        CORTADO_ASSIGN_OR_RETURN(fused.bytes, narrow(copy.src.width.value));
        fused.src = addresses_.of(copy.src);
        fused.dst = addresses_.of(copy.dst);
        patch_addresses({copy.src, copy.dst});
      }
    }
    return emit(fused);
  }

  Status lower(const Copy& copy) {
    const std::uint64_t src = addresses_.of(copy.src);
    const std::uint64_t dst = addresses_.of(copy.dst);
    if (copy.op == CopyOp::add) return lower_add(copy);
    if (copy.src.rows == 1 && copy.dst.rows == 1) {
      CORTADO_ASSIGN_OR_RETURN(const std::uint32_t bytes, narrow(copy.src.width.value));
      patch_addresses({copy.src, copy.dst});
      return emit(sdma::CopyLinear{bytes, src, dst});
    }
    frame_.movable = false;  // the element size depends on the address
    const std::uint32_t log2 =
        element_log2({copy.src.width.value, copy.src.pitch.value, copy.dst.pitch.value, src, dst});
    sdma::CopyWindow window;
    window.element_log2 = log2;
    CORTADO_ASSIGN_OR_RETURN(const std::uint32_t width, narrow(copy.src.width.value));
    CORTADO_ASSIGN_OR_RETURN(window.height, narrow(copy.src.rows));
    CORTADO_RETURN_IF_ERROR(narrow(copy.src.pitch.value));
    CORTADO_RETURN_IF_ERROR(narrow(copy.dst.pitch.value));
    window.width = width >> log2;
    window.src = window_side(src, copy.src, log2);
    window.dst = window_side(dst, copy.dst, log2);
    return emit(window);
  }

  Status lower_add(const Copy& copy) {
    CORTADO_ASSIGN_OR_RETURN(const std::uint32_t bytes, narrow(copy.src.width.value));
    for (std::uint64_t row = 0; row < copy.src.rows; ++row) {
      const std::uint64_t src = addresses_.of(copy.src) + copy.src.pitch.value * row;
      const std::uint64_t dst = addresses_.of(copy.dst) + copy.dst.pitch.value * row;
      patch_addresses({make_region(copy.src.buffer, copy.src.row_offset(row), copy.src.width),
                       make_region(copy.dst.buffer, copy.dst.row_offset(row), copy.dst.width)});
      CORTADO_RETURN_IF_ERROR(emit(sdma::CopyAdd{copy.dtype, bytes, src, dst}));
    }
    return {};
  }

  Status lower(const Broadcast& broadcast) {
    CORTADO_ASSIGN_OR_RETURN(const std::uint32_t bytes, narrow(broadcast.src.width.value));
    patch_addresses({broadcast.src, broadcast.dst1, broadcast.dst2});
    return emit(sdma::CopyBroadcast{bytes, addresses_.of(broadcast.src), addresses_.of(broadcast.dst1),
                                    addresses_.of(broadcast.dst2)});
  }

  Status lower(const Swap& swap) {
    CORTADO_ASSIGN_OR_RETURN(const std::uint32_t bytes, narrow(swap.a.width.value));
    patch_addresses({swap.a, swap.b});
    return emit(sdma::CopySwap{bytes, addresses_.of(swap.a), addresses_.of(swap.b)});
  }

  Status lower(const Wait& wait) {
    sdma::PollRegmem poll;
    poll.function = wait.compare == Compare::ge ? sdma::PollFunction::ge : sdma::PollFunction::eq;
    poll.address = addresses_.signals[wait.signal.value];
    poll.reference = static_cast<std::uint32_t>(wait.value);
    patch_value(kPollReferenceDword, wait.signal, wait.value);
    return emit(poll);
  }

  Status lower(const Signal& signal) {
    const std::uint64_t address = addresses_.signals[signal.signal.value];
    if (signal.op == SignalOp::set) {
      patch_value(kFenceValueDword, signal.signal, signal.value);
      return emit(sdma::Fence{address, static_cast<std::uint32_t>(signal.value)});
    }
    sdma::Atomic atomic;
    atomic.address = address;
    atomic.data = signal.value;
    return emit(atomic);
  }

  Status lower(const Timestamp&) { return stamp(command_); }

  template <class Other>
  Status lower(const Other&) {
    return fail(refusal("it has no packet: a DMA engine cannot execute it", "put it on a compute or host queue"));
  }

  Status stamp(std::size_t slot) {
    const std::uint64_t address = addresses_.slots[queue_.value] + slot * kSlotBytes;
    if (options_.trace) frame_.slots.push_back({position() + kTimestampAddressDword, address});
    sdma::Timestamp packet;
    packet.address_or_value = address;
    return emit(packet);
  }

  /// For the next packet, whose addresses are consecutive.
  void patch_addresses(std::initializer_list<Region> regions) {
    patch_addresses(std::span<const Region>(regions.begin(), regions.size()));
  }
  void patch_addresses(std::span<const Region> regions) {
    std::uint32_t dword = position() + kCopyAddressDword;
    for (const Region& region : regions) {
      frame_.addresses.push_back({dword, region.buffer, region.offset.value});
      dword += 2;
    }
  }

  void patch_value(std::uint32_t dword, SignalId signal, std::uint64_t value) {
    const std::uint64_t advance = advances_[signal.value];
    if (advance == 0) return;
    frame_.values.push_back(
        {position() + dword, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(advance)});
  }

  Status emit(const sdma::Packet& packet) {
    if (std::string why = sdma::why_not_encodable(packet); !why.empty()) {
      return fail(refusal("it does not fit in a packet: " + why, "verify the program for this machine with all rules"));
    }
    const std::size_t at = frame_.dwords.size();
    frame_.dwords.resize(at + sdma::dwords(packet));
    const std::size_t written = sdma::encode(packet, frame_.dwords.data() + at);
    CORTADO_CHECK(at + written == frame_.dwords.size(), "the encoder writes what it announced");
    return {};
  }

  Result<std::uint32_t> narrow(std::uint64_t number) const {
    if (number > 0xffff'ffff) {
      return fail(refusal(fmt::format("a packet has no room for the number {}", number), "split the command"));
    }
    return static_cast<std::uint32_t>(number);
  }

  Diagnostic refusal(const std::string& why, std::string hint) const {
    const Queue& queue = program_.queue(queue_);
    Diagnostic diagnostic{"device.encode", fmt::format("{}: {}", to_string(program_, queue.commands[command_]), why),
                          std::move(hint)};
    diagnostic.place.rank = queue.rank;
    diagnostic.place.queue = queue.name;
    diagnostic.place.command = static_cast<std::uint32_t>(command_);
    return diagnostic;
  }

  std::uint32_t position() const { return static_cast<std::uint32_t>(frame_.dwords.size()); }

  const Program& program_;
  QueueId queue_;
  const AddressMap& addresses_;
  const std::vector<std::uint64_t>& advances_;
  LowerOptions options_;
  std::size_t command_ = 0;
  Frame frame_;
};

}  // namespace

Result<Frame> lower_queue(const Program& program, QueueId queue, const AddressMap& addresses,
                          const std::vector<std::uint64_t>& advances, const LowerOptions& options) {
  return Lowering(program, queue, addresses, advances, options).run();
}

Status lower_again(const Program& program, QueueId queue, const AddressMap& addresses,
                   const std::vector<std::uint64_t>& advances, Frame& frame, const PackingLimits& packing) {
  if (!frame.movable) {
    CORTADO_ASSIGN_OR_RETURN(frame, lower_queue(program, queue, addresses, advances, {.packing = packing}));
    return {};
  }
  for (const AddressPatch& patch : frame.addresses) {
    const std::uint64_t address = addresses.buffers[patch.buffer.value] + patch.offset;
    std::memcpy(frame.dwords.data() + patch.dword, &address, sizeof address);
  }
  return {};
}

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
