// Every packet the decoder knows, executed on memory; in the plain order and in several random ones.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"

namespace cortado::device::soft {
namespace packet_execution_test {

class PacketExecution : public testing::TestWithParam<std::optional<std::uint64_t>> {
 protected:
  PacketExecution() : node_(open_test_node({0, GetParam(), {}})), queue_(*node_, RankId{0}, EngineId{1}) {}

  void run(const std::vector<sdma::Packet>& packets) {
    for (const sdma::Packet& packet : packets) queue_.push(packet);
    queue_.ring();
    ASSERT_TRUE(assist_until(*node_, [&] { return queue_.finished() || !node_->faults().empty(); }));
    for (const EngineFault& fault : node_->faults()) ADD_FAILURE() << fault.message;
  }

  std::unique_ptr<Driver> node_;
  TestQueue queue_;
};

INSTANTIATE_TEST_SUITE_P(Orders, PacketExecution, testing::Values(std::nullopt, 1, 2, 3), [](const auto& test) {
  return test.param ? "Seed" + std::to_string(*test.param) : std::string("Plain");
});

TEST_P(PacketExecution, LinearCopyMovesExactlyItsBytes) {
  TestBuffer src(*node_, 5000);
  TestBuffer dst(*node_, 5000, RankId{3});
  src.fill_pattern();
  run({sdma::CopyLinear{3001, src.at(7), dst.at(11)}});
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const bool inside = i >= 11 && i < 11 + 3001;
    ASSERT_EQ(dst.data()[i], inside ? TestBuffer::pattern(i - 11 + 7) : std::byte{0}) << i;
  }
}

TEST_P(PacketExecution, LargeCopyIsMovedInPiecesAndComplete) {
  constexpr std::uint64_t kBytes = (5 << 20) + 13;
  TestBuffer src(*node_, kBytes);
  TestBuffer dst(*node_, kBytes);
  src.fill_pattern();
  run({sdma::CopyLinear{kBytes, src.at(), dst.at()}});
  EXPECT_EQ(std::memcmp(src.data(), dst.data(), kBytes), 0);
}

TEST_P(PacketExecution, CopyOverItselfIsHarmless) {
  TestBuffer buffer(*node_, 4096);
  run({sdma::CopyLinear{2048, buffer.at(0), buffer.at(100)}, sdma::CopyLinear{64, buffer.at(), buffer.at()}});
}

TEST_P(PacketExecution, BroadcastWritesBothDestinations) {
  TestBuffer src(*node_, 1000);
  TestBuffer dst(*node_, 4096);
  src.fill_pattern(5);
  run({sdma::CopyBroadcast{1000, src.at(), dst.at(3), dst.at(2048 + 3)}});
  EXPECT_EQ(std::memcmp(dst.data() + 3, src.data(), 1000), 0);
  EXPECT_EQ(std::memcmp(dst.data() + 2048 + 3, src.data(), 1000), 0);
}

TEST_P(PacketExecution, SwapExchanges) {
  constexpr std::uint64_t kBytes = 10'000;  // more than one 4096-byte piece, not a multiple of it
  TestBuffer a(*node_, kBytes);
  TestBuffer b(*node_, kBytes);
  a.fill_pattern(0);
  b.fill_pattern(100);
  run({sdma::CopySwap{kBytes, a.at(), b.at()}});
  for (std::uint64_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(a.data()[i], TestBuffer::pattern(100 + i));
    ASSERT_EQ(b.data()[i], TestBuffer::pattern(i));
  }
}

TEST_P(PacketExecution, WindowCopiesARectangleOfARectangle) {
  // 4-byte elements; 3 x 2 x 2 of them from (1, 2, 0) with pitches 8 and 64 to (2, 1, 1) with pitches 16 and 80.
  TestBuffer src(*node_, 4096);
  TestBuffer dst(*node_, 4096);
  for (std::uint32_t i = 0; i < 1024; ++i) src.as<std::uint32_t>()[i] = 1000 + i;
  run({sdma::CopyWindow{2, {src.at(), 1, 2, 0, 8, 64}, {dst.at(), 2, 1, 1, 16, 80}, 3, 2, 2}});
  std::uint32_t copied = 0;
  for (std::uint32_t z = 0; z < 2; ++z) {
    for (std::uint32_t y = 0; y < 2; ++y) {
      for (std::uint32_t x = 0; x < 3; ++x, ++copied) {
        EXPECT_EQ(dst.as<std::uint32_t>()[(z + 1) * 80 + (y + 1) * 16 + x + 2], 1000 + z * 64 + (y + 2) * 8 + x + 1);
      }
    }
  }
  const auto written = std::count_if(dst.as<std::uint32_t>(), dst.as<std::uint32_t>() + 1024,
                                     [](std::uint32_t value) { return value != 0; });
  EXPECT_EQ(written, copied);
}

TEST_P(PacketExecution, AddCopyAddsElements) {
  TestBuffer src(*node_, 4000);
  TestBuffer dst(*node_, 4000);
  for (int i = 0; i < 1000; ++i) {
    src.as<float>()[i] = static_cast<float>(i);
    dst.as<float>()[i] = 0.5f;
  }
  run({sdma::CopyAdd{DType::f32, 4000, src.at(), dst.at()}});
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(dst.as<float>()[i], static_cast<float>(i) + 0.5f);
}

TEST_P(PacketExecution, WriteStoresItsData) {
  TestBuffer dst(*node_, 64);
  run({sdma::WriteLinear{dst.at(8), {0xcafe0001, 0xcafe0002, 3}}});
  const std::array<std::uint32_t, 6> expected{0, 0, 0xcafe0001, 0xcafe0002, 3, 0};
  EXPECT_EQ(std::memcmp(dst.data(), expected.data(), sizeof(expected)), 0);
}

TEST_P(PacketExecution, FillsBytesHalfWordsAndDwords) {
  TestBuffer dst(*node_, 64);
  run({sdma::ConstFill{dst.at(1), 0xdeadbeef, 0, 3}, sdma::ConstFill{dst.at(16), 0xdeadbeef, 1, 2},
       sdma::ConstFill{dst.at(32), 0xdeadbeef, 2, 2}});
  EXPECT_EQ(dst.word(0)[0], 0x00000000'efefef00u);
  EXPECT_EQ(dst.word(0)[2], 0x00000000'beefbeefu);
  EXPECT_EQ(dst.word(0)[4], 0xdeadbeef'deadbeefu);
  EXPECT_EQ(dst.word(0)[5], 0u);
}

TEST_P(PacketExecution, FenceAtomicAndNop) {
  TestBuffer words(*node_, 64);
  *words.word(2) = 5;
  run({sdma::Fence{words.at(4), 0x11223344}, sdma::Nop{3}, add64(words.at(8), 40), add64(words.at(8), 2),
       sdma::Atomic{0x28, false, words.at(16), 9, 4, 0}, sdma::HdpFlush{}});
  EXPECT_EQ(*words.word(0), 0x11223344'00000000u);
  EXPECT_EQ(*words.word(1), 42u);
  EXPECT_EQ(*words.word(2), 5u) << "a compare-and-swap that does not match changes nothing and does not wait";
}

TEST_P(PacketExecution, LoopingCompareSwapWaitsForItsValue) {
  TestBuffer words(*node_, 64);
  queue_.push(sdma::Atomic{0x28, true, words.at(), 9, 4, 0}).push(add64(words.at(8)));
  queue_.ring();
  for (int i = 0; i < 1000; ++i) node_->assist();
  EXPECT_EQ(read_word(words.word(1)), 0u);
  add_to(words.word(0), 4);
  ASSERT_TRUE(assist_until(*node_, [&] { return queue_.finished(); }));
  EXPECT_EQ(*words.word(0), 9u);
  EXPECT_EQ(*words.word(1), 1u);
}

TEST_P(PacketExecution, TimestampRecordsTheNodesClock) {
  TestBuffer slots(*node_, 64);
  const std::uint64_t before = node_->clock().now;
  run({sdma::Timestamp{sdma::TimestampOp::set, 12345}, sdma::Timestamp{sdma::TimestampOp::get_local, slots.at()},
       sdma::Timestamp{sdma::TimestampOp::get_global, slots.at(32)}});
  const std::uint64_t after = node_->clock().now;
  EXPECT_LE(before, *slots.word(0));
  EXPECT_LE(*slots.word(0), *slots.word(4));
  EXPECT_LE(*slots.word(4), after);
  EXPECT_EQ(node_->clock().ticks_per_second, 1'000'000'000u);
}

TEST_P(PacketExecution, TrapFiresItsEventOnce) {
  const Event event = *node_->create_event();
  const Event other = *node_->create_event();
  EXPECT_FALSE(node_->wait(event, std::chrono::nanoseconds(0)));
  run({sdma::Fence{reinterpret_cast<std::uint64_t>(event.mailbox), event.id}, sdma::Trap{event.id},
       sdma::Trap{0xfffffff}});
  EXPECT_TRUE(node_->wait(event, std::chrono::seconds(10)));
  EXPECT_EQ(static_cast<std::uint32_t>(*event.mailbox), event.id);
  EXPECT_FALSE(node_->wait(event, std::chrono::nanoseconds(0)));
  EXPECT_FALSE(node_->wait(other, std::chrono::milliseconds(1)));
  node_->destroy(event);
  node_->destroy(other);
}

TEST_P(PacketExecution, PollHoldsWhatFollowsUntilTheMaskedWordCompares) {
  TestBuffer words(*node_, 64);
  queue_.push(sdma::PollRegmem{true, false, sdma::PollFunction::eq, words.at(4), 0x30, 0xf0, 4, 1})
      .push(add64(words.at(8)));
  queue_.ring();
  for (int i = 0; i < 1000; ++i) node_->assist();
  EXPECT_EQ(read_word(words.word(1)), 0u);
  EXPECT_THAT(queue_.state().doing, testing::HasSubstr("polling"));
  EXPECT_THAT(queue_.state().doing, testing::HasSubstr("== 48, reads 0"));
  add_to(words.word(0), 0x13f'00000000);  // upper half 0x13f: masked 0x30
  ASSERT_TRUE(assist_until(*node_, [&] { return queue_.finished(); }));
  EXPECT_EQ(*words.word(1), 1u);
  EXPECT_EQ(queue_.state().doing, "idle");
}

TEST_P(PacketExecution, ConditionSkipsDwordsUnlessItHolds) {
  TestBuffer words(*node_, 64);
  *words.word(0) = 1;
  const auto dwords = static_cast<std::uint16_t>(sdma::dwords(add64(0)));
  run({sdma::CondExe{words.at(), 1, dwords}, add64(words.at(8)), sdma::CondExe{words.at(), 2, dwords},
       add64(words.at(16)), add64(words.at(24))});
  EXPECT_EQ(*words.word(1), 1u) << "executed: the condition holds";
  EXPECT_EQ(*words.word(2), 0u) << "skipped";
  EXPECT_EQ(*words.word(3), 1u) << "behind what was skipped";
}

TEST_P(PacketExecution, IndirectBufferRunsBetweenItsNeighbours) {
  TestBuffer words(*node_, 64);
  TestBuffer program(*node_, 4096);
  std::vector<std::uint32_t> dwords;
  const auto append = [&](const sdma::Packet& packet) {
    const std::size_t start = dwords.size();
    dwords.resize(start + sdma::dwords(packet));
    sdma::encode(packet, dwords.data() + start);
  };
  append(poll_ge(words.at(), 1));             // holds only if the packet before the buffer has run
  append(sdma::CondExe{words.at(), 7, 100});  // skips no more than the rest of the buffer
  append(add64(words.at(8)));
  std::memcpy(program.data(), dwords.data(), dwords.size() * 4);
  run({add64(words.at(), 1), sdma::Indirect{0, program.at(), static_cast<std::uint32_t>(dwords.size()), 0},
       add64(words.at(16)), sdma::Indirect{0, program.at(), 0, 0}});
  EXPECT_EQ(*words.word(1), 0u);
  EXPECT_EQ(*words.word(2), 1u);

  *words.word(0) = 7;
  run({sdma::Indirect{0, program.at(), static_cast<std::uint32_t>(dwords.size()), 0}, add64(words.at(16))});
  EXPECT_EQ(*words.word(1), 1u);
  EXPECT_EQ(*words.word(2), 2u);
}

}  // namespace packet_execution_test
}  // namespace cortado::device::soft
