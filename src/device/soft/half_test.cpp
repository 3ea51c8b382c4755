#include "device/soft/half.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace cortado::device::soft {
namespace {

TEST(Half, EveryF16SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_f16(half);
    if ((bits & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(from_f16(to_f16(value))));
    } else {
      ASSERT_EQ(to_f16(value), half) << bits;
    }
  }
}

TEST(Half, F16ValuesByTheFormat) {
  EXPECT_EQ(from_f16(0x3c00), 1.0f);
  EXPECT_EQ(from_f16(0xc000), -2.0f);
  EXPECT_EQ(from_f16(0x7bff), 65504.0f);  // largest: (2 - 2^-10) * 2^15
  EXPECT_EQ(from_f16(0x0001), 0x1p-24f);  // smallest subnormal
  EXPECT_EQ(from_f16(0x0400), 0x1p-14f);  // smallest normal
  EXPECT_EQ(from_f16(0x7c00), std::numeric_limits<float>::infinity());
}

TEST(Half, F16RoundsToNearestTiesToEven) {
  // Between 1 (even) and 1 + 2^-10 (odd) the tie 1 + 2^-11 goes down; from the odd one the next tie goes up.
  EXPECT_EQ(to_f16(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(to_f16(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(to_f16(65520.0f), 0x7c00);  // halfway to 65536, which is infinity
  EXPECT_EQ(to_f16(0x1p-25f), 0x0000);  // tie between 0 and the smallest subnormal
  EXPECT_EQ(to_f16(0x1.8p-25f), 0x0001);
  EXPECT_EQ(to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(to_f16(-0.0f), 0x8000);
}

TEST(Half, EveryBf16SurvivesAndRoundsToEven) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_bf16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_bf16(to_bf16(value))));
    } else {
      ASSERT_EQ(to_bf16(value), half) << bits;
    }
  }
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f), 0x3f80);      // tie, down to even
  EXPECT_EQ(to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);  // tie, up to even
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace cortado::device::soft
