#include "device/soft/packet_stream.hpp"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

namespace cortado::device::soft {
namespace packet_stream_test {

using Fetch = PacketStream::Fetch;

/// A ring of 64 bytes and the offset up to which it is written.
class Ring {
 public:
  PacketStream stream() const { return {bytes_.data(), bytes_.size()}; }
  std::uint64_t write(const sdma::Packet& packet) {
    std::array<std::uint32_t, 16> dwords{};
    const std::size_t count = sdma::encode(packet, dwords.data());
    for (std::size_t i = 0; i < count; ++i, written_ += 4) std::memcpy(&bytes_[written_ % 64], &dwords[i], 4);
    return written_;
  }
  void set_first_dword(std::uint32_t dword) { std::memcpy(bytes_.data(), &dword, sizeof(dword)); }

 private:
  alignas(8) std::array<std::byte, 64> bytes_{};
  std::uint64_t written_ = 0;
};

TEST(PacketStream, PacketAcrossTheEndOfTheRingIsReadWrapped) {
  Ring ring;
  PacketStream stream = ring.stream();
  // COPY takes 28 bytes: the third one starts at 56 and ends at 84, that is at place 20 of the second lap.
  for (std::uint32_t i = 0; i < 20; ++i) {
    const sdma::CopyLinear packet{i + 1, 0x1000 + i, 0x2000 + i};
    ASSERT_FALSE(stream.announce(ring.write(packet), stream.offset()).has_value());
    ASSERT_EQ(stream.fetch(), Fetch::packet);
    EXPECT_EQ(stream.packet_offset(), 28u * i);
    EXPECT_EQ(std::get<sdma::CopyLinear>(stream.packet()), packet);
    EXPECT_EQ(stream.fetch(), Fetch::empty);
  }
}

TEST(PacketStream, HalfAnnouncedPacketIsIncompleteAlsoAcrossTheEnd) {
  Ring ring;
  PacketStream stream = ring.stream();
  ring.write(sdma::Nop{7});  // 8 dwords
  ring.write(sdma::Nop{6});  // 7 dwords: 4 bytes are left
  const std::uint64_t before = 60;
  ASSERT_FALSE(stream.announce(before, 0).has_value());
  EXPECT_EQ(stream.fetch(), Fetch::packet);
  EXPECT_EQ(stream.fetch(), Fetch::packet);
  const std::uint64_t all = ring.write(sdma::CopyLinear{1, 2, 3});
  for (std::uint64_t write = before + 4; write < all; write += 4) {
    ASSERT_FALSE(stream.announce(write, before).has_value());
    EXPECT_EQ(stream.fetch(), Fetch::incomplete);
    EXPECT_EQ(stream.offset(), before);
  }
  ASSERT_FALSE(stream.announce(all, before).has_value());
  EXPECT_EQ(stream.fetch(), Fetch::packet);
}

TEST(PacketStream, PacketLongerThanTheRingIsAFault) {
  Ring ring;
  PacketStream stream = ring.stream();
  ring.write(sdma::Nop{15});
  ring.set_first_dword(0x00100000);  // NOP followed by 16 dwords: 17 in a ring of 16
  ASSERT_FALSE(stream.announce(64, 0).has_value());
  EXPECT_EQ(stream.fetch(), Fetch::fault);
  EXPECT_EQ(stream.fault().kind, FaultKind::unknown_packet);
}

TEST(PacketStream, RefusesDoorbellsByTheOldestUnfinishedPacket) {
  Ring ring;
  PacketStream stream = ring.stream();
  EXPECT_FALSE(stream.announce(64, 0).has_value()) << "a full ring is fine";
  EXPECT_TRUE(stream.announce(68, 0).has_value());
  EXPECT_FALSE(stream.announce(68, 4).has_value());
  EXPECT_TRUE(stream.announce(64, 4).has_value()) << "backwards";
  EXPECT_TRUE(stream.announce(70, 64).has_value()) << "half a dword";
  EXPECT_EQ(stream.announced(), 68u);
}

TEST(PacketStream, SkipsDwordsAlsoThoseNotYetAnnounced) {
  Ring ring;
  PacketStream stream = ring.stream();
  const std::uint64_t first = ring.write(sdma::Trap{1});
  ASSERT_FALSE(stream.announce(first, 0).has_value());
  stream.skip(4);  // both traps
  EXPECT_EQ(stream.fetch(), Fetch::empty);
  ring.write(sdma::Trap{2});
  ASSERT_FALSE(stream.announce(ring.write(sdma::Trap{3}), 0).has_value());
  ASSERT_EQ(stream.fetch(), Fetch::packet);
  EXPECT_EQ(std::get<sdma::Trap>(stream.packet()).context, 3u);
}

TEST(PacketStream, IndirectBufferIsFetchedBeforeTheRingGoesOn) {
  Ring ring;
  PacketStream stream = ring.stream();
  alignas(32) std::array<std::uint32_t, 8> buffer{};
  std::size_t dwords = sdma::encode(sdma::Packet{sdma::Trap{10}}, buffer.data());
  dwords += sdma::encode(sdma::Packet{sdma::Trap{11}}, buffer.data() + dwords);
  const auto base = reinterpret_cast<std::uint64_t>(buffer.data());
  const std::uint64_t caller = ring.write(sdma::Indirect{0, base, 4, 0});
  ASSERT_FALSE(stream.announce(ring.write(sdma::Trap{1}), 0).has_value());
  ASSERT_EQ(stream.fetch(), Fetch::packet);
  stream.enter(base, static_cast<std::uint32_t>(dwords));
  for (const std::uint32_t expected : {10u, 11u}) {
    ASSERT_EQ(stream.fetch(), Fetch::packet);
    EXPECT_EQ(std::get<sdma::Trap>(stream.packet()).context, expected);
    EXPECT_EQ(stream.offset(), 0u) << "the caller is not finished before its buffer is";
  }
  ASSERT_EQ(stream.fetch(), Fetch::packet);
  EXPECT_EQ(std::get<sdma::Trap>(stream.packet()).context, 1u);
  EXPECT_EQ(stream.packet_offset(), caller);
}

}  // namespace packet_stream_test
}  // namespace cortado::device::soft
