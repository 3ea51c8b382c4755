// Arithmetic of regions.
#pragma once

#include <cstdint>
#include <optional>

#include "cortado/program.hpp"

namespace cortado::verifier {

/// The offset behind the last byte of the region, or none if it does not fit 64 bits.
std::optional<std::uint64_t> end_of(const Region& region);

/// The same bytes with rows that touch each other joined to one.
Region joined(const Region& region);

/// Whether the regions share a byte. Exact for regions of one pitch (column panels of a matrix are disjoint). Both lie
/// inside their buffers.
bool overlap(const Region& a, const Region& b);

}  // namespace cortado::verifier
