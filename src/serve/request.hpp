// A user's request to a serving engine.
#pragma once

#include <cstdint>
#include <vector>

namespace cortado::serve {

/// Names of the blocks of a prompt: blocks with the same name hold the same tokens after the same prefix. A trace lists
/// them; those of a generated conversation are consecutive numbers.
struct BlockNames {
  std::uint64_t first = 0;
  std::uint32_t count = 0;  ///< number of consecutive names
  std::vector<std::uint64_t> listed{};

  std::uint32_t size() const { return listed.empty() ? count : static_cast<std::uint32_t>(listed.size()); }
  std::uint64_t at(std::uint32_t i) const { return listed.empty() ? first + i : listed[i]; }
};

struct Request {
  std::int64_t arrival_ns = 0;
  std::uint32_t input = 0;   ///< tokens of the prompt
  std::uint32_t output = 0;  ///< tokens of the answer
  BlockNames blocks{};       ///< empty: shares nothing with others
  std::uint32_t stored = 0;  ///< leading blocks that are already in host memory
  std::uint64_t session = 0;
  std::uint32_t turn = 0;  ///< within the session, from 0
};

}  // namespace cortado::serve
