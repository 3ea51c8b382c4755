#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/fluid/solver.hpp"

namespace cortado::sim::internal {

std::uint32_t UsePool::take(std::size_t count) {
  if (count >= free_.size()) free_.resize(count + 1);
  std::vector<std::uint32_t>& blocks = free_[count];
  if (blocks.empty()) {
    uses_.resize(uses_.size() + count);
    return static_cast<std::uint32_t>(uses_.size() - count);
  }
  const std::uint32_t first = blocks.back();
  blocks.pop_back();
  return first;
}

}  // namespace cortado::sim::internal
