#include "sim/gpu/node_memory.hpp"

#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado::sim {
namespace node_memory_test {

/// Two buffers of 1000 bytes on two GPUs; caches of 500 and of 4000 bytes.
class NodeMemoryTest : public testing::Test {
 protected:
  Region part_of(BufferId buffer, std::uint64_t offset, std::uint64_t bytes) {
    return make_region(buffer, Bytes{offset}, Bytes{bytes});
  }

  /// What one byte per second of the command takes of the two levels.
  std::pair<double, double> shares(const Command& command, std::uint64_t bytes) {
    UseList uses;
    memory_.touch(command, Bytes{bytes}, uses);
    std::pair<double, double> taken{0, 0};
    for (const ResourceUse& use : uses.view()) (use.resource.value == 0 ? taken.first : taken.second) = use.factor;
    return taken;
  }

  ProgramBuilder builder_{"test", "test", 2};
  BufferId a_ = builder_.buffer("a", RankId{0}, 1000_B, BufferRole::inout);
  BufferId b_ = builder_.buffer("b", RankId{1}, 1000_B, BufferRole::inout);
  FluidSystem fluid_;
  MemoryTiming timing_{
      .peak = {}, .rate = {}, .cache_bytes = {}, .cache_rate = {}, .node = {{500_B, {20}}, {4000_B, {10}}}};
  NodeMemory memory_{timing_, builder_.peek(), fluid_};
};

TEST_F(NodeMemoryTest, WhatWasNeverTouchedCrossesEveryLevel) {
  EXPECT_EQ(shares(Copy{part_of(a_, 0, 400), part_of(b_, 0, 400)}, 400), std::pair(2.0, 2.0));
}

TEST_F(NodeMemoryTest, TheDistanceSinceTheLastTouchDecides) {
  const Copy copy{part_of(a_, 0, 1000), part_of(b_, 0, 1000)};
  shares(copy, 1000);
  // 2000 bytes lie between two touches of any byte: of each read and write the near caches hold 500 / 2000.
  EXPECT_EQ(shares(copy, 1000), std::pair(2 * 0.75, 0.0));
  const Copy part{part_of(a_, 900, 100), part_of(b_, 900, 100)};
  // The last 100 bytes, too, were touched 2000 bytes ago, as one piece with the rest; what is written after 100 bytes
  // more were read lies 1100 bytes back.
  EXPECT_EQ(shares(part, 100), std::pair(0.75 + (1 - 500.0 / 1100), 0.0));
  EXPECT_EQ(shares(part, 100), std::pair(0.0, 0.0));  // 200 bytes back
}

TEST_F(NodeMemoryTest, APartlyKnownRegionCrossesInPart) {
  shares(Copy{part_of(a_, 0, 100), part_of(b_, 0, 100)}, 100);
  // Of 200 bytes each way 100 are known, from 200 bytes ago (the read) and from 100 + 200 (the write): the caches hold
  // those.
  EXPECT_EQ(shares(Copy{part_of(a_, 0, 200), part_of(b_, 0, 200)}, 200), std::pair(1.0, 1.0));
}

TEST_F(NodeMemoryTest, ASwapFetchesOnceAndGoesBackToMemory) {
  const Swap swap{part_of(a_, 0, 1000), part_of(b_, 0, 1000)};
  // Both sides are fetched once; at the last level both are also written.
  EXPECT_EQ(shares(swap, 1000), std::pair(2.0, 4.0));
  // Every byte is touched again after 4000 (2000 read, 2000 written): the near caches hold 1/8, the far ones all.
  EXPECT_EQ(shares(swap, 1000), std::pair(2 * (1 - 0.125), 0.0));
}

TEST(NodeMemory, WithoutLevelsNothingIsTaken) {
  FluidSystem fluid;
  ProgramBuilder builder("test", "test", 1);
  const BufferId a = builder.buffer("a", RankId{0}, 100_B, BufferRole::inout);
  NodeMemory memory({}, builder.peek(), fluid);
  UseList uses;
  memory.touch(Copy{make_region(a, 0_B, 50_B), make_region(a, 50_B, 50_B)}, 50_B, uses);
  EXPECT_TRUE(uses.view().empty());
}

}  // namespace node_memory_test
}  // namespace cortado::sim
