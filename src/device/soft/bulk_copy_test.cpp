#include "device/soft/bulk_copy.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace cortado::device::soft {
namespace {

TEST(BulkCopy, CopiesExactlyItsBytesAtAnyAlignment) {
  constexpr std::uint64_t kMargin = 128;
  constexpr std::uint64_t kMost = kStreamingBytes + 40'000;
  std::vector<std::byte> src(kMost + 2 * kMargin), dst(kMost + 2 * kMargin);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(1 + i % 251);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, kStreamingBytes - 1, kStreamingBytes,
                                    kStreamingBytes + 16'384 + 63, kMost}) {
    for (const std::uint64_t dst_offset : {0u, 1u, 63u, 64u}) {
      for (const std::uint64_t src_offset : {0u, 5u}) {
        std::fill(dst.begin(), dst.end(), std::byte{0});
        bulk_copy(dst.data() + dst_offset, src.data() + src_offset, bytes);
        for (std::size_t i = 0; i < dst.size(); ++i) {
          const bool inside = i >= dst_offset && i < dst_offset + bytes;
          ASSERT_EQ(dst[i], inside ? src[i - dst_offset + src_offset] : std::byte{0})
              << bytes << " bytes to " << dst_offset << ", byte " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace cortado::device::soft
