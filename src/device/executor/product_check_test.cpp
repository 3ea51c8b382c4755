#include "device/executor/product_check.hpp"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

namespace cortado::device {
namespace product_check_test {

constexpr std::uint64_t kSeed = 5;
constexpr std::uint64_t kM = 6, kN = 5;

/// c = A0 * B0 + A1 * B1 with C of 6 x 5; A0 (k = 3) in blocks of 2 and 4 rows, A1 (k = 4) whole. Every matrix is a
/// buffer with a gap after each row.
struct Sum {
  explicit Sum(DType type, std::uint64_t iteration = 0) : dtype(type) {
    upper = matrix(0, 2, 3);
    lower = matrix(1, 4, 3);
    b0 = matrix(2, 3, kN);
    a1 = matrix(3, kM, 4);
    b1 = matrix(4, 4, kN);
    clause = {matrix(5, kM, kN), {{{upper, lower}, b0}, {{a1}, b1}}, dtype};
    formats.assign(5, factor_format(dtype, 7));
    formats.emplace_back();
    for (std::uint32_t b = 0; b < 5; ++b) {
      BufferPattern(kSeed, iteration, BufferId{b}, formats[b]).bytes(0, memory[b]);
    }
    for (std::uint64_t i = 0; i < kM; ++i) {
      for (std::uint64_t j = 0; j < kN; ++j) set(i, j, exact(i, j));
    }
  }

  Region matrix(std::uint32_t buffer, std::uint64_t rows, std::uint64_t columns) {
    const Bytes pitch = size_of(dtype) * (columns + 1);
    if (memory.size() <= buffer) memory.resize(buffer + 1);
    memory[buffer].resize((pitch * rows).value);
    return {{buffer}, {0}, size_of(dtype) * columns, rows, pitch};
  }
  std::byte* at(const Region& matrix, std::uint64_t row, std::uint64_t column) {
    return memory[matrix.buffer.value].data() + matrix.row_offset(row).value + (size_of(dtype) * column).value;
  }
  float get(const Region& matrix, std::uint64_t row, std::uint64_t column) {
    return element_value(dtype, at(matrix, row, column));
  }
  void set(std::uint64_t row, std::uint64_t column, float value) {
    const std::uint32_t bits = element_bits(dtype, value);
    std::memcpy(at(clause.output, row, column), &bits, size_of(dtype).value);
  }
  float exact(std::uint64_t i, std::uint64_t j) {
    float sum = 0;
    for (std::uint64_t t = 0; t < 3; ++t) sum += (i < 2 ? get(upper, i, t) : get(lower, i - 2, t)) * get(b0, t, j);
    for (std::uint64_t t = 0; t < 4; ++t) sum += get(a1, i, t) * get(b1, t, j);
    return sum;
  }
  WrongElements wrong(std::uint64_t iteration = 0, std::uint64_t roundings = 1) {
    return ProductCheck(clause, formats, kSeed, iteration, roundings).compare(memory[5].data());
  }

  DType dtype;
  std::vector<std::vector<std::byte>> memory;
  Region upper, lower, b0, a1, b1;
  ProductClause clause;
  std::vector<ElementFormat> formats;
};

class ProductChecks : public ::testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(Types, ProductChecks, ::testing::Values(DType::f32, DType::f16, DType::bf16, DType::f8));

TEST_P(ProductChecks, RightElementsPass) {
  for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
    EXPECT_EQ(Sum(GetParam(), iteration).wrong(iteration).count, 0U);
  }
}

TEST_P(ProductChecks, EveryWrongElementIsFoundAndTheFirstIsNamed) {
  for (std::uint64_t i = 0; i < kM; ++i) {
    for (std::uint64_t j = 0; j < kN; ++j) {
      Sum sum(GetParam());
      const float exact = sum.exact(i, j);
      sum.set(i, j, exact == 0 ? 1 : exact - 1);
      sum.set(kM - 1, kN - 1, NAN);
      const WrongElements wrong = sum.wrong();
      const bool same = i == kM - 1 && j == kN - 1;
      EXPECT_EQ(wrong.count, same ? 1U : 2U);
      EXPECT_EQ(wrong.row, i);
      EXPECT_EQ(wrong.column, j);
      EXPECT_EQ(wrong.expected, exact);
    }
  }
}

TEST_P(ProductChecks, FractionsAndNegativesAreWrong) {
  Sum sum(GetParam());
  sum.set(0, 0, sum.exact(0, 0) + 0.5f);
  sum.set(1, 0, -1);
  sum.set(2, 0, INFINITY);
  EXPECT_EQ(sum.wrong().count, 3U);
}

TEST_P(ProductChecks, FactorsOfAnotherIterationAreWrong) {
  Sum sum(GetParam(), 3);
  EXPECT_EQ(sum.wrong(3).count, 0U);
  EXPECT_GT(sum.wrong(4).count, kM * kN / 4);
}

TEST(ProductCheck, LargeElementsMayHaveBeenRounded) {
  // One element of f8: four GEMMs of integers up to 8, so that it is beyond 16 and still below 240 (for this seed).
  constexpr std::uint64_t kK = 4;
  const ProductClause clause{
      make_region({2}, {0}, {1}), {{{make_region({0}, {0}, {kK})}, {{1}, {0}, {1}, kK, {1}}}}, DType::f8};
  const std::vector<ElementFormat> formats(3, ElementFormat{DType::f8, 8, 9});
  std::vector<std::uint16_t> a(kK, 0), b(kK, 0);
  BufferPattern(kSeed, 0, BufferId{0}, formats[0]).add_integers(0, a);
  BufferPattern(kSeed, 0, BufferId{1}, formats[1]).add_integers(0, b);
  float exact = 0;
  for (std::size_t t = 0; t < kK; ++t) exact += static_cast<float>(a[t] * b[t]);
  ASSERT_GT(exact, 16);
  ASSERT_LT(exact, 200);
  const std::uint32_t nearest = element_bits(DType::f8, exact);
  const auto is_wrong = [&](std::uint32_t bits, std::uint64_t roundings) {
    const std::byte output{static_cast<std::uint8_t>(bits)};
    return ProductCheck(clause, formats, kSeed, 0, roundings).compare(&output).count == 1;
  };
  EXPECT_FALSE(is_wrong(nearest, 1));
  EXPECT_FALSE(is_wrong(nearest, 0)) << "one rounding to the nearest is always right";
  // Two steps from the nearest are 1.5 to 2.5 units from the exact value.
  EXPECT_TRUE(is_wrong(nearest + 2, 1));
  EXPECT_TRUE(is_wrong(nearest - 2, 1));
  EXPECT_FALSE(is_wrong(nearest + 2, 3));
}

TEST(ProductCheck, CountsWhatMayRound) {
  Program program;
  const Region r = make_region({0}, {0}, {4});
  program.queues.resize(2);
  const Gemm gemm{r, r, r, 1, 1, 1};
  program.queues[0].commands = {gemm, gemm, gemm, Kernel{KernelOp::reduce, {r}, r}, Copy{r, r}};
  program.queues[1].commands = {Kernel{KernelOp::gather_rows, {r}, r}, Signal{}};
  EXPECT_EQ(roundings_of(program), 4U) << "three products, one sum";
  const Copy add{r, r, CopyOp::add, DType::f32};
  program.queues[1].commands.insert(program.queues[1].commands.end(), {add, add, add});
  EXPECT_EQ(roundings_of(program), 5U) << "three products are joined by two sums, however many others there are";
}

TEST(ProductCheck, CountsPartialProductsThatMemoryAdds) {
  const Region r = make_region({0}, {0}, {4});
  Gemm gemm{r, r, {}, 1, 1, 1};
  gemm.split_k = 4;
  gemm.outputs = {{0, 0, 1, 1, r, CopyOp::add}};
  Program program;
  program.queues.resize(2);
  program.queues[0].commands = {gemm};
  program.queues[1].commands = {gemm};
  EXPECT_EQ(roundings_of(program), 15U) << "2 ranks, 4 parts: 8 roundings of what is made, 7 of sums";
  std::get<Gemm>(program.queues[1].commands[0]).outputs[0].op = CopyOp::store;
  EXPECT_EQ(roundings_of(program), 9U) << "one of them is made as one product: 5 made, 4 sums";
}

TEST(ProductCheck, FindsOneWrongElementInManyThousand) {
  // 2^24 multiplications of f32, correct in all but the last element; the elements come from a plain GEMM.
  constexpr std::uint64_t kSide = 256;
  const auto matrix = [](std::uint32_t buffer) { return Region{{buffer}, {0}, {kSide * 4}, kSide, {kSide * 4}}; };
  const ProductClause clause{matrix(2), {{{matrix(0)}, matrix(1)}}, DType::f32};
  const std::vector<ElementFormat> formats(3, factor_format(DType::f32, kSide));
  std::vector<std::vector<float>> values(3, std::vector<float>(kSide * kSide, 0));
  for (std::uint32_t b = 0; b < 2; ++b) {
    BufferPattern(kSeed, 0, BufferId{b}, formats[b]).bytes(0, std::as_writable_bytes(std::span(values[b])));
  }
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t t = 0; t < kSide; ++t) {
      const float factor = values[0][i * kSide + t];
      for (std::size_t j = 0; j < kSide; ++j) values[2][i * kSide + j] += factor * values[1][t * kSide + j];
    }
  }
  ProductCheck check(clause, formats, kSeed, 0, 1);
  const auto* output = reinterpret_cast<const std::byte*>(values[2].data());
  EXPECT_EQ(check.compare(output).count, 0U);
  values[2].back() += 1;
  const WrongElements wrong = check.compare(output);
  EXPECT_EQ(wrong.count, 1U);
  EXPECT_EQ(wrong.row, kSide - 1);
  EXPECT_EQ(wrong.column, kSide - 1);
}

}  // namespace product_check_test
}  // namespace cortado::device
