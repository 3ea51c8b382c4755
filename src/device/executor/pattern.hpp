// The input pattern: what a caller writes into its inputs, as a pure function of seed, iteration, buffer and offset.
//
// Expected outputs are computed from this function and the contract alone, never from device memory, so nothing that
// happens on the device can make a wrong output look right.
//
// Raw bytes: 8-byte word i of a buffer is mix(i ^ key) xor (iteration mod 256) in every byte, with a key of seed and
// buffer and
//   mix(x) = y ^ (y >> 32),  y = x * odd constant.
// All words of a buffer differ, buffers differ, and every byte differs from the same byte of the 255 iterations before:
// stale data never passes for fresh.
//
// Small integers: buffers that are summed as f16, bf16 or f32 hold integers 0 .. bound in that type, with
// bound = 256 / terms. Sums are at most 256, which even bf16 (8 bits of significand) holds exactly, so every order of
// additions gives the same bytes. Sums of u8 and i32 wrap and are the same in every order for any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/ir/program.hpp"

namespace cortado::device {

/// The largest sum of small integers.
inline constexpr std::uint32_t kMaxSum = 256;

/// What the elements of a buffer are.
struct ElementFormat {
  DType dtype = DType::u8;  ///< f16, bf16 or f32: small integers; else raw bytes
  std::uint32_t bound = 0;

  bool small_integers() const { return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32; }
  friend bool operator==(const ElementFormat&, const ElementFormat&) = default;
};

/// The format of every buffer, from the sums of the contract and, for what the contract does not name, from the
/// multiplications and sums of the commands. Fails (device.pattern) if one buffer is summed as two floating-point
/// types, or a summed region does not consist of whole aligned elements.
Result<std::vector<ElementFormat>> element_formats(const Program& program);

/// Bits of a small integer 0 .. kMaxSum in a floating-point type.
std::uint32_t small_integer_bits(DType dtype, std::uint32_t value);

/// The bytes of one buffer in one iteration.
class BufferPattern {
 public:
  BufferPattern(std::uint64_t seed, std::uint64_t iteration, BufferId buffer, ElementFormat format);

  /// The bytes from `offset` on. Any offset and length for raw bytes; whole elements for small integers.
  void bytes(std::uint64_t offset, std::span<std::byte> out) const;

  /// Adds the small integers from byte `offset` on to `sums`.
  void add_integers(std::uint64_t offset, std::span<std::uint16_t> sums) const;

 private:
  std::uint64_t word(std::uint64_t index) const {
    const std::uint64_t y = (index ^ key_) * 0x9e3779b97f4a7c15ULL;
    return y ^ (y >> 32);
  }
  std::uint32_t integer(std::uint64_t index) const {
    const std::uint64_t base = ((word(index) & 0xffff'ffff) * (format_.bound + 1)) >> 32;
    const auto value = static_cast<std::uint32_t>(base) + turn_;
    return value > format_.bound ? value - format_.bound - 1 : value;
  }

  std::uint64_t key_;
  std::uint64_t iteration_bytes_;  // the iteration in every byte
  std::uint32_t turn_;             // the iteration modulo bound + 1
  ElementFormat format_;
};

}  // namespace cortado::device
