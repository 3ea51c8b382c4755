// Copies of large blocks of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cortado::device::soft {

/// From this size on a copy goes around the caches. Blocks of a collective are written by one engine and read much
/// later; storing them through the caches would read every line of the destination first, which costs a third of the
/// bandwidth.
inline constexpr std::uint64_t kStreamingBytes = 256 << 10;

/// As std::memcpy, for ranges that do not overlap.
void bulk_copy(std::byte* dst, const std::byte* src, std::uint64_t bytes);

/// As std::memmove. What engines make of ranges that overlap is not defined; that nothing else happens is.
void bulk_move(std::byte* dst, const std::byte* src, std::uint64_t bytes);

}  // namespace cortado::device::soft
