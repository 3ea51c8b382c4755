// GEMMs of mixed types, with block scales, in batches and groups.
#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "gemm/testing.hpp"

namespace cortado {
namespace gemm_types_test {

double seconds(const GemmShape& shape, const Machine& machine) {
  const std::uint32_t units = machine.compute_units;
  return estimate_gemm(shape, choose_tiling(shape, machine, units), machine, units).seconds;
}

GemmModel::Terms terms(const GemmShape& shape, const Tiling& tiling, const Machine& machine) {
  const GemmModel model(shape, tiling, machine, L2Windows::ample);
  return model.terms(machine.compute_units, sustained_clock_ghz(shape.dtype, machine));
}

constexpr Tiling kTile{128, 128, 1};

TEST(GemmTypes, ResultsHaveBytesOfTheirOwn) {
  GemmShape shape{.m = 1024, .n = 2048, .k = 512, .dtype = DType::bf16};
  const double narrow = terms(shape, kTile, mi300x()).traffic.writes;
  EXPECT_DOUBLE_EQ(narrow, 1024.0 * 2048 * 2);
  shape.result = DType::f32;
  EXPECT_DOUBLE_EQ(terms(shape, kTile, mi300x()).traffic.writes, 2 * narrow);
  EXPECT_EQ(operand_bytes(shape).value, 2U * (1024 * 512 + 512 * 2048) + 4U * 1024 * 2048);
  EXPECT_EQ(to_string(shape), "1024x2048x512 bf16 to f32");
  GemmShape plain = shape;
  plain.result.reset();
  EXPECT_GE(seconds(shape, mi300x()), seconds(plain, mi300x()));
}

TEST(GemmTypes, IntegersHaveTheRateOfTheirOwnKeys) {
  const Machine machine = at_fixed_clocks("h100-8");
  const GemmShape floats{.m = 8192, .n = 8192, .k = 8192, .dtype = DType::f8};
  GemmShape integers = floats;
  integers.dtype = DType::i8;
  EXPECT_DOUBLE_EQ(seconds(integers, machine), seconds(floats, machine));
  Machine slower = machine;
  slower.timing->compute->i8.flops_per_clock /= 2;
  EXPECT_GT(seconds(integers, slower), 1.8 * seconds(integers, machine));
}

// 4 bytes for 128 elements of a row of A, and for 128 x 128 of B.
TEST(GemmTypes, BlockScalesAreReadAndCostRate) {
  GemmShape shape{.m = 4096, .n = 8192, .k = 7168, .dtype = DType::f8};
  const GemmModel::Terms plain = terms(shape, kTile, mi300x());
  const Bytes without = read_bytes(shape);
  shape.scale_block = 128;
  const GemmModel::Terms scaled = terms(shape, kTile, mi300x());
  EXPECT_EQ(read_bytes(shape).value - without.value, 4U * (4096 * 56 + 64 * 56));
  EXPECT_NEAR(scaled.products / plain.products, 1 / 0.76, 1e-9);
  EXPECT_GT(scaled.traffic.reads, plain.traffic.reads);
}

TEST(GemmGroups, ShareTheWavesAndPadTheirRows) {
  const GemmShape one{.m = 100, .n = 512, .k = 1024, .dtype = DType::bf16};
  EXPECT_EQ(batched(one, 1), one);
  const GemmShape eight = batched(one, 8);
  EXPECT_EQ(eight.m, 800U);
  EXPECT_EQ(group_count(eight), 8U);
  EXPECT_EQ(group_rows(eight), 100U);
  EXPECT_EQ(workgroups(eight, {64, 128, 2}), 8 * workgroups(one, {64, 128, 2}));
  EXPECT_DOUBLE_EQ(flops(eight), 8 * flops(one));
  EXPECT_EQ(operand_bytes(eight).value, 8 * operand_bytes(one).value);
  EXPECT_EQ(to_string(eight), "100*8x512x1024 bf16");

  GemmShape uneven{.m = 1 + 65 + 65, .n = 128, .k = 64, .dtype = DType::bf16, .groups = {{1, 1}, {65, 2}}};
  EXPECT_EQ(workgroups(uneven, {64, 128, 1}), 1U + 2 * 2);
  EXPECT_EQ(to_string(uneven), "1+65*2x128x64 bf16");
}

/// Each group reads weights of its own: nothing is shared, and nothing is read twice that fits a wave.
TEST(GemmGroups, ReadTheirOwnWeights) {
  const GemmShape one{.m = 128, .n = 4096, .k = 7168, .dtype = DType::bf16};
  const GemmModel::Terms many = terms(batched(one, 16), kTile, mi300x());
  EXPECT_DOUBLE_EQ(many.traffic.reads, 16.0 * (128 + 4096) * 7168 * 2);
  EXPECT_DOUBLE_EQ(many.traffic.writes, 16.0 * 128 * 4096 * 2);
}

/// One kernel in place of many: never slower than one after the other, never faster than the longest of them.
TEST(GemmGroups, TakeLessThanTheirPartsOneByOne) {
  for (const char* name : {"h100-8", "h200-8", "b200-8", "mi300x-8", "mi325x-8", "mi355x-8"}) {
    const Machine machine = load_machine(name).value();
    const double start = to_seconds(gemm_start(machine));
    for (const std::uint64_t m : {1U, 16U, 100U, 1000U}) {
      for (const std::uint64_t count : {2U, 8U, 64U}) {
        const GemmShape one{.m = m, .n = 2048, .k = 4096, .dtype = DType::bf16};
        const double alone = start + seconds(one, machine);
        const double together = start + seconds(batched(one, count), machine);
        // Weights in turn are warm where few megabytes are multiplied alone, so the sum may be less by that.
        EXPECT_LE(together, 1.1 * static_cast<double>(count) * alone) << name << " " << to_string(one) << " " << count;
        EXPECT_GE(together, 0.99 * alone) << name << " " << to_string(one) << " " << count;
      }
    }
  }
}

TEST(GemmGroups, CostMoreThanOneGroupOfAllRows) {
  const Machine machine = load_machine("h100-8").value();
  const GemmShape one{.m = 128 * 16, .n = 2048, .k = 7168, .dtype = DType::bf16};
  GemmShape experts = one;
  experts.groups = {{16, 128}};
  EXPECT_GT(seconds(experts, machine), 2 * seconds(one, machine));
}

TEST(GemmTypes, WrongOnesAreRefused) {
  const Machine machine = load_machine("mi300x-8").value();
  const GemmShape good{.m = 64, .n = 64, .k = 256, .dtype = DType::f8, .result = DType::bf16, .scale_block = 128};
  EXPECT_TRUE(check_gemm_alone(good, machine));
  const auto code = [&](const GemmShape& shape, const Machine& on) {
    const Status status = check_gemm_alone(shape, on);
    return status ? std::string() : status.error().code;
  };
  GemmShape wrong = good;
  wrong.dtype = DType::bf16;
  EXPECT_EQ(code(wrong, machine), "gemm.scales");
  wrong = good;
  wrong.result = DType::i32;
  EXPECT_EQ(code(wrong, machine), "gemm.dtype");
  wrong = {.m = 64, .n = 64, .k = 64, .dtype = DType::f32, .result = DType::bf16};
  EXPECT_EQ(code(wrong, machine), "gemm.dtype");
  wrong = {.m = 64, .n = 64, .k = 64, .groups = {{32, 1}}};
  EXPECT_EQ(code(wrong, machine), "gemm.shape");
  wrong = {.m = 64, .n = 64, .k = 64, .groups = {{64, 1}, {0, 1}}};
  EXPECT_EQ(code(wrong, machine), "gemm.shape");
  wrong = batched({.m = 1, .n = 1U << 20, .k = 1U << 20}, 1U << 20);
  EXPECT_EQ(code(wrong, machine), "gemm.memory");
  Machine silent = machine;
  silent.timing->compute->block_scale_efficiency = 0;
  EXPECT_EQ(code(good, silent), "gemm.scales");
  // Programs have none of it.
  EXPECT_EQ(check_gemm(good, machine).error().code, "gemm.program");
  EXPECT_EQ(check_gemm({.m = 64, .n = 64, .k = 64, .dtype = DType::i8}, machine).error().code, "gemm.program");
}

}  // namespace gemm_types_test
}  // namespace cortado
