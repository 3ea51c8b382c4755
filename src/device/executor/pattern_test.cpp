#include "device/executor/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado::device {
namespace pattern_test {

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
  EXPECT_EQ(element_bits(DType::f16, 0), 0U);
  EXPECT_EQ(element_bits(DType::f16, 1), 0x3c00U);
  EXPECT_EQ(element_bits(DType::f16, 3), 0x4200U);
  EXPECT_EQ(element_bits(DType::f16, 256), 0x5c00U);
  EXPECT_EQ(element_bits(DType::bf16, 1), 0x3f80U);
  EXPECT_EQ(element_bits(DType::bf16, 3), 0x4040U);
  EXPECT_EQ(element_bits(DType::bf16, 255), 0x437fU);
  EXPECT_EQ(element_bits(DType::f8, 3), 0x4cU);  // 1.5 * 2 with bias 8: 0 1001 100
  for (const DType dtype : {DType::f8, DType::bf16, DType::f16, DType::f32}) {
    for (std::uint32_t value = 0; value <= std::min(exact_integers(dtype), 1U << 12); ++value) {
      const std::uint32_t bits = element_bits(dtype, static_cast<float>(value));
      EXPECT_EQ(element_value(dtype, reinterpret_cast<const std::byte*>(&bits)), static_cast<float>(value));
    }
    const float next = static_cast<float>(exact_integers(dtype)) + 1;  // the first integer that is not exact
    const std::uint32_t bits = element_bits(dtype, next);
    EXPECT_EQ(element_value(dtype, reinterpret_cast<const std::byte*>(&bits)),
              static_cast<float>(exact_integers(dtype)));
  }
}

TEST(SmallIntegers, UseAllValuesUpToTheBoundAndNoOther) {
  constexpr std::uint32_t kBound = 5;
  std::array<float, 4096> values{};
  BufferPattern(1, 17, BufferId{0}, {DType::f32, kBound, kBound + 1})
      .bytes(0, std::as_writable_bytes(std::span(values)));
  const std::set<float> seen(values.begin(), values.end());
  EXPECT_EQ(seen, (std::set<float>{0, 1, 2, 3, 4, 5}));
}

TEST(SmallIntegers, AreFewWhereThePeriodIsLong) {
  // One in ten is 1; with 10000 elements 1000 are expected, give or take 30.
  std::array<float, 10'000> values{};
  const auto draw = [&](std::uint64_t iteration) {
    BufferPattern(1, iteration, BufferId{0}, {DType::f32, 1, 10}).bytes(0, std::as_writable_bytes(std::span(values)));
    std::set<std::size_t> ones;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 1) ones.insert(i);
    }
    return ones;
  };
  const std::set<std::size_t> now = draw(3);
  EXPECT_EQ(std::set<float>(values.begin(), values.end()), (std::set<float>{0, 1}));
  EXPECT_GT(now.size(), 800U);
  EXPECT_LT(now.size(), 1200U);
  for (const std::size_t i : draw(4)) EXPECT_FALSE(now.contains(i)) << "the next iteration has them elsewhere";
}

TEST(SmallIntegers, AreTheSameHoweverTheyAreCutIntoPieces) {
  const BufferPattern pattern(7, 3, BufferId{2}, {DType::f32, 8, 9});
  const std::vector<std::byte> whole = bytes_of(pattern, 0, 64);
  for (std::size_t offset = 0; offset < 10; ++offset) {
    for (std::size_t count = 0; count < 20; ++count) {
      const std::vector<std::byte> piece = bytes_of(pattern, offset, count);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)))
          << offset << "+" << count;
    }
  }
}

TEST(SmallIntegers, SumsAndBytesComeFromTheSameIntegers) {
  const BufferPattern pattern(1, 4, BufferId{3}, {DType::f32, 32, 33});
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
  EXPECT_EQ((*formats)[1], (ElementFormat{DType::bf16, 32, 33}));
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

TEST(ElementFormats, RefuseSumsOfMoreTermsThanTheTypeCounts) {
  EXPECT_EQ((*element_formats(two_inputs_summed(DType::f8, 8)))[1], (ElementFormat{DType::f8, 2, 3}));  // 16 / 8
  EXPECT_TRUE(element_formats(two_inputs_summed(DType::f8, 16)));
  const auto formats = element_formats(two_inputs_summed(DType::f8, 17));
  ASSERT_FALSE(formats);
  EXPECT_EQ(formats.error().code, "device.pattern");
}

TEST(ElementFormats, FactorsKeepProductsExact) {
  EXPECT_EQ(factor_format(DType::f32, 1024), (ElementFormat{DType::f32, 8, 9}));      // 1024 * 64 < 2^24
  EXPECT_EQ(factor_format(DType::f32, 1U << 20), (ElementFormat{DType::f32, 4, 5}));  // sqrt(2^24 / 2^20)
  EXPECT_EQ(factor_format(DType::bf16, 16), (ElementFormat{DType::bf16, 4, 5}));      // sqrt(2^8 / 16)
  // Too many terms for ones everywhere: 8192 / P^2 = 256 / 4 for P = 11.3, and 16 / 4 for P = 45.3.
  EXPECT_EQ(factor_format(DType::bf16, 8192), (ElementFormat{DType::bf16, 1, 12}));
  EXPECT_EQ(factor_format(DType::f8, 8192), (ElementFormat{DType::f8, 1, 46}));
}

TEST(ElementFormats, FactorsOfTwoProductsSuitBoth) {
  // `a` is multiplied over k = 4 and over k = 8, and so are b0 and b1.
  ProgramBuilder builder("products", "test", 1);
  const BufferId a = builder.buffer("a", RankId{0}, 64_B, BufferRole::input);
  const BufferId b0 = builder.buffer("b0", RankId{0}, 64_B, BufferRole::input);
  const BufferId b1 = builder.buffer("b1", RankId{0}, 64_B, BufferRole::input);
  const BufferId c = builder.buffer("c", RankId{0}, 64_B, BufferRole::output);
  Contract contract{"products", {}, {}};
  contract.products.push_back(
      {{c, 0_B, 1_B, 1, {}}, {{{make_region(a, 0_B, 4_B)}, {b0, 0_B, 1_B, 4, 1_B}}}, DType::f8});
  contract.products.push_back(
      {{c, 1_B, 1_B, 1, {}}, {{{make_region(a, 0_B, 8_B)}, {b1, 0_B, 1_B, 8, 1_B}}}, DType::f8});
  builder.contract(contract);
  Program program = std::move(builder).finish();
  const auto formats = element_formats(program);
  ASSERT_TRUE(formats);
  EXPECT_EQ((*formats)[0], (ElementFormat{DType::f8, 1, 2}));  // sqrt(16 / 8) = 1.4
  EXPECT_EQ((*formats)[1], (ElementFormat{DType::f8, 2, 3}));  // sqrt(16 / 4) = 2
  EXPECT_EQ((*formats)[2], (ElementFormat{DType::f8, 1, 2}));
  program.contract.products[1].dtype = DType::f16;
  EXPECT_FALSE(element_formats(program)) << "a as f8 and as f16";
}

}  // namespace pattern_test
}  // namespace cortado::device
