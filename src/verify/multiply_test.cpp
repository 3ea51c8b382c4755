#include "verify/multiply.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::verifier {
namespace multiply_test {

constexpr std::uint32_t kBuffers = 3;

Block input(std::uint32_t buffer, std::uint64_t offset, std::uint64_t step, Rectangle at) {
  return {at, Value{{{buffer, 0, offset, step}}}};
}

ProductTerm only_product(const Results& results, const Value& value) {
  EXPECT_EQ(value.terms.size(), 1U);
  const auto product = results.product(value.terms[0]);
  EXPECT_TRUE(product);
  return product.value_or(ProductTerm{});
}

TEST(Results, TermsTellTheirProducts) {
  Results results(kBuffers);
  const ProductTerm p{{0, 1, (7ULL << 32U) + 12}, 64, {1, 0, (5ULL << 32U) + 20}, 256, 8, DType::bf16};
  const ProductTerm back = results.product(results.term(p)).value_or(ProductTerm{});
  EXPECT_EQ(back.a, p.a);
  EXPECT_EQ(back.a_step, p.a_step);
  EXPECT_EQ(back.b, p.b);
  EXPECT_EQ(back.b_pitch, p.b_pitch);
  EXPECT_EQ(back.k, p.k);
  EXPECT_EQ(back.dtype, p.dtype);
  EXPECT_FALSE(results.product({results.unnamed(), 0, 0, 0}));
  EXPECT_FALSE(results.product({0, 0, 0, 0}));
}

TEST(Results, PanelsJoinInAnyOrder) {
  // f32, rows of B 100 bytes apart: ranges of k [0, 2), [2, 3), [3, 7), [7, 8).
  const auto panel = [](std::uint64_t begin, std::uint64_t end) {
    return ProductTerm{{0, 0, 40 + 4 * begin}, 32, {1, 0, 8 + 100 * begin}, 100, end - begin, DType::f32};
  };
  const std::vector<ProductTerm> panels{panel(0, 2), panel(2, 3), panel(3, 7), panel(7, 8)};
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    Results results(kBuffers);
    std::vector<ProductTerm> order = panels;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    Terms sum;
    for (const ProductTerm& p : order) {
      sum.push_back(results.term(p));
      results.join_panels(sum, DType::f32, 0);
    }
    ASSERT_EQ(sum, Terms{results.term(panel(0, 8))});
  }
}

TEST(Results, PanelsThatDoNotTouchStayApart) {
  Results results(kBuffers);
  const ProductTerm first{{0, 0, 0}, 32, {1, 0, 0}, 100, 2, DType::f32};
  const auto stays = [&](const ProductTerm& second, DType dtype = DType::f32) {
    Terms sum{results.term(first), results.term(second)};
    results.join_panels(sum, dtype, 0);
    return sum.size() == 2;
  };
  const ProductTerm next{{0, 0, 8}, 32, {1, 0, 200}, 100, 2, DType::f32};
  EXPECT_FALSE(stays(next));
  EXPECT_TRUE(stays(next, DType::f16)) << "the panels are added as other elements";
  EXPECT_TRUE(stays(first)) << "the same twice";
  ProductTerm other = next;
  other.a.offset = 12;
  EXPECT_TRUE(stays(other)) << "a gap in k";
  other = next;
  other.b.offset = 100;
  EXPECT_TRUE(stays(other)) << "another row of B";
  other = next;
  other.a.iteration = 1;
  EXPECT_TRUE(stays(other));
  other = next;
  other.b.source = 2;
  EXPECT_TRUE(stays(other));
  other = next;
  other.b_pitch = 50;
  EXPECT_TRUE(stays(other));
  other = next;
  other.a_step = 64;
  EXPECT_TRUE(stays(other)) << "other rows of A below";
}

TEST(Multiply, WholeMatricesAreOneBlock) {
  // A: 6 rows of 4 f32, 64 bytes apart; B: 4 rows of 5 f32, 20 bytes apart.
  Results results(kBuffers);
  const auto c = multiply({input(0, 128, 64, {0, 6, 0, 16})}, {input(1, 40, 20, {0, 4, 0, 20})}, DType::f32, results);
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(c[0].rows(), 6U);
  const ProductTerm p = only_product(results, c[0].value);
  EXPECT_EQ(p.a, (Origin{0, 0, 128}));
  EXPECT_EQ(p.b, (Origin{1, 0, 40}));
  EXPECT_EQ(p.k, 4U);
  // Row 3, byte 9: A 3 * 64 further, B 9 bytes further.
  const ProductTerm inside = only_product(results, value_of(c[0], {3, 4, 9, 10}));
  EXPECT_EQ(inside.a, (Origin{0, 0, 128 + 192}));
  EXPECT_EQ(inside.b, (Origin{1, 0, 49}));
}

TEST(Multiply, IsCutWhereAnOperandChanges) {
  // Rows 0 and 1 of A are of buffer 0, row 2 of buffer 2. Columns 0 and 1 of B are of buffer 1, column 2 of buffer 0.
  Results results(kBuffers);
  const auto c = multiply({input(0, 0, 8, {0, 2, 0, 8}), input(2, 0, 0, {2, 3, 0, 8})},
                          {input(1, 0, 8, {0, 2, 0, 8}), input(0, 16, 4, {0, 2, 8, 12})}, DType::f32, results);
  ASSERT_EQ(c.size(), 4U);
  const ProductTerm corner = only_product(results, c[3].value);
  EXPECT_EQ(c[3].at.row_begin, 2U);
  EXPECT_EQ(c[3].at.column_begin, 8U);
  EXPECT_EQ(corner.a.source, 2U);
  EXPECT_EQ(corner.b, (Origin{0, 0, 16}));
}

TEST(Multiply, CutsOfKThatMeanNothingVanish) {
  Results results(kBuffers);
  const auto whole = multiply({input(0, 0, 16, {0, 2, 0, 16})}, {input(1, 0, 8, {0, 4, 0, 8})}, DType::f32, results);
  // A in two column pieces, B in two row pieces that are cut elsewhere.
  const auto cut = multiply({input(0, 0, 16, {0, 2, 0, 4}), input(0, 4, 16, {0, 2, 4, 16})},
                            {input(1, 0, 8, {0, 3, 0, 8}), input(1, 24, 0, {3, 4, 0, 8})}, DType::f32, results);
  ASSERT_EQ(whole.size(), 1U);
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].value, whole[0].value);
}

TEST(Multiply, SingleRowsAStepApartAreStacked) {
  Results results(kBuffers);
  Blocks rows;
  for (std::uint64_t row = 0; row < 4; ++row) rows.push_back(input(0, row * 16, 0, {row, row + 1, 0, 16}));
  const auto c = multiply(rows, {input(1, 0, 8, {0, 4, 0, 8})}, DType::f32, results);
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(only_product(results, c[0].value).a_step, 16U);
}

TEST(Multiply, UndefinedAndUnknownOperandsSpread) {
  Results results(kBuffers);
  const Block b = input(1, 0, 8, {0, 2, 0, 8});
  const Block sum{{0, 2, 0, 8}, Value{{{0, 0, 0, 8}, {2, 0, 0, 8}}, DType::f32}};
  const auto of_nothing = multiply({{{0, 2, 0, 8}, Value{}}}, {b}, DType::f32, results);
  ASSERT_EQ(of_nothing.size(), 1U);
  EXPECT_FALSE(of_nothing[0].value.is_defined());
  // A sum whose terms advance differently has no name, and equals nothing else.
  const Block uneven{{0, 2, 0, 8}, Value{{{0, 0, 0, 8}, {2, 0, 0, 16}}, DType::f32}};
  const auto of_uneven = multiply({uneven}, {b}, DType::f32, results);
  EXPECT_FALSE(results.product(of_uneven[0].value.terms[0]));
  EXPECT_NE(of_uneven[0].value, multiply({uneven}, {b}, DType::f32, results)[0].value);
  // Elements that begin in the middle of elements of the input.
  const auto shifted = multiply({input(0, 2, 8, {0, 2, 0, 8})}, {b}, DType::f32, results);
  EXPECT_FALSE(results.product(shifted[0].value.terms[0]));
}

TEST(Multiply, ProductsOfSumsAndOfProductsHaveNames) {
  Results results(kBuffers);
  const Block b = input(1, 0, 8, {0, 2, 0, 8});
  const auto sum_at = [](std::uint64_t offset) {
    return Block{{0, 2, 0, 8}, Value{{{0, 0, offset, 8}, {2, 0, offset, 8}}, DType::f32}};
  };
  const auto of_sum = multiply({sum_at(0)}, {b}, DType::f32, results);
  ASSERT_EQ(of_sum.size(), 1U);
  EXPECT_EQ(of_sum[0].value, multiply({sum_at(0)}, {b}, DType::f32, results)[0].value);
  EXPECT_NE(of_sum[0].value, multiply({sum_at(8)}, {b}, DType::f32, results)[0].value);
  // (A * B) * B, whole and by rows.
  const auto once = multiply({input(0, 0, 8, {0, 2, 0, 8})}, {b}, DType::f32, results);
  const auto twice = multiply(once, {b}, DType::f32, results);
  ASSERT_EQ(twice.size(), 2U) << "rows of a product have sources of their own";
  const auto second = multiply({{{0, 1, 0, 8}, value_of(once[0], {1, 2, 0, 8})}}, {b}, DType::f32, results);
  EXPECT_EQ(second[0].value, twice[1].value);
  EXPECT_NE(twice[0].value, twice[1].value);
}

TEST(Multiply, CutsWithinElementsDoNotMatterWhereBytesGoOn) {
  Results results(kBuffers);
  const Block b = input(1, 0, 8, {0, 2, 0, 8});
  const auto whole = multiply({input(0, 0, 8, {0, 2, 0, 8})}, {b}, DType::f32, results);
  const auto cut = multiply({input(0, 0, 8, {0, 2, 0, 3}), input(0, 3, 8, {0, 2, 3, 8})}, {b}, DType::f32, results);
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].value, whole[0].value);
  const auto torn = multiply({input(0, 0, 8, {0, 2, 0, 3}), input(0, 4, 8, {0, 2, 3, 8})}, {b}, DType::f32, results);
  EXPECT_FALSE(results.product(torn[0].value.terms[0]));
}

TEST(Multiply, AddressesBeyond32BitsStayApart) {
  // Rows of A 1 GiB apart from 2 GiB on: rows 0 and 1 are below 4 GiB, rows 2 to 5 above. The columns of B begin 8
  // bytes below 8 GiB.
  constexpr std::uint64_t kGiB = 1ULL << 30U;
  Results results(kBuffers);
  const auto c = multiply({input(0, 2 * kGiB, kGiB, {0, 6, 0, 8})}, {input(1, 8 * kGiB - 8, 64, {0, 2, 0, 16})},
                          DType::f32, results);
  ASSERT_EQ(c.size(), 4U);
  std::vector<Value> all;
  for (const Block& block : c) {
    for (std::uint64_t row = block.at.row_begin; row < block.at.row_end; ++row) {
      for (std::uint64_t byte = block.at.column_begin; byte < block.at.column_end; ++byte) {
        const Value value = value_of(block, {row, row + 1, byte, byte + 1});
        const ProductTerm p = only_product(results, value);
        EXPECT_EQ(p.a.offset, 2 * kGiB + row * kGiB);
        EXPECT_EQ(p.b.offset, 8 * kGiB - 8 + byte);
        for (const Value& other : all) EXPECT_NE(value, other);
        all.push_back(value);
      }
    }
  }
  EXPECT_EQ(all.size(), 6U * 16U);
}

}  // namespace multiply_test
}  // namespace cortado::verifier
