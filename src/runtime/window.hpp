// Who has which part of a rank's window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "cortado/result.hpp"

namespace cortado::runtime {

class WindowHeap {
 public:
  explicit WindowHeap(std::span<std::byte> window);
  /// The first free part that is long enough, at the start of a page (runtime.memory).
  Result<std::span<std::byte>> allocate(Bytes bytes);
  /// Of a part that was allocated; anything else is left alone.
  void release(std::span<std::byte> part);

 private:
  std::span<std::byte> window_;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes
  std::map<std::uint64_t, std::uint64_t> used_;  // the same
};

}  // namespace cortado::runtime
