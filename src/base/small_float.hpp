// Small floating point: conversions between the bits of f16, bf16 and f8 and float, rounding to nearest, ties to even.
//
// f8 is E4M3 FNUZ: 4 bits of exponent with bias 8 and 3 of fraction, no infinity and no negative zero; 0x80 is the only
// NaN. Its largest value is 1.875 * 2^7 = 240; anything larger becomes 240.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace cortado {

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>((bits >> 16) | 0x40);  // stays a quiet NaN
  const std::uint32_t tie_to_even = (bits >> 16) & 1;
  return static_cast<std::uint16_t>((bits + 0x7fff + tie_to_even) >> 16);
}

inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
  // Zero and subnormals are fraction * 2^-24 exactly.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 65520 and above round to infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14: adding 0.5 aligns the unit 2^-24 with the last bit of a float, which gives the desired rounding.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(aligned) - 0x3f000000));
  }
  const std::uint32_t tie_to_even = magnitude >> 13 & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude - ((127 - 15) << 23) + 0xfff + tie_to_even) >> 13));
}

inline float from_f8(std::uint8_t bits) {
  if (bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t sign = std::uint32_t{bits} >> 7 << 31;
  const std::uint32_t exponent = (bits >> 3) & 0xf;
  const std::uint32_t fraction = bits & 0x7;
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 127 - 8) << 23 | fraction << 20);
  // Zero and subnormals are fraction * 2^-10 exactly.
  const float magnitude = static_cast<float>(fraction) * 0x1p-10f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

inline std::uint8_t to_f8(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t kInfinity = 0x7f800000;
  constexpr std::uint32_t kLargest = 0x43700000;         // 240
  constexpr std::uint32_t kSmallestNormal = 0x3c000000;  // 2^-7
  if ((bits & 0x7fffffff) > kInfinity) return 0x80;
  const std::uint32_t magnitude = std::min(bits & 0x7fffffff, kLargest);
  std::uint32_t code = 0;
  if (magnitude < kSmallestNormal) {
    // Adding 2^13 aligns the unit 2^-10 with the last bit of a float, which gives the desired rounding.
    code = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p13f) - 0x46000000;
  } else {
    const std::uint32_t tie_to_even = magnitude >> 20 & 1;
    code = (magnitude - ((127 - 8) << 23) + 0x7ffff + tie_to_even) >> 20;
  }
  return static_cast<std::uint8_t>(code == 0 ? 0 : (bits >> 24 & 0x80) | code);
}

// How an element type is stored in memory (Stored), the type used for computing (Wide), and the conversions between
// them.
template <class T>
struct PlainElement {
  using Stored = T;
  using Wide = T;
  static Wide widen(Stored value) { return value; }
  static Stored narrow(Wide value) { return value; }
};
struct F16Element {
  using Stored = std::uint16_t;
  using Wide = float;
  static Wide widen(Stored bits) { return from_f16(bits); }
  static Stored narrow(Wide value) { return to_f16(value); }
};
struct Bf16Element {
  using Stored = std::uint16_t;
  using Wide = float;
  static Wide widen(Stored bits) { return from_bf16(bits); }
  static Stored narrow(Wide value) { return to_bf16(value); }
};
struct F8Element {
  using Stored = std::uint8_t;
  using Wide = float;
  static Wide widen(Stored bits) { return from_f8(bits); }
  static Stored narrow(Wide value) { return to_f8(value); }
};

}  // namespace cortado
