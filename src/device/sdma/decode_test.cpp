#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/packets.hpp"

#include "device/sdma/testing/golden.hpp"

namespace cortado::sdma {
namespace decode_test {

using golden::kD;
using golden::kF;
using testing::HasSubstr;

const std::vector<std::uint32_t>& golden_dwords(const std::string& name) {
  static const std::vector<golden::Vector> all = golden::vectors();
  for (const golden::Vector& vector : all) {
    if (vector.name == name) return vector.dwords;
  }
  ADD_FAILURE() << "no golden vector " << name;
  return all.front().dwords;
}

/// The golden vector with `bits` set in dword `dword`.
std::vector<std::uint32_t> with_bits(const std::string& name, std::size_t dword, std::uint32_t bits) {
  std::vector<std::uint32_t> words = golden_dwords(name);
  words.at(dword) |= bits;
  return words;
}

void expect_error(const std::vector<std::uint32_t>& words, DecodeErrorKind kind, const std::string& message) {
  const auto outcome = decode(words);
  ASSERT_FALSE(outcome.has_value()) << to_string(outcome->packet);
  EXPECT_EQ(outcome.error().kind, kind) << outcome.error().message;
  EXPECT_EQ(outcome.error().header, words.at(0));
  EXPECT_THAT(outcome.error().message, HasSubstr(message));
}

TEST(Decode, ReadsTheGoldenVectors) {
  for (const golden::Vector& vector : golden::vectors()) {
    std::vector<std::uint32_t> words = vector.dwords;
    words.push_back(0xffffffff);  // what follows is ignored
    const auto outcome = decode(words);
    ASSERT_TRUE(outcome.has_value()) << vector.name << ": " << outcome.error().message;
    EXPECT_EQ(outcome->packet, vector.packet) << vector.name;
    EXPECT_EQ(outcome->dwords, vector.dwords.size()) << vector.name;
  }
}

// The span lives in a heap block of its exact size, so that an address sanitizer sees any read past it.
TEST(Decode, TruncatedAtEveryLengthSaysWhatIsMissing) {
  for (const golden::Vector& vector : golden::vectors()) {
    for (std::size_t length = 0; length < vector.dwords.size(); ++length) {
      const auto words = std::make_unique<std::uint32_t[]>(length);
      std::copy_n(vector.dwords.begin(), length, words.get());
      const auto outcome = decode({words.get(), length});
      ASSERT_FALSE(outcome.has_value()) << vector.name << " cut to " << length;
      EXPECT_EQ(outcome.error().kind, DecodeErrorKind::truncated) << vector.name;
      EXPECT_GT(outcome.error().needed_dwords, length) << vector.name;
      EXPECT_LE(outcome.error().needed_dwords, vector.dwords.size()) << vector.name;
    }
  }
}

TEST(Decode, AcceptsBothEncodingsOfAConstFill) {
  std::vector<std::uint32_t> words = golden_dwords("const_fill");
  words[4] = 0x00000ffc;  // ROCr: (dwords - 1) * 4
  EXPECT_EQ(decode(words)->packet, Packet(ConstFill{kD, 0xdeadbeef, 2, 1024}));
}

TEST(Decode, IgnoresThePayloadOfANop) {
  const std::vector<std::uint32_t> words{0x00020000, 0xdeadbeef, 0xffffffff};
  const auto outcome = decode(words);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->packet, Packet(Nop{2}));
  EXPECT_EQ(outcome->dwords, 3U);
}

// Every bit means something: flipping it gives an error or another packet. The exceptions have no meaning in the
// format: the payload of a NOP, and the low bits of the count of a CONST_FILL, in which the two encodings in use
// differ.
TEST(Decode, NoBitIsSilentlyIgnored) {
  for (const golden::Vector& vector : golden::vectors()) {
    for (std::size_t dword = 0; dword < vector.dwords.size(); ++dword) {
      if (std::holds_alternative<Nop>(vector.packet) && dword > 0) continue;
      for (unsigned bit = 0; bit < 32; ++bit) {
        if (std::holds_alternative<ConstFill>(vector.packet) && dword == 4 && bit < 2) continue;
        std::vector<std::uint32_t> words = vector.dwords;
        words[dword] ^= 1U << bit;
        words.resize(words.size() + 0x4001);  // room, should a count have grown
        const auto outcome = decode(words);
        if (outcome.has_value()) {
          EXPECT_NE(outcome->packet, vector.packet) << vector.name << " dword " << dword << " bit " << bit;
        }
      }
    }
  }
}

TEST(Decode, ReservedBitsNameTheField) {
  const auto kind = DecodeErrorKind::reserved_bits;
  expect_error(with_bits("copy_4KiB", 0, 1U << 16), kind, "COPY linear: encrypt not supported: dword 0 is 0x00010001");
  expect_error(with_bits("copy_4KiB", 0, 1U << 18), kind, "COPY linear: tmz");
  expect_error(with_bits("copy_4KiB", 2, 1U << 24), kind, "COPY linear: src_sw (endian swap)");
  expect_error(with_bits("copy_4KiB", 1, 1U << 30), kind, "COPY linear: reserved bits");
  expect_error(with_bits("broadcast", 2, 1U << 10), kind, "COPY broadcast: dst2_cache (cache policy)");
  expect_error(with_bits("swap", 2, 1U << 26), kind, "COPY swap: src_cache (cache policy)");
  expect_error(with_bits("window", 0, 1U << 29), kind, "COPY linear sub-window: element size above 16 bytes");
  expect_error(with_bits("window", 12, 1U << 16), kind, "COPY linear sub-window: dst_sw (endian swap)");
  expect_error(with_bits("add", 0, 0x0f000000), kind, "COPY add (private): element type");
  expect_error(with_bits("write", 3, 1U << 20), kind, "WRITE linear: count beyond 20 bits");
  expect_error(with_bits("const_fill", 0, 1U << 16), kind, "CONST_FILL: sw (endian swap)");
  expect_error(with_bits("const_fill", 0, 3U << 30), kind, "CONST_FILL: element size of 8 bytes");
  expect_error(with_bits("fence", 0, 1U << 16), kind, "FENCE: memory type");
  expect_error(with_bits("poll_eq", 0, 7U << 28), kind, "POLL_REGMEM: function 7");
  expect_error(with_bits("atomic_increment", 0, 1U << 18), kind, "ATOMIC: tmz");
}

TEST(Decode, PartOfAnElementIsRefused) {
  std::vector<std::uint32_t> words = golden_dwords("add");
  words[1] = 4096 - 2;  // 4095 bytes of f32
  expect_error(words, DecodeErrorKind::reserved_bits, "part of an element");
}

TEST(Decode, MisalignedAddressesAreNamed) {
  const auto kind = DecodeErrorKind::misaligned;
  expect_error(with_bits("swap", 3, 0x20), kind, "COPY swap: address 0x7e0000001020 is not 64-byte aligned");
  expect_error(with_bits("swap", 5, 0x01), kind, "is not 64-byte aligned");
  expect_error(with_bits("write", 1, 0x2), kind, "is not 4-byte aligned");
  expect_error(with_bits("fence", 1, 0x2), kind, "is not 4-byte aligned");
  expect_error(with_bits("poll_ge", 1, 0x1), kind, "is not 4-byte aligned");
  expect_error(with_bits("atomic_increment", 1, 0x4), kind, "is not 8-byte aligned");
  expect_error(with_bits("timestamp", 1, 0x4), kind, "is not 8-byte aligned");
  expect_error(with_bits("cond_exe", 1, 0x2), kind, "is not 4-byte aligned");
  expect_error(with_bits("indirect", 1, 0x10), kind, "is not 32-byte aligned");
  EXPECT_EQ(decode(with_bits("fence", 1, 0x2)).error().address, kF + 2);
}

TEST(Decode, AtomicOperationOf32BitsTakesA4ByteAlignedAddress) {
  // Operation 0x0f is add of 32 bits: 0x0f << 25.
  const std::vector<std::uint32_t> words{0x1e00000a, 0xaabbcc44, 0x00007d00, 1, 0, 0, 0, 0};
  EXPECT_EQ(decode(words)->packet, Packet(Atomic{.operation = 0x0f, .address = kF + 4, .data = 1}));
}

TEST(Decode, RegisterPollsKeepTheirTwoOffsets) {
  // The kernel's flush: done register 0x4, request register 0x8, both as byte offsets, equal, hdp_flush.
  const std::vector<std::uint32_t> words{0x34000008, 0x4, 0x8, 1, 1, 0x0fff000a};
  const PollRegmem expected{false, true, PollFunction::eq, 0x0000000800000004, 1, 1, 10, 0xfff};
  EXPECT_EQ(decode(words)->packet, Packet(expected));
}

TEST(Decode, UnsupportedPacketsAreNamed) {
  const auto op = DecodeErrorKind::unknown_opcode;
  const auto sub = DecodeErrorKind::unknown_sub_opcode;
  expect_error({0x00000003}, op, "opcode 0x03: unknown");
  expect_error({0x000000ff}, op, "opcode 0xff: unknown");
  expect_error({0x00000007}, op, "SEMAPHORE: not supported");
  expect_error({0x0000000c}, op, "PTEPDE (kernel only): not supported");
  expect_error({0x0000000e}, op, "SRBM_WRITE (kernel only): not supported");
  expect_error({0x00000111}, op, "GCR (gfx10 and later): not supported");
  expect_error({0x00000101}, sub, "COPY tiled: not supported");
  expect_error({0x00000a01}, sub, "COPY multicast (gfx125x): not supported");
  expect_error({0x00002401}, sub, "COPY large linear sub-window: not supported");
  expect_error({0x00000201}, sub, "COPY sub-opcode 0x02: unknown");
  expect_error({0x00000102}, sub, "WRITE tiled: not supported");
  expect_error({0x00000205}, sub, "FENCE of 64 bits (gfx125x): not supported");
  expect_error({0x00000508}, sub, "POLL_REGMEM of 64 bits (gfx125x): not supported");
  expect_error({0x0000010b}, sub, "CONST_FILL multi fill: not supported");
  expect_error({0x0000030d}, sub, "TIMESTAMP sub-opcode 0x03: unknown");
  expect_error({0x00000100}, sub, "NOP sub-opcode 0x01: unknown");
}

}  // namespace decode_test
}  // namespace cortado::sdma
