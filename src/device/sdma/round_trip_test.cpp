// Encoder and decoder are inverses of each other, on random packets and on random dwords.
#include <memory>

#include <gtest/gtest.h>

#include "cortado/packets.hpp"

#include "base/random.hpp"
#include "device/sdma/testing/golden.hpp"

namespace cortado::sdma {
namespace round_trip_test {

/// Random values inside the ranges of the packet fields, with the ends of the ranges drawn often.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    if (random_.chance(8)) return random_.chance(2) ? low : high;
    return low + static_cast<std::uint32_t>(random_.below(std::uint64_t{high} - low + 1));
  }
  std::uint32_t bits(unsigned count) { return between(0, static_cast<std::uint32_t>((1ULL << count) - 1)); }
  std::uint16_t short_bits(unsigned count) { return static_cast<std::uint16_t>(bits(count)); }
  std::uint64_t address(std::uint64_t alignment) { return random_.next() & ~(alignment - 1); }
  std::uint64_t word() { return random_.next(); }
  bool coin() { return random_.chance(2); }

  Packet packet(std::size_t kind);

 private:
  WindowSide side() { return {address(1), bits(14), bits(14), bits(11), between(1, 1U << 19), between(1, 1U << 28)}; }
  Random random_;
};

Packet Draw::packet(std::size_t kind) {
  constexpr std::uint32_t kMaxBytes = 1U << 30;
  switch (kind) {
    case 0:
      return Nop{static_cast<std::uint16_t>(coin() ? bits(3) : bits(14))};
    case 1:
      return CopyLinear{between(1, kMaxBytes), address(1), address(1)};
    case 2:
      return CopyBroadcast{between(1, kMaxBytes), address(1), address(1), address(1)};
    case 3:
      return CopySwap{between(1, kMaxBytes), address(64), address(64)};
    case 4:
      return CopyWindow{between(0, 4),       side(), side(), between(1, 1U << 14), between(1, 1U << 14),
                        between(1, 1U << 11)};
    case 5: {
      const auto dtype = static_cast<DType>(between(0, 5));
      const auto element = static_cast<std::uint32_t>(size_of(dtype).value);
      return CopyAdd{dtype, between(1, kMaxBytes / element) * element, address(1), address(1)};
    }
    case 6: {
      std::vector<std::uint32_t> data(between(1, 40));
      for (std::uint32_t& value : data) value = bits(32);
      return WriteLinear{address(4), data};
    }
    case 7: {
      const std::uint32_t element_log2 = between(0, 2);
      return ConstFill{address(1), bits(32), element_log2, between(1, kMaxBytes >> element_log2)};
    }
    case 8:
      return Fence{address(4), bits(32)};
    case 9:
      return Trap{bits(28)};
    case 10:
      return PollRegmem{coin(),         coin(),        static_cast<PollFunction>(between(0, 6)),
                        address(4),     bits(32),      bits(32),
                        short_bits(16), short_bits(12)};
    case 11:
      return Atomic{static_cast<std::uint8_t>(bits(7)), coin(), address(8), word(), word(), short_bits(13)};
    case 12:
      return Timestamp{static_cast<TimestampOp>(between(0, 2)), address(8)};
    case 13:
      return CondExe{address(4), bits(32), short_bits(14)};
    case 14:
      return Indirect{static_cast<std::uint8_t>(bits(4)), address(32), bits(20), word()};
    case 16: {
      CopyMulticast packet{between(1, kMaxBytes), address(1), between(2, CopyMulticast::kMostDestinations)};
      for (std::size_t i = 0; i < packet.destinations; ++i) packet.dst.at(i) = address(1);
      return packet;
    }
    case 17: {
      CopyFused packet{.bytes = between(1, kMaxBytes), .src = address(1), .dst = address(1)};
      packet.waits = coin();
      packet.signals = coin();
      if (packet.waits) packet.wait = address(4), packet.reference = bits(32);
      if (packet.signals) packet.signal = address(8), packet.value = word();
      return packet;
    }
    case 18:
      return CopyList{between(1, kMaxBytes), between(1, 1U << 20), address(1), address(1), address(8)};
    default:
      return HdpFlush{};
  }
}

TEST(RoundTrip, DecodeUndoesEncodeForEveryKindOfPacket) {
  Draw draw(2511);
  std::vector<std::uint32_t> words;
  for (int round = 0; round < 2000; ++round) {
    for (std::size_t kind = 0; kind < std::variant_size_v<Packet>; ++kind) {
      const Packet packet = draw.packet(kind);
      ASSERT_EQ(packet.index(), kind);
      ASSERT_EQ(why_not_encodable(packet), "") << to_string(packet);
      words.assign(dwords(packet), 0xa5a5a5a5);
      ASSERT_EQ(encode(packet, words.data()), words.size());
      const auto outcome = decode(words);
      ASSERT_TRUE(outcome.has_value()) << to_string(packet) << ": " << outcome.error().message;
      ASSERT_EQ(outcome->packet, packet) << to_string(packet) << " came back as " << to_string(outcome->packet);
      ASSERT_EQ(outcome->dwords, words.size());
    }
  }
}

/// Decodes `words` and, if that gives a packet, encodes it and expects to read the same packet again. True if it
/// decoded.
bool survives(std::span<const std::uint32_t> words) {
  const auto first = decode(words);
  if (!first) {
    EXPECT_FALSE(first.error().message.empty());
    return false;
  }
  EXPECT_GE(first->dwords, 1U);
  EXPECT_LE(first->dwords, words.size());
  EXPECT_EQ(why_not_encodable(first->packet), "");
  std::vector<std::uint32_t> again(dwords(first->packet));
  EXPECT_EQ(encode(first->packet, again.data()), first->dwords);
  const auto second = decode(again);
  EXPECT_TRUE(second.has_value());
  if (second) {
    EXPECT_EQ(second->packet, first->packet);
    EXPECT_EQ(second->dwords, first->dwords);
  }
  return true;
}

TEST(RoundTrip, RandomDwordsNeverCrashTheDecoder) {
  Random random(7);
  int decoded_packets = 0;
  for (int round = 0; round < 50'000; ++round) {
    // A heap block of the exact size lets a sanitizer see a read past the end.
    const std::size_t length = random.below(16);
    const auto words = std::make_unique<std::uint32_t[]>(length);
    for (std::size_t i = 0; i < length; ++i) {
      // Small numbers and zeros are frequent, otherwise hardly anything but the opcode check would run.
      const std::uint64_t value = random.next();
      words[i] = static_cast<std::uint32_t>(value >> (random.chance(2) ? 0 : 32 + random.below(32)));
    }
    if (length > 0 && random.chance(2)) words[0] = static_cast<std::uint32_t>(random.below(18));
    if (survives({words.get(), length})) ++decoded_packets;
  }
  EXPECT_GT(decoded_packets, 2'000);  // the test reaches the decoders, not only their errors
}

TEST(RoundTrip, GoldenVectorsWithFlippedBitsSurvive) {
  Random random(11);
  for (int round = 0; round < 2'000; ++round) {
    for (const golden::Vector& vector : golden::vectors()) {
      std::vector<std::uint32_t> words = vector.dwords;
      for (std::uint64_t flips = random.below(4); flips > 0; --flips) {
        words[random.below(words.size())] ^= 1U << random.below(32);
      }
      survives(words);
    }
  }
}

}  // namespace round_trip_test
}  // namespace cortado::sdma
