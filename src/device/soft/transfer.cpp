#include "device/soft/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include "device/soft/cpu_kernels.hpp"
#include "ir/packing.hpp"
#include "ir/visit.hpp"

namespace cortado::device::soft {
namespace {

using Fault = std::optional<PacketFault>;

std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

void move_bytes(std::uint64_t dst, std::uint64_t src, std::uint64_t bytes) {
  std::memmove(at(dst), at(src), bytes);  // overlap: undefined on an engine, but nothing else may be damaged
}

[[gnu::cold]] PacketFault outside(std::uint64_t address, std::uint64_t bytes, const char* what) {
  return {FaultKind::bad_address, address,
          fmt::format("{} {:#x} .. +{} is not inside one allocation", what, address, bytes)};
}

[[gnu::cold]] PacketFault misaligned(std::uint64_t address, std::uint64_t alignment, const char* what) {
  return {FaultKind::misaligned, address, fmt::format("{} {:#x} is not {}-byte aligned", what, address, alignment)};
}

[[gnu::cold]] PacketFault unsupported(std::string message) {
  return {FaultKind::unsupported, 0, std::move(message)};
}

bool is_multiple(std::uint64_t value, std::uint64_t of) {
  return of == 0 || value % of == 0;
}

Fault check_size(std::uint64_t bytes, Bytes limit) {
  if (limit.value == 0 || bytes <= limit.value) return std::nullopt;
  return unsupported(fmt::format("{} bytes in one packet, but the engine takes at most {}", bytes, limit.value));
}

// --- Sub-window geometry ---------------------------------------------------------------------------------------------

std::uint64_t row_bytes(const sdma::CopyWindow& window) {
  return std::uint64_t{window.width} << window.element_log2;
}

/// Address of row `row` of the rectangle; rows are numbered through all slices.
std::uint64_t row_address(const sdma::CopyWindow& window, const sdma::WindowSide& side, std::uint64_t row) {
  const std::uint64_t y = side.y + row % window.height;
  const std::uint64_t z = side.z + row / window.height;
  const std::uint64_t element = z * side.slice_pitch + y * side.pitch + side.x;
  return side.base + (element << window.element_log2);
}

Fault check_side(const sdma::CopyWindow& window, const sdma::WindowSide& side, const EngineRules& rules,
                 const AddressSpace& memory, RangeCache& ranges, const char* what, std::uint64_t& place) {
  const std::uint64_t alignment = rules.limits.window_alignment.value;
  if (!is_multiple(side.base, alignment)) return misaligned(side.base, alignment, what);
  const std::uint64_t pitch = std::uint64_t{side.pitch} << window.element_log2;
  if (window.height > 1 && !is_multiple(pitch, alignment)) {
    return PacketFault{FaultKind::misaligned, side.base,
                       fmt::format("{} pitch of {} bytes is not a multiple of {}", what, pitch, alignment)};
  }
  const std::uint64_t slice = std::uint64_t{side.slice_pitch} << window.element_log2;
  if (window.depth > 1 && !is_multiple(slice, alignment)) {
    return PacketFault{FaultKind::misaligned, side.base,
                       fmt::format("{} slice pitch of {} bytes is not a multiple of {}", what, slice, alignment)};
  }
  const std::uint64_t begin = row_address(window, side, 0);
  const std::uint64_t extent = (window.depth - 1) * slice + (window.height - 1) * pitch + row_bytes(window);
  const Mapping* const mapping = ranges.find(memory, begin, extent);
  if (mapping == nullptr) return outside(begin, extent, what);
  place = mapping->to_host;
  return std::nullopt;
}

// --- Lists -----------------------------------------------------------------------------------------------------------

ListEntry entry_of(const sdma::CopyList& packet, const HostPlaces& places, std::uint64_t index) {
  ListEntry entry;
  std::memcpy(&entry, at(packet.list + places.list + index * sizeof entry), sizeof entry);
  return entry;
}

Fault check_list(const sdma::CopyList& packet, const AddressSpace& memory, RangeCache& ranges, HostPlaces& places) {
  const std::uint64_t bytes = packet.entries * sizeof(ListEntry);
  const Mapping* const list = ranges.find(memory, packet.list, bytes);
  if (list == nullptr) return outside(packet.list, bytes, "list");
  places.list = list->to_host;
  const auto find = [&](std::uint64_t address, const char* what, bool first, std::uint64_t& place) -> Fault {
    const Mapping* const mapping = ranges.find(memory, address, packet.bytes);
    if (mapping == nullptr || (!first && mapping->to_host != place)) return outside(address, packet.bytes, what);
    place = mapping->to_host;
    return std::nullopt;
  };
  for (std::uint64_t i = 0; i < packet.entries; ++i) {
    const ListEntry entry = entry_of(packet, places, i);
    if (auto fault = find(packet.src + entry.src, "source", i == 0, places.src)) return fault;
    if (auto fault = find(packet.dst + entry.dst, "destination", i == 0, places.dst)) return fault;
  }
  return std::nullopt;
}

// --- Moving ----------------------------------------------------------------------------------------------------------

void swap_bytes(std::uint64_t a, std::uint64_t b, std::uint64_t bytes) {
  std::array<std::byte, 4096> held;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min<std::uint64_t>(held.size(), bytes - done);
    std::memcpy(held.data(), at(a + done), piece);
    move_bytes(a + done, b + done, piece);
    std::memcpy(at(b + done), held.data(), piece);
    done += piece;
  }
}

void fill(const sdma::ConstFill& packet, std::uint64_t place, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t element = std::uint64_t{1} << packet.element_log2;
  std::byte* out = at(packet.dst + place + first * element);
  if (element == 1) {
    std::memset(out, static_cast<int>(packet.pattern & 0xff), count);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(out + i * element, &packet.pattern, element);
}

}  // namespace

std::optional<TransferShape> transfer_shape(const sdma::Packet& packet) {
  using Shape = std::optional<TransferShape>;
  return match(
      packet,
      [](const sdma::CopyLinear& p) -> Shape {
        return TransferShape{p.bytes, 1};
      },
      [](const sdma::CopyBroadcast& p) -> Shape {
        return TransferShape{p.bytes, 1};
      },
      [](const sdma::CopySwap& p) -> Shape {
        return TransferShape{p.bytes, 1};
      },
      [](const sdma::CopyWindow& p) -> Shape {
        return TransferShape{std::uint64_t{p.height} * p.depth, row_bytes(p)};
      },
      [](const sdma::CopyAdd& p) -> Shape {
        const std::uint64_t element = size_of(p.dtype).value;
        return TransferShape{p.bytes / element, element};
      },
      [](const sdma::CopyMulticast& p) -> Shape {
        return TransferShape{p.bytes, 1};
      },
      [](const sdma::CopyList& p) -> Shape {
        return TransferShape{p.entries, p.bytes};
      },
      [](const sdma::WriteLinear& p) -> Shape {
        return TransferShape{p.data.size(), sizeof(std::uint32_t)};
      },
      [](const sdma::ConstFill& p) -> Shape {
        return TransferShape{p.elements, std::uint64_t{1} << p.element_log2};
      },
      [](const auto&) -> Shape { return std::nullopt; });
}

bool drains(const sdma::Packet& packet) {
  return std::holds_alternative<sdma::Nop>(packet) || std::holds_alternative<sdma::Fence>(packet) ||
         std::holds_alternative<sdma::Atomic>(packet) || std::holds_alternative<sdma::Timestamp>(packet) ||
         std::holds_alternative<sdma::Trap>(packet);
}

std::optional<PacketFault> check_transfer(const sdma::Packet& packet, const EngineRules& rules,
                                          const AddressSpace& memory, RangeCache& ranges, HostPlaces& places) {
  const auto check = [&](std::uint64_t address, std::uint64_t bytes, const char* what, std::uint64_t& place) -> Fault {
    const Mapping* const mapping = ranges.find(memory, address, bytes);
    if (mapping == nullptr) [[unlikely]]
      return outside(address, bytes, what);
    place = mapping->to_host;
    return std::nullopt;
  };
  return match(
      packet,
      [&](const sdma::CopyLinear& p) -> Fault {
        if (auto fault = check_size(p.bytes, rules.limits.max_copy_bytes)) return fault;
        if (auto fault = check(p.src, p.bytes, "source", places.src)) return fault;
        return check(p.dst, p.bytes, "destination", places.dst);
      },
      [&](const sdma::CopyBroadcast& p) -> Fault {
        if (!rules.features.broadcast) return unsupported("this machine's engines have no broadcast");
        if (auto fault = check_size(p.bytes, rules.limits.max_copy_bytes)) return fault;
        const std::uint64_t alignment = rules.limits.broadcast_alignment.value;
        if (alignment != 0 && p.dst1 % alignment != p.dst2 % alignment) {
          return PacketFault{
              FaultKind::misaligned, p.dst2,
              fmt::format("broadcast destinations {:#x} and {:#x} are not equal modulo {}", p.dst1, p.dst2, alignment)};
        }
        if (auto fault = check(p.src, p.bytes, "source", places.src)) return fault;
        if (auto fault = check(p.dst1, p.bytes, "first destination", places.dst)) return fault;
        return check(p.dst2, p.bytes, "second destination", places.dst2);
      },
      [&](const sdma::CopySwap& p) -> Fault {
        if (!rules.features.swap) return unsupported("this machine's engines have no swap");
        if (auto fault = check_size(p.bytes, rules.limits.max_swap_bytes)) return fault;
        const std::uint64_t alignment = rules.limits.swap_alignment.value;
        if (!is_multiple(p.a, alignment)) return misaligned(p.a, alignment, "swap address");
        if (!is_multiple(p.b, alignment)) return misaligned(p.b, alignment, "swap address");
        if (auto fault = check(p.a, p.bytes, "swap range", places.dst)) return fault;
        return check(p.b, p.bytes, "swap range", places.src);
      },
      [&](const sdma::CopyWindow& p) -> Fault {
        if (auto fault = check_side(p, p.src, rules, memory, ranges, "source window", places.src)) return fault;
        return check_side(p, p.dst, rules, memory, ranges, "destination window", places.dst);
      },
      [&](const sdma::CopyAdd& p) -> Fault {
        if (!rules.features.adds()) return unsupported("this machine's memory and engines do not add");
        if (auto fault = check_size(p.bytes, rules.limits.max_copy_bytes)) return fault;
        if (auto fault = check(p.src, p.bytes, "source", places.src)) return fault;
        return check(p.dst, p.bytes, "destination", places.dst);
      },
      [&](const sdma::CopyMulticast& p) -> Fault {
        const auto& multicast = rules.features.multicast;
        if (!multicast) return unsupported("this machine's engines have no multicast");
        if (p.destinations > multicast->destinations) {
          return unsupported(fmt::format("{} destinations in one packet, but the engine takes at most {}",
                                         p.destinations, multicast->destinations));
        }
        if (auto fault = check_size(p.bytes, rules.limits.max_copy_bytes)) return fault;
        if (auto fault = check(p.src, p.bytes, "source", places.src)) return fault;
        for (std::size_t i = 0; i < p.destinations; ++i) {
          if (auto fault = check(p.dst[i], p.bytes, "destination", places.destinations[i])) return fault;
        }
        return std::nullopt;
      },
      [&](const sdma::CopyList& p) -> Fault {
        const auto& indirect = rules.features.indirect;
        if (!indirect) return unsupported("this machine's engines do not walk lists");
        if (p.entries > indirect->entries) {
          return unsupported(
              fmt::format("a list of {} entries, but the engine takes at most {}", p.entries, indirect->entries));
        }
        if (auto fault = check_size(p.bytes, rules.limits.max_copy_bytes)) return fault;
        return check_list(p, memory, ranges, places);
      },
      [&](const sdma::WriteLinear& p) -> Fault {
        return check(p.dst, p.data.size() * sizeof(std::uint32_t), "destination", places.dst);
      },
      [&](const sdma::ConstFill& p) -> Fault {
        return check(p.dst, std::uint64_t{p.elements} << p.element_log2, "destination", places.dst);
      },
      [](const auto&) -> Fault { return std::nullopt; });
}

void for_each_access(const sdma::Packet& packet, const std::function<void(std::uint64_t, std::uint64_t, bool)>& visit) {
  match(
      packet,
      [&](const sdma::CopyLinear& p) {
        visit(p.src, p.bytes, false);
        visit(p.dst, p.bytes, true);
      },
      [&](const sdma::CopyBroadcast& p) {
        visit(p.src, p.bytes, false);
        visit(p.dst1, p.bytes, true);
        visit(p.dst2, p.bytes, true);
      },
      [&](const sdma::CopySwap& p) {
        visit(p.a, p.bytes, true);
        visit(p.b, p.bytes, true);
      },
      [&](const sdma::CopyWindow& p) {
        for (std::uint64_t row = 0; row < std::uint64_t{p.height} * p.depth; ++row) {
          visit(row_address(p, p.src, row), row_bytes(p), false);
          visit(row_address(p, p.dst, row), row_bytes(p), true);
        }
      },
      [&](const sdma::CopyAdd& p) {
        visit(p.src, p.bytes, false);
        visit(p.dst, p.bytes, true);
      },
      [&](const sdma::CopyMulticast& p) {
        visit(p.src, p.bytes, false);
        for (std::size_t i = 0; i < p.destinations; ++i) visit(p.dst[i], p.bytes, true);
      },
      // For a CopyList, only the list itself is visited: machines of virtual nodes have no such packets.
      [&](const sdma::CopyList& p) { visit(p.list, p.entries * sizeof(ListEntry), false); },
      [&](const sdma::WriteLinear& p) { visit(p.dst, p.data.size() * sizeof(std::uint32_t), true); },
      [&](const sdma::ConstFill& p) { visit(p.dst, std::uint64_t{p.elements} << p.element_log2, true); },
      [](const auto&) {});
}

void move_units(const sdma::Packet& packet, const HostPlaces& places, std::uint64_t first, std::uint64_t count) {
  match(
      packet,
      [&](const sdma::CopyLinear& p) { move_bytes(p.dst + places.dst + first, p.src + places.src + first, count); },
      [&](const sdma::CopyBroadcast& p) {
        move_bytes(p.dst1 + places.dst + first, p.src + places.src + first, count);
        move_bytes(p.dst2 + places.dst2 + first, p.src + places.src + first, count);
      },
      [&](const sdma::CopySwap& p) { swap_bytes(p.a + places.dst + first, p.b + places.src + first, count); },
      [&](const sdma::CopyWindow& p) {
        for (std::uint64_t row = first; row < first + count; ++row) {
          move_bytes(row_address(p, p.dst, row) + places.dst, row_address(p, p.src, row) + places.src, row_bytes(p));
        }
      },
      [&](const sdma::CopyAdd& p) {
        const std::uint64_t done = first * size_of(p.dtype).value;
        add_elements(p.dtype, at(p.dst + places.dst + done), at(p.src + places.src + done),
                     count * size_of(p.dtype).value);
      },
      [&](const sdma::CopyMulticast& p) {
        for (std::size_t i = 0; i < p.destinations; ++i) {
          move_bytes(p.dst[i] + places.destinations[i] + first, p.src + places.src + first, count);
        }
      },
      [&](const sdma::CopyList& p) {
        for (std::uint64_t i = first; i < first + count; ++i) {
          const ListEntry entry = entry_of(p, places, i);
          move_bytes(p.dst + entry.dst + places.dst, p.src + entry.src + places.src, p.bytes);
        }
      },
      [&](const sdma::WriteLinear& p) {
        std::memcpy(at(p.dst + places.dst + first * sizeof(std::uint32_t)), p.data.data() + first,
                    count * sizeof(std::uint32_t));
      },
      [&](const sdma::ConstFill& p) { fill(p, places.dst, first, count); }, [](const auto&) {});
}

std::optional<PacketFault> move_tracked_units(const sdma::Packet& packet, std::uint64_t first, std::uint64_t count,
                                              TrackerUnit& trackers) {
  const auto update = [&](std::uint64_t dst, std::uint64_t src, std::uint64_t bytes, CopyOp op, DType dtype) {
    return trackers.update({at(dst), at(src), bytes, op, dtype}, TrackerUnit::Untracked::allowed);
  };
  const auto plain = [&](std::initializer_list<std::uint64_t> destinations, std::uint64_t unit_bytes) -> Fault {
    for (const std::uint64_t dst : destinations) {
      const Span2D written{at(dst + first * unit_bytes), count * unit_bytes, 1, 0};
      if (auto fault = trackers.check_plain_write(written)) return fault;
    }
    move_units(packet, {}, first, count);
    return std::nullopt;
  };
  return match(
      packet,
      [&](const sdma::CopyLinear& p) -> Fault {
        return update(p.dst + first, p.src + first, count, CopyOp::store, DType::u8);
      },
      [&](const sdma::CopyWindow& p) -> Fault {
        for (std::uint64_t row = first; row < first + count; ++row) {
          if (auto fault = update(row_address(p, p.dst, row), row_address(p, p.src, row), row_bytes(p), CopyOp::store,
                                  DType::u8)) {
            return fault;
          }
        }
        return std::nullopt;
      },
      [&](const sdma::CopyAdd& p) -> Fault {
        const std::uint64_t element = size_of(p.dtype).value;
        return update(p.dst + first * element, p.src + first * element, count * element, CopyOp::add, p.dtype);
      },
      [&](const sdma::CopyMulticast& p) -> Fault {
        for (std::size_t i = 0; i < p.destinations; ++i) {
          if (auto fault = update(p.dst[i] + first, p.src + first, count, CopyOp::store, DType::u8)) return fault;
        }
        return std::nullopt;
      },
      [&](const sdma::CopyList& p) -> Fault {
        for (std::uint64_t i = first; i < first + count; ++i) {
          const ListEntry entry = entry_of(p, {}, i);
          if (auto fault = update(p.dst + entry.dst, p.src + entry.src, p.bytes, CopyOp::store, DType::u8))
            return fault;
        }
        return std::nullopt;
      },
      [&](const sdma::CopyBroadcast& p) -> Fault {
        return plain({p.dst1, p.dst2}, 1);
      },
      [&](const sdma::CopySwap& p) -> Fault {
        return plain({p.a, p.b}, 1);
      },
      [&](const sdma::WriteLinear& p) -> Fault { return plain({p.dst}, sizeof(std::uint32_t)); },
      [&](const sdma::ConstFill& p) -> Fault { return plain({p.dst}, std::uint64_t{1} << p.element_log2); },
      [](const auto&) -> Fault { return std::nullopt; });
}

}  // namespace cortado::device::soft
