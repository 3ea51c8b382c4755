#include "device/soft/cpu_kernels.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/small_float.hpp"

namespace cortado::device::soft {
namespace cpu_kernels_test {

template <class T>
Span2D span_of(std::vector<T>& values, std::uint64_t columns, std::uint64_t rows, std::uint64_t pitch) {
  return {reinterpret_cast<std::byte*>(values.data()), columns * sizeof(T), rows, pitch * sizeof(T)};
}

template <class T>
Span2D flat(std::vector<T>& values) {
  return span_of(values, values.size(), 1, 0);
}

TEST(CpuKernels, IntegersWrapAround) {
  std::vector<std::uint8_t> bytes{250, 1};
  std::vector<std::uint8_t> more{10, 2};
  add_elements(DType::u8, flat(bytes).data, flat(more).data, 2);
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{4, 3}));
  std::vector<std::int32_t> ints{INT32_MAX, -5};
  std::vector<std::int32_t> addends{1, 3};
  add_elements(DType::i32, flat(ints).data, flat(addends).data, 8);
  EXPECT_EQ(ints, (std::vector<std::int32_t>{INT32_MIN, -2}));
}

TEST(CpuKernels, SumOfHalvesIsRoundedOnce) {
  // 1 + 2^-11 + 2^-11 = 1 + 2^-10 is an f16; rounding after each addition would stay at 1 (ties to even).
  std::vector<std::uint16_t> one{to_f16(1.0f)};
  std::vector<std::uint16_t> tiny{to_f16(0x1p-11f)};
  std::vector<std::uint16_t> sum{0};
  const std::vector<Span2D> sources{flat(one), flat(tiny), flat(tiny)};
  sum_spans(DType::f16, flat(sum), sources, 0, 2);
  EXPECT_EQ(sum[0], 0x3c01);

  one[0] = to_bf16(1.0f);
  tiny[0] = to_bf16(0x1p-8f);
  sum_spans(DType::bf16, flat(sum), sources, 0, 2);
  EXPECT_EQ(from_bf16(sum[0]), 1.0f + 0x1p-7f);

  std::vector<std::uint8_t> one8{to_f8(1.0f)}, tiny8{to_f8(0x1p-4f)}, sum8{0};  // the unit at 1 is 2^-3
  sum_spans(DType::f8, flat(sum8), std::vector<Span2D>{flat(one8), flat(tiny8), flat(tiny8)}, 0, 1);
  EXPECT_EQ(from_f8(sum8[0]), 1.125f);
}

TEST(CpuKernels, SumTakesSpansOfDifferentShapesInPieces) {
  // 12 floats as 3 rows of 4 with pitch 5, as 4 rows of 3 with pitch 7, and flat; destination 2 rows of 6, pitch 6.
  std::vector<float> a(15), b(28), c(12), out(12, -1);
  for (std::uint32_t i = 0; i < 12; ++i) {
    a[i / 4 * 5 + i % 4] = static_cast<float>(i);
    b[i / 3 * 7 + i % 3] = 100.0f * static_cast<float>(i);
    c[i] = 0.25f;
  }
  const std::vector<Span2D> sources{span_of(a, 4, 3, 5), span_of(b, 3, 4, 7), flat(c)};
  for (std::uint64_t first = 0; first < 48; first += 20) {
    sum_spans(DType::f32, span_of(out, 6, 2, 6), sources, first, std::min<std::uint64_t>(20, 48 - first));
  }
  for (std::uint32_t i = 0; i < 12; ++i) EXPECT_EQ(out[i], 101.0f * static_cast<float>(i) + 0.25f);
}

TEST(CpuKernels, SumIntoOneOfTheSourcesAndOfOneSource) {
  std::vector<float> a(5000, 1.5f), b(5000, 2.0f);
  const std::vector<Span2D> both{flat(a), flat(b)};
  sum_spans(DType::f32, flat(a), both, 0, 20000);
  EXPECT_EQ(a, std::vector<float>(5000, 3.5f));
  std::vector<float> negative_zero{-0.0f}, out{1.0f};
  sum_spans(DType::f32, flat(out), std::vector<Span2D>{flat(negative_zero)}, 0, 4);
  EXPECT_TRUE(std::signbit(out[0])) << "one term is taken byte for byte";
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<std::uint16_t> signalling_nan{0x7f81, 0x7c01}, copy(2);
    sum_spans(dtype, flat(copy), std::vector<Span2D>{flat(signalling_nan)}, 0, 4);
    EXPECT_EQ(copy, signalling_nan);
  }
}

TEST(CpuKernels, CopySpanReshapes) {
  std::vector<std::uint8_t> src{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, dst(10, 99);
  copy_span(span_of(dst, 2, 3, 4), span_of(src, 3, 2, 5), 1, 5);
  // Source bytes in row order: 0 1 2 5 6 7; destination places in row order: 0 1 4 5 8 9. The first is left out.
  EXPECT_EQ(dst, (std::vector<std::uint8_t>{99, 1, 99, 99, 2, 5, 99, 99, 6, 7}));
}

TEST(CpuKernels, RowsAreGatheredAndScattered) {
  std::vector<std::uint8_t> src{0, 1, 10, 11, 20, 21}, dst(6);
  const std::vector<std::uint64_t> rows{2, 0};
  gather_rows(span_of(dst, 2, 2, 2), span_of(src, 2, 3, 2), rows, 0, 2);
  EXPECT_EQ(dst, (std::vector<std::uint8_t>{20, 21, 0, 1, 0, 0}));
  std::vector<std::uint8_t> out(6, 99);
  scatter_rows(span_of(out, 2, 3, 2), span_of(src, 2, 2, 2), rows, 0, 2);
  EXPECT_EQ(out, (std::vector<std::uint8_t>{10, 11, 99, 99, 0, 1}));
}

struct GemmCase {
  DType dtype;
  bool accumulate;
};

class CpuGemm : public testing::TestWithParam<GemmCase> {};

INSTANTIATE_TEST_SUITE_P(Kinds, CpuGemm,
                         testing::Values(GemmCase{DType::f32, false}, GemmCase{DType::f32, true},
                                         GemmCase{DType::f16, false}, GemmCase{DType::f16, true},
                                         GemmCase{DType::bf16, false}, GemmCase{DType::bf16, true},
                                         GemmCase{DType::f8, false}, GemmCase{DType::f8, true}));

/// Matrix of the dtype with the given pitch.
struct Matrix {
  DType dtype;
  std::uint64_t rows, columns, pitch;
  std::vector<std::byte> bytes;

  Matrix(DType type, std::uint64_t r, std::uint64_t c, std::uint64_t p)
      : dtype(type), rows(r), columns(c), pitch(p), bytes(r * p * size_of(type).value) {}
  std::byte* at(std::uint64_t row, std::uint64_t column) {
    return bytes.data() + (row * pitch + column) * size_of(dtype).value;
  }
  void set(std::uint64_t row, std::uint64_t column, float value) {
    if (dtype == DType::f32) return static_cast<void>(std::memcpy(at(row, column), &value, 4));
    if (dtype == DType::f8) {
      *at(row, column) = static_cast<std::byte>(to_f8(value));
      return;
    }
    const std::uint16_t half = dtype == DType::f16 ? to_f16(value) : to_bf16(value);
    std::memcpy(at(row, column), &half, 2);
  }
  float get(std::uint64_t row, std::uint64_t column) {
    float value = 0;
    if (dtype == DType::f32) {
      std::memcpy(&value, at(row, column), 4);
      return value;
    }
    if (dtype == DType::f8) return from_f8(static_cast<std::uint8_t>(*at(row, column)));
    std::uint16_t half = 0;
    std::memcpy(&half, at(row, column), 2);
    return dtype == DType::f16 ? from_f16(half) : from_bf16(half);
  }
  Span2D span() { return {bytes.data(), columns * size_of(dtype).value, rows, pitch * size_of(dtype).value}; }
};

TEST_P(CpuGemm, EqualsThePlainTripleLoop) {
  // Small integers: every GEMM and sum is exact in f32, f16 and bf16 (below 2^8 in magnitude), and in f8 where the
  // result is at most 16; what is larger is rounded once.
  constexpr std::uint64_t kM = 7, kN = 10, kK = 5;
  Matrix a(GetParam().dtype, kM, kK, kK + 3), b(GetParam().dtype, kK, kN, kN + 1), c(GetParam().dtype, kM, kN, kN + 2);
  Random random(42);
  const auto fill = [&](Matrix& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      for (std::uint64_t j = 0; j < m.columns; ++j) m.set(i, j, static_cast<float>(random.below(9)) - 4.0f);
    }
  };
  fill(a);
  fill(b);
  fill(c);
  std::vector<float> expected;
  for (std::uint64_t i = 0; i < kM; ++i) {
    for (std::uint64_t j = 0; j < kN; ++j) {
      float sum = GetParam().accumulate ? c.get(i, j) : 0.0f;
      for (std::uint64_t l = 0; l < kK; ++l) sum += a.get(i, l) * b.get(l, j);
      expected.push_back(sum);
    }
  }
  GemmLaunchOp op{a.span(), b.span(), c.span(), kM, kN, kK, GetParam().dtype, GetParam().accumulate, 3, 4, {}};
  ASSERT_EQ(gemm_tiles(op), 9u);  // ceil(7 / 3) x ceil(10 / 4)
  run_gemm_tiles(op, 0, 3);
  run_gemm_tiles(op, 3, 1);
  run_gemm_tiles(op, 4, 2);
  run_gemm_tiles(op, 6, 3);
  for (std::uint64_t i = 0; i < kM; ++i) {
    for (std::uint64_t j = 0; j < kN; ++j) {
      const float exact = expected[i * kN + j];
      EXPECT_EQ(c.get(i, j), GetParam().dtype == DType::f8 ? from_f8(to_f8(exact)) : exact) << i << "," << j;
    }
  }
}

TEST(CpuGemmShapes, OneRowMatricesHaveNoPitch) {
  std::vector<float> a{2}, b{3, 4, 5}, c(3);
  run_gemm_tiles({flat(a), flat(b), flat(c), 1, 3, 1, DType::f32, false, 128, 128, {}}, 0, 1);
  EXPECT_EQ(c, (std::vector<float>{6, 8, 10}));
}

}  // namespace cpu_kernels_test
}  // namespace cortado::device::soft
