// A user's request to a serving engine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"

namespace cortado::serve {

/// Names of the blocks of a prompt: blocks with the same name hold the same tokens after the same prefix. Those of a
/// generated conversation are consecutive numbers. A trace lists names of larger blocks, of which these are parts.
struct BlockNames {
  std::uint64_t first = 0;
  std::uint32_t count = 0;  ///< complete blocks that have a name
  std::vector<std::uint64_t> listed{};
  std::uint32_t parts = 1;   ///< blocks in each that is listed
  std::uint32_t filled = 0;  ///< tokens in the last that is listed; 0: it is full

  std::uint32_t size() const { return count; }
  std::uint64_t at(std::uint32_t i) const {
    if (listed.empty()) return first + i;
    const std::uint32_t of = i / parts;
    // A block that is not full equals only those with as many tokens. Random is the hash here.
    const std::uint64_t tokens = of + 1 == listed.size() ? filled : 0;
    return Random(Random(listed[of]).next() + (tokens << 32) + i % parts).next();
  }
};

struct Request {
  std::int64_t arrival_ns = 0;  ///< since the first request of all replicas arrived
  std::uint32_t input = 0;      ///< tokens of the prompt
  std::uint32_t output = 0;     ///< tokens of the answer
  BlockNames blocks{};          ///< empty: shares nothing with others
  std::uint32_t stored = 0;     ///< leading blocks that are already in host memory
  std::uint64_t session = 0;
  std::uint32_t turn = 0;  ///< within the session, from 0
};

}  // namespace cortado::serve
