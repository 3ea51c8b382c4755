#include "device/executor/pattern.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "cortado/ir/builder.hpp"

namespace cortado::device {
namespace {

std::vector<std::byte> bytes_of(const BufferPattern& pattern, std::uint64_t offset, std::size_t count) {
  std::vector<std::byte> out(count);
  pattern.bytes(offset, out);
  return out;
}

constexpr ElementFormat kRaw{};

TEST(Pattern, IsTheSameHoweverItIsCutIntoPieces) {
  const BufferPattern pattern(7, 3, BufferId{2}, kRaw);
  const std::vector<std::byte> whole = bytes_of(pattern, 0, 64);
  for (std::size_t offset = 0; offset < 20; ++offset) {
    for (std::size_t count = 0; count < 40; ++count) {
      const std::vector<std::byte> piece = bytes_of(pattern, offset, count);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)))
          << offset << "+" << count;
    }
  }
}

TEST(Pattern, WordsOfABufferAndOfOtherBuffersAllDiffer) {
  std::set<std::uint64_t> seen;
  for (std::uint32_t buffer = 0; buffer < 4; ++buffer) {
    std::vector<std::uint64_t> words(10'000);
    BufferPattern(1, 0, BufferId{buffer}, kRaw).bytes(0, std::as_writable_bytes(std::span(words)));
    seen.insert(words.begin(), words.end());
  }
  EXPECT_EQ(seen.size(), 40'000U);
}

TEST(Pattern, EveryByteDiffersFromTheIterationsBefore) {
  const std::vector<std::byte> now = bytes_of({9, 255, BufferId{0}, kRaw}, 0, 1024);
  for (std::uint64_t before = 0; before < 255; ++before) {
    const std::vector<std::byte> then = bytes_of({9, before, BufferId{0}, kRaw}, 0, 1024);
    for (std::size_t i = 0; i < now.size(); ++i) ASSERT_NE(now[i], then[i]) << "iteration " << before << " byte " << i;
  }
}

TEST(Pattern, DependsOnTheSeed) {
  EXPECT_NE(bytes_of({1, 0, BufferId{0}, kRaw}, 0, 64), bytes_of({2, 0, BufferId{0}, kRaw}, 0, 64));
}

// f16: 1 = 0 01111 0000000000 = 0x3c00, 3 = 1.5 * 2 = 0 10000 1000000000 = 0x4200, 256 = 2^8: exponent 8 + 15 = 23,
// 0 10111 0000000000 = 0x5c00. bf16 is the upper half of f32: 1 = 0x3f80, 3 = 0x4040, 255 = 1.9921875 * 2^7 = 0x437f.
TEST(SmallIntegers, HaveTheBitsOfTheirType) {
  EXPECT_EQ(small_integer_bits(DType::f16, 0), 0U);
  EXPECT_EQ(small_integer_bits(DType::f16, 1), 0x3c00U);
  EXPECT_EQ(small_integer_bits(DType::f16, 3), 0x4200U);
  EXPECT_EQ(small_integer_bits(DType::f16, 256), 0x5c00U);
  EXPECT_EQ(small_integer_bits(DType::bf16, 1), 0x3f80U);
  EXPECT_EQ(small_integer_bits(DType::bf16, 3), 0x4040U);
  EXPECT_EQ(small_integer_bits(DType::bf16, 255), 0x437fU);
  for (std::uint32_t value = 0; value <= kMaxSum; ++value) {
    EXPECT_EQ(std::bit_cast<float>(small_integer_bits(DType::bf16, value) << 16), static_cast<float>(value));
  }
}

TEST(SmallIntegers, UseAllValuesUpToTheBoundAndNoOther) {
  constexpr std::uint32_t kBound = 5;
  std::array<float, 4096> values{};
  BufferPattern(1, 17, BufferId{0}, {DType::f32, kBound}).bytes(0, std::as_writable_bytes(std::span(values)));
  const std::set<float> seen(values.begin(), values.end());
  EXPECT_EQ(seen, (std::set<float>{0, 1, 2, 3, 4, 5}));
}

TEST(SmallIntegers, SumsAndBytesComeFromTheSameIntegers) {
  const BufferPattern pattern(1, 4, BufferId{3}, {DType::f32, 32});
  std::array<float, 100> values{};
  pattern.bytes(40, std::as_writable_bytes(std::span(values)));
  std::array<std::uint16_t, 100> sums{};
  sums.fill(7);
  pattern.add_integers(40, sums);
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(static_cast<float>(sums[i]), values[i] + 7);
}

Program two_inputs_summed(DType dtype, std::size_t terms) {
  ProgramBuilder builder("sum", "test", 1);
  const BufferId out = builder.buffer("out", RankId{0}, 64_B, BufferRole::output);
  Contract contract{"sum", {}};
  Clause clause{make_region(out, 0_B, 64_B), {}, dtype};
  for (std::size_t i = 0; i < terms; ++i) {
    clause.terms.push_back(
        make_region(builder.buffer("in" + std::to_string(i), RankId{0}, 64_B, BufferRole::input), 0_B, 64_B));
  }
  contract.clauses.push_back(clause);
  builder.contract(contract);
  return std::move(builder).finish();
}

// 256 / 8 = 32: the sum of eight such elements is at most 256.
TEST(ElementFormats, BoundTheTermsOfFloatingPointSums) {
  const auto formats = element_formats(two_inputs_summed(DType::bf16, 8));
  ASSERT_TRUE(formats);
  EXPECT_EQ((*formats)[1], (ElementFormat{DType::bf16, 32}));
  EXPECT_EQ((*formats)[0], ElementFormat{}) << "outputs are not inputs";
}

TEST(ElementFormats, LeaveWrappingSumsAndCopiesRaw) {
  EXPECT_EQ((*element_formats(two_inputs_summed(DType::i32, 2)))[1], ElementFormat{});
  EXPECT_EQ((*element_formats(two_inputs_summed(DType::f32, 1)))[1], ElementFormat{});
}

TEST(ElementFormats, RefuseABufferOfTwoFloatingPointTypes) {
  Program program = two_inputs_summed(DType::f32, 2);
  Clause other = program.contract.clauses[0];
  other.dtype = DType::f16;
  program.contract.clauses.push_back(other);
  const auto formats = element_formats(program);
  ASSERT_FALSE(formats);
  EXPECT_EQ(formats.error().code, "device.pattern");
  EXPECT_NE(formats.error().message.find("in0"), std::string::npos) << formats.error().message;
}

TEST(ElementFormats, RefuseElementsThatAreNotWhole) {
  Program program = two_inputs_summed(DType::f32, 2);
  for (Region& term : program.contract.clauses[0].terms) term = make_region(term.buffer, 2_B, 60_B);
  EXPECT_FALSE(element_formats(program));
}

}  // namespace
}  // namespace cortado::device
