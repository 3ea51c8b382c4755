// Which parts of a rank's window are in use.
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
  /// The first free part that is long enough, aligned to a page (runtime.memory).
  Result<std::span<std::byte>> allocate(Bytes bytes);
  /// Releases an allocated part; anything else is ignored.
  void release(std::span<std::byte> part);

 private:
  std::span<std::byte> window_;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes
  std::map<std::uint64_t, std::uint64_t> used_;  // likewise
};

}  // namespace cortado::runtime
