// The input pattern: what a caller writes into its inputs, as a pure function of seed, iteration, buffer and offset.
//
// Expected outputs are computed from this function and the contract alone, never from device memory, so nothing that
// happens on the device can make a wrong output look right.
//
// Raw bytes: 8-byte word i of a buffer is mix(i ^ key) xor (iteration mod 256) in every byte, where key depends on seed
// and buffer and
//   mix(x) = y ^ (y >> 32),  y = x * odd constant.
// All words of a buffer differ, buffers differ, and every byte differs from the same byte of the 255 previous
// iterations: stale data is never mistaken for fresh data.
//
// Small integers: buffers that are summed or multiplied as floating point hold integers in that type, small enough that
// every order of additions gives the same bytes. Let E be the largest integer up to which the type represents all
// integers exactly (f8: 2^4, bf16: 2^8, f16: 2^11, f32: 2^24).
//   - The N terms of a sum are 0 .. bound with bound = min(256, E) / N: sums stay below E.
//   - The factors of a GEMM with k terms are 0 .. bound with bound = sqrt(E / k), at most 8. Where even 1 is too much,
//     all are 0 except for one 1 per `period` elements, period = 2 sqrt(k / E): elements of the GEMM are then E / 4 on
//     average, and few exceed E. Those have a tolerance; see product_check.hpp, also for how it is checked.
// Inputs of a formula are (number - 128) / 256 with numbers 0 .. 256: both signs, and small enough for softmax. They
// also change with the iteration. Sums of u8 and i32 wrap and are the same in every order for any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado::device {

/// The largest sum of small integers.
inline constexpr std::uint32_t kMaxSum = 256;

/// E: all integers up to this are exact in the floating-point type.
constexpr std::uint32_t exact_integers(DType dtype) {
  switch (dtype) {
    case DType::f8:
      return 1U << 4;
    case DType::bf16:
      return 1U << 8;
    case DType::f16:
      return 1U << 11;
    default:
      return 1U << 24;
  }
}

/// The contents of the elements of a buffer.
struct ElementFormat {
  DType dtype = DType::u8;   ///< floating point: small integers; otherwise raw bytes
  std::uint32_t bound = 0;   ///< integers 0 .. bound
  std::uint32_t period = 0;  ///< numbers are drawn from 0 .. period - 1; those above the bound become 0
  bool centred = false;      ///< (integer - bound / 2) / bound

  bool small_integers() const { return is_float(dtype); }
  friend bool operator==(const ElementFormat&, const ElementFormat&) = default;
};

/// Factors of a GEMM whose elements are sums of k terms.
ElementFormat factor_format(DType dtype, std::uint64_t k);

/// The format of every buffer, from the sums and GEMMs of the contract and, for what the contract does not name,
/// from the multiplications of the commands. Fails (device.pattern) if one buffer is used as two floating-point types,
/// a region does not consist of whole aligned elements, or a sum has too many terms to be exact.
Result<std::vector<ElementFormat>> element_formats(const Program& program);

/// Bits of a number in a floating-point type, rounded to nearest, and the inverse.
std::uint32_t element_bits(DType dtype, float value);
float element_value(DType dtype, const std::byte* element);

/// The bytes of one buffer in one iteration.
class BufferPattern {
 public:
  BufferPattern(std::uint64_t seed, std::uint64_t iteration, BufferId buffer, ElementFormat format);

  /// The bytes from `offset` on, any offset and length.
  void bytes(std::uint64_t offset, std::span<std::byte> out) const;

  /// Adds the small integers from byte `offset` on to `sums`.
  void add_integers(std::uint64_t offset, std::span<std::uint16_t> sums) const;

 private:
  std::uint64_t word(std::uint64_t index) const {
    const std::uint64_t y = (index ^ key_) * 0x9e3779b97f4a7c15ULL;
    return y ^ (y >> 32);
  }
  std::uint32_t integer(std::uint64_t index) const {
    const std::uint64_t base = ((word(index) & 0xffff'ffff) * format_.period) >> 32;
    const std::uint32_t sum = static_cast<std::uint32_t>(base) + turn_;
    const std::uint32_t value = sum >= format_.period ? sum - format_.period : sum;
    return value > format_.bound ? 0 : value;
  }
  float number(std::uint32_t integer) const {
    const auto value = static_cast<float>(integer);
    const auto bound = static_cast<float>(format_.bound);
    return format_.centred ? (value - bound / 2) / bound : value;
  }

  std::uint64_t key_;
  std::uint64_t iteration_bytes_;  // the iteration in every byte
  std::uint32_t turn_;             // the iteration modulo the period
  ElementFormat format_;
};

}  // namespace cortado::device
