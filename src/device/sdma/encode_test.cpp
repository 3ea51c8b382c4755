#include <numeric>

#include <gtest/gtest.h>

#include "cortado/packets.hpp"

#include "device/sdma/testing/golden.hpp"

namespace cortado::sdma {
namespace encode_test {

using golden::kD;
using golden::kD2;
using golden::kF;
using golden::kS;

std::vector<std::uint32_t> encoded(const Packet& packet) {
  std::vector<std::uint32_t> out(dwords(packet), 0xa5a5a5a5);
  EXPECT_EQ(encode(packet, out.data()), out.size());
  return out;
}

TEST(Encode, GivesTheGoldenVectors) {
  for (const golden::Vector& vector : golden::vectors()) {
    EXPECT_EQ(encoded(vector.packet), vector.dwords) << vector.name;
  }
}

TEST(Encode, GoldenVectorsCoverEveryKindOfPacket) {
  std::vector<bool> seen(std::variant_size_v<Packet>);
  for (const golden::Vector& vector : golden::vectors()) seen[vector.packet.index()] = true;
  EXPECT_EQ(seen, std::vector<bool>(seen.size(), true));
}

// Sizes of whole submissions that AMD's packet library publishes for gfx942.
TEST(Encode, SubmissionsHaveThePublishedSizes) {
  const auto bytes = [](const std::vector<Packet>& packets) {
    return 4 * std::transform_reduce(packets.begin(), packets.end(), std::size_t{0}, std::plus<>{},
                                     [](const Packet& packet) { return dwords(packet); });
  };
  const HdpFlush flush;
  const CopyLinear copy{4096, kS, kD};
  const CopyBroadcast broadcast{4096, kS, kD, kD2};
  const Atomic signal{.address = kF};
  // 6 + 7 + 8 = 21 dwords; 6 + 4 * 7 + 8 = 42 dwords; 6 + 2 * 9 + 8 = 32 dwords.
  EXPECT_EQ(bytes({flush, copy, signal}), 84U);
  EXPECT_EQ(bytes({flush, copy, copy, copy, copy, signal}), 168U);
  EXPECT_EQ(bytes({flush, broadcast, broadcast, signal}), 128U);
}

TEST(Encode, LargestValuesOfEveryField) {
  EXPECT_EQ(encoded(CopyLinear{1U << 30, kS, kD})[1], 0x3fffffffU);
  EXPECT_EQ(encoded(Nop{0x3fff})[0], 0x3fff0000U);
  EXPECT_EQ(encoded(Nop{0x3fff}).size(), 0x4000U);
  // 2^28 dwords are 2^30 bytes; the count is one less.
  EXPECT_EQ(encoded(ConstFill{kD, 0, 2, 1U << 28})[4], 0x3fffffffU);
  EXPECT_EQ(encoded(ConstFill{kD, 0, 0, 1U << 30})[4], 0x3fffffffU);
  EXPECT_EQ(encoded(Trap{0x0fffffff})[1], 0x0fffffffU);
  const WindowSide side{kD, 0x3fff, 0x3fff, 0x7ff, 1U << 19, 1U << 28};
  const auto window = encoded(CopyWindow{4, side, side, 1U << 14, 1U << 14, 1U << 11});
  EXPECT_EQ(window[3], 0x3fff3fffU);
  EXPECT_EQ(window[4], 0xffffe7ffU);  // pitch 31:13, z 10:0
  EXPECT_EQ(window[5], 0x0fffffffU);
  EXPECT_EQ(window[11], 0x3fff3fffU);
  EXPECT_EQ(window[12], 0x7ffU);
  const auto atomic = encoded(Atomic{0x7f, true, kF, 0, 0, 0x1fff});
  EXPECT_EQ(atomic[0], 0xfe01000aU);
  EXPECT_EQ(atomic[7], 0x1fffU);
}

TEST(Encode, TellsWhyAPacketHasNoEncoding) {
  const WindowSide side{.base = kD};
  const std::vector<std::pair<Packet, const char*>> cases{
      {Nop{0x4000}, "payload is above 14 bits"},
      {CopyLinear{0, kS, kD}, "bytes is 0"},
      {CopyLinear{(1U << 30) + 1, kS, kD}, "bytes is above 2^30"},
      {CopyBroadcast{0, kS, kD, kD2}, "bytes is 0"},
      {CopySwap{4096, kD + 32, kS}, "a is not 64-byte aligned"},
      {CopySwap{4096, kD, kS + 1}, "b is not 64-byte aligned"},
      {CopySwap{0, kD, kS}, "bytes is 0"},
      {CopyWindow{.element_log2 = 5, .src = side, .dst = side}, "element_log2 is above 4"},
      {CopyWindow{.src = {.base = kS, .x = 0x4000}, .dst = side}, "x or y is above 14 bits"},
      {CopyWindow{.src = side, .dst = {.base = kS, .y = 0x4000}}, "x or y is above 14 bits"},
      {CopyWindow{.src = {.base = kS, .z = 0x800}, .dst = side}, "z is above 11 bits"},
      {CopyWindow{.src = {.base = kS, .pitch = 0}, .dst = side}, "pitch is not in 1 .. 2^19"},
      {CopyWindow{.src = {.base = kS, .pitch = (1U << 19) + 1}, .dst = side}, "pitch is not in 1 .. 2^19"},
      {CopyWindow{.src = {.base = kS, .slice_pitch = 0}, .dst = side}, "slice_pitch is not in 1 .. 2^28"},
      {CopyWindow{.src = side, .dst = side, .width = 0}, "width is not in 1 .. 2^14"},
      {CopyWindow{.src = side, .dst = side, .height = (1U << 14) + 1}, "height is not in 1 .. 2^14"},
      {CopyWindow{.src = side, .dst = side, .depth = 0}, "depth is not in 1 .. 2^11"},
      {CopyAdd{DType::f32, 6, kS, kD}, "bytes is not a whole number of elements"},
      {CopyAdd{static_cast<DType>(9), 8, kS, kD}, "dtype is unknown"},
      {CopyAdd{DType::u8, 0, kS, kD}, "bytes is 0"},
      {WriteLinear{kD, {}}, "data is empty"},
      {WriteLinear{kD + 2, {1}}, "dst is not 4-byte aligned"},
      {WriteLinear{kD, std::vector<std::uint32_t>((1U << 20) + 1)}, "data is above 2^20 dwords"},
      {ConstFill{kD, 0, 3, 1}, "element_log2 is above 2"},
      {ConstFill{kD, 0, 2, 0}, "elements is 0"},
      {ConstFill{kD, 0, 2, (1U << 28) + 1}, "the fill is above 2^30 bytes"},
      {Fence{kF + 2, 0}, "address is not 4-byte aligned"},
      {Trap{1U << 28}, "context is above 28 bits"},
      {PollRegmem{.address = kF + 1}, "address is not 4-byte aligned"},
      {PollRegmem{.function = static_cast<PollFunction>(7), .address = kF}, "function is unknown"},
      {PollRegmem{.address = kF, .retry_count = 0x1000}, "retry_count is above 12 bits"},
      {PollRegmem{false, false, PollFunction::always, 1ULL << 63, 0, 0, 0, 0},
       "this register poll is the HDP flush packet"},
      {Atomic{.operation = 0x80, .address = kF}, "operation is above 7 bits"},
      {Atomic{.operation = kAtomicAdd64, .address = kF + 4}, "address is not aligned to its operand"},
      {Atomic{.operation = 0x0f, .address = kF + 2}, "address is not aligned to its operand"},
      {Atomic{.address = kF, .loop_interval = 0x2000}, "loop_interval is above 13 bits"},
      {Timestamp{TimestampOp::get_local, kF + 4}, "address is not 8-byte aligned"},
      {Timestamp{static_cast<TimestampOp>(3), kF}, "operation is unknown"},
      {CondExe{kF + 2, 0, 0}, "address is not 4-byte aligned"},
      {CondExe{kF, 0, 0x4000}, "exec_count is above 14 bits"},
      {Indirect{.base = kS + 16, .dwords = 1}, "base is not 32-byte aligned"},
      {Indirect{.vmid = 16, .base = kS}, "vmid is above 4 bits"},
      {Indirect{.base = kS, .dwords = 1U << 20}, "dwords is above 20 bits"},
  };
  for (const auto& [packet, why] : cases) EXPECT_EQ(why_not_encodable(packet), why) << to_string(packet);
  for (const golden::Vector& vector : golden::vectors()) EXPECT_EQ(why_not_encodable(vector.packet), "") << vector.name;
}

TEST(EncodeDeathTest, RefusesAPacketWithoutEncoding) {
  std::uint32_t out[16];
  EXPECT_DEATH(encode(CopyLinear{0, kS, kD}, out), "bytes is 0");
  EXPECT_DEATH(encode(Packet{CopySwap{4096, kD + 32, kS}}, out), "a is not 64-byte aligned");
}

}  // namespace encode_test
}  // namespace cortado::sdma
