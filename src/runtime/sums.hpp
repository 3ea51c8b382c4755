// Element-wise reductions of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cortado/communicator.hpp"

namespace cortado::runtime {

/// out = sources[0] op sources[1] op ..., in that order, for this many bytes, a multiple of the element size; out may
/// be one of the sources. Any alignment.
void reduce(Element element, Reduction reduction, std::byte* out, std::span<const std::byte* const> sources,
            std::uint64_t bytes);

}  // namespace cortado::runtime
