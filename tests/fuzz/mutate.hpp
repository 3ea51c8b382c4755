// Random changes to byte strings, the same on every platform for the same seed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"

namespace cortado::fuzz {

using Input = std::vector<std::uint8_t>;

/// One of the seeds with one to eight changes: flipped bits, odd numbers, cut, repeated, inserted or removed pieces, or
/// a piece of another seed. At most `max_bytes` long. `seeds` is not empty.
Input mutate(const std::vector<Input>& seeds, std::size_t max_bytes, Random& random);

}  // namespace cortado::fuzz
