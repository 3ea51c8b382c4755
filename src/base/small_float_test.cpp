#include "base/small_float.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace cortado {
namespace small_float_test {

TEST(SmallFloat, EveryF16SurvivesTheWayThroughFloat) {
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

TEST(SmallFloat, F16ValuesByTheFormat) {
  EXPECT_EQ(from_f16(0x3c00), 1.0f);
  EXPECT_EQ(from_f16(0xc000), -2.0f);
  EXPECT_EQ(from_f16(0x7bff), 65504.0f);  // largest: (2 - 2^-10) * 2^15
  EXPECT_EQ(from_f16(0x0001), 0x1p-24f);  // smallest subnormal
  EXPECT_EQ(from_f16(0x0400), 0x1p-14f);  // smallest normal
  EXPECT_EQ(from_f16(0x7c00), std::numeric_limits<float>::infinity());
}

TEST(SmallFloat, F16RoundsToNearestTiesToEven) {
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

TEST(SmallFloat, EveryBf16SurvivesAndRoundsToEven) {
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

TEST(SmallFloat, EveryF8SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    const auto small = static_cast<std::uint8_t>(bits);
    const float value = from_f8(small);
    EXPECT_EQ(std::isnan(value), bits == 0x80);
    ASSERT_EQ(to_f8(value), small) << bits;
  }
}

TEST(SmallFloat, F8ValuesByTheFormat) {
  EXPECT_EQ(from_f8(0x40), 1.0f);      // 0 1000 000: 2^(8 - 8)
  EXPECT_EQ(from_f8(0x01), 0x1p-10f);  // smallest subnormal: 2^(1 - 8) / 8
  EXPECT_EQ(from_f8(0x08), 0x1p-7f);   // smallest normal
  EXPECT_EQ(from_f8(0x7f), 240.0f);    // 1.875 * 2^(15 - 8)
  EXPECT_EQ(from_f8(0xff), -240.0f);
  EXPECT_EQ(to_f8(-3.0f), 0xcc);  // 1.5 * 2: 1 1001 100
}

TEST(SmallFloat, F8RoundsToNearestTiesToEvenAndSaturates) {
  // From 16 on the unit is 2: 17 is a tie between 16 (even fraction 000) and 18 (001), 19 between 18 and 20 (010).
  EXPECT_EQ(from_f8(to_f8(17.0f)), 16.0f);
  EXPECT_EQ(from_f8(to_f8(17.1f)), 18.0f);
  EXPECT_EQ(from_f8(to_f8(19.0f)), 20.0f);
  EXPECT_EQ(from_f8(to_f8(0x1p-11f)), 0.0f);  // tie between 0 and the smallest
  EXPECT_EQ(from_f8(to_f8(0x1.8p-11f)), 0x1p-10f);
  EXPECT_EQ(from_f8(to_f8(0x1.fp-8f)), 0x1p-7f);  // 7.75 units of 2^-10: up to the smallest normal
  EXPECT_EQ(from_f8(to_f8(1e9f)), 240.0f);
  EXPECT_EQ(from_f8(to_f8(-std::numeric_limits<float>::infinity())), -240.0f);
  EXPECT_EQ(to_f8(-0.0f), 0x00);
  EXPECT_EQ(to_f8(-0x1p-12f), 0x00);  // no negative zero
  EXPECT_EQ(to_f8(std::numeric_limits<float>::quiet_NaN()), 0x80);
}

}  // namespace small_float_test
}  // namespace cortado
