#include "device/soft/memory_map.hpp"

#include <gtest/gtest.h>

namespace cortado::device::soft {
namespace memory_map_test {

MemoryRequest request(Bytes bytes, Bytes alignment = {4096}) {
  return {RankId{0}, bytes, alignment};
}

TEST(MemoryMap, AllocationsAreAlignedZeroedAndFound) {
  MemoryMap map({0});
  for (const Bytes alignment : {Bytes{1}, Bytes{4096}, 64_KiB, 4_MiB}) {
    const auto memory = map.allocate(request({1000}, alignment));
    ASSERT_TRUE(memory.has_value());
    EXPECT_EQ(memory->address() % std::max<std::uint64_t>(alignment.value, 4096), 0u);
    EXPECT_EQ(memory->data[999], std::byte{0});
    EXPECT_TRUE(map.find(memory->address(), 1000).has_value());
  }
}

TEST(MemoryMap, RangesEndExactlyWhereTheRequestDid) {
  MemoryMap map({0});
  const std::uint64_t base = map.allocate(request({1000}))->address();
  EXPECT_TRUE(map.find(base + 999, 1).has_value());
  EXPECT_FALSE(map.find(base + 999, 2).has_value());
  EXPECT_FALSE(map.find(base + 1000, 1).has_value());
  EXPECT_FALSE(map.find(base - 1, 2).has_value());
  EXPECT_FALSE(map.find(base, UINT64_MAX).has_value());
  EXPECT_FALSE(map.find(0, 1).has_value());
}

TEST(MemoryMap, RetiredMemoryIsForgottenAlsoByCaches) {
  MemoryMap map({0});
  const Memory kept = *map.allocate(request({4096}));
  const Memory gone = *map.allocate(request({4096}));
  RangeCache cache;
  EXPECT_TRUE(cache.covers(map, kept.address(), 64));
  EXPECT_TRUE(cache.covers(map, gone.address(), 64));
  ASSERT_TRUE(map.retire(gone.data));
  EXPECT_FALSE(cache.covers(map, gone.address(), 64));
  EXPECT_TRUE(cache.covers(map, kept.address(), 64));
  map.unmap(gone.data);
  EXPECT_FALSE(map.retire(gone.data));
  EXPECT_FALSE(map.retire(kept.data + 64));
}

TEST(MemoryMap, CacheHoldsMoreRangesThanItHasPlacesFor) {
  MemoryMap map({0});
  RangeCache cache;
  std::vector<Memory> memories;
  for (int i = 0; i < 20; ++i) memories.push_back(*map.allocate(request({64})));
  for (int round = 0; round < 2; ++round) {
    for (const Memory& memory : memories) {
      EXPECT_TRUE(cache.covers(map, memory.address(), 64));
      EXPECT_FALSE(cache.covers(map, memory.address(), 65));
    }
  }
}

TEST(MemoryMap, AbsurdSizesAreRefused) {
  MemoryMap map({0});
  EXPECT_EQ(map.allocate(request({0})).error().about, About::request);
  EXPECT_EQ(map.allocate(request({4096}, {3})).error().code, "device.memory");
  for (const Bytes bytes : {Bytes{UINT64_MAX}, Bytes{1ULL << 63}, Bytes{1ULL << 50}}) {
    const auto memory = map.allocate(request(bytes));
    ASSERT_FALSE(memory.has_value());
    EXPECT_EQ(memory.error().about, About::environment);
    EXPECT_EQ(memory.error().code, "device.memory");
  }
}

TEST(MemoryMap, AGpuHasOnlyItsOwnMemory) {
  MemoryMap map(1_MiB);
  const auto first = map.allocate(request({700'000}));
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(map.allocate(request({700'000})).has_value());
  EXPECT_TRUE(map.allocate({RankId{1}, {700'000}, {4096}}).has_value());
  EXPECT_TRUE(map.allocate({std::nullopt, 8_MiB, {4096}}).has_value()) << "host memory is not the GPU's";
  ASSERT_TRUE(map.retire(first->data));
  map.unmap(first->data);
  EXPECT_TRUE(map.allocate(request({700'000})).has_value());
}

}  // namespace memory_map_test
}  // namespace cortado::device::soft
