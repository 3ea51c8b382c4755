// Arithmetic of regions.
#pragma once

#include <cstdint>
#include <optional>

#include "cortado/program.hpp"

namespace cortado::verifier {

/// The offset just past the last byte of the region; none if it does not fit in 64 bits.
std::optional<std::uint64_t> end_of(const Region& region);

/// Whether there are gaps between its rows.
inline bool is_strided(const Region& region) {
  return region.rows > 1 && region.pitch != region.width;
}

/// The same bytes, with adjacent rows joined into one.
Region joined(const Region& region);

/// Whether the regions share a byte. Exact for regions of equal pitch (column panels of a matrix are disjoint). Both
/// must lie inside their buffers.
bool overlap(const Region& a, const Region& b);

}  // namespace cortado::verifier
