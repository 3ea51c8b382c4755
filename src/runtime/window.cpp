#include "runtime/window.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::runtime {

WindowHeap::WindowHeap(std::span<std::byte> window) : window_(window) {
  if (!window.empty()) free_[0] = window.size();
}

Result<std::span<std::byte>> WindowHeap::allocate(Bytes bytes) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t wanted = (std::max<std::uint64_t>(bytes.value, 1) + kPage - 1) / kPage * kPage;
  const auto found = std::ranges::find_if(free_, [&](const auto& part) { return part.second >= wanted; });
  if (found == free_.end() || bytes.value > window_.size()) {
    return fail("runtime.memory",
                fmt::format("no contiguous {} is left in the window of {}", format_bytes(bytes),
                            format_bytes({window_.size()})),
                "join with a larger window");
  }
  const auto [offset, length] = *found;
  free_.erase(found);
  if (length > wanted) free_[offset + wanted] = length - wanted;
  used_[offset] = wanted;
  return window_.subspan(offset, bytes.value);
}

void WindowHeap::release(std::span<std::byte> part) {
  const auto used = used_.find(static_cast<std::uint64_t>(part.data() - window_.data()));
  if (part.data() < window_.data() || used == used_.end()) return;
  auto [offset, length] = *used;
  used_.erase(used);
  const auto after = free_.find(offset + length);
  if (after != free_.end()) {
    length += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    std::prev(next)->second += length;
    return;
  }
  free_[offset] = length;
}

}  // namespace cortado::runtime
