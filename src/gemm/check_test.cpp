#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gemm/gemm.hpp"

namespace cortado {
namespace check_test {

using testing::HasSubstr;

Diagnostic refusal(const GemmShape& shape, const Machine& machine, Bytes beside = {}) {
  const Status status = check_gemm(shape, machine, beside);
  EXPECT_FALSE(status) << to_string(shape);
  return status ? Diagnostic{} : status.error();
}

TEST(CheckGemm, TakesWhatTheMachineCanDo) {
  const Machine machine = load_machine("mi300x-8").value();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8}) {
    EXPECT_TRUE(check_gemm({.m = 8192, .n = 57344, .k = 8192, .dtype = dtype}, machine));
    EXPECT_TRUE(check_gemm({.m = 1, .n = 1, .k = 1, .dtype = dtype}, machine));
  }
}

TEST(CheckGemm, RefusesDimensionsOfZeroAndAbsurdOnes) {
  const Machine machine = load_machine("mi300x-8").value();
  EXPECT_EQ(refusal({.m = 0, .n = 8, .k = 8}, machine).code, "gemm.shape");
  EXPECT_EQ(refusal({.m = 8, .n = 0, .k = 8}, machine).code, "gemm.shape");
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 0}, machine).code, "gemm.shape");
  const Diagnostic absurd = refusal({.m = 8, .n = ~std::uint64_t{0}, .k = 8}, machine);
  EXPECT_EQ(absurd.code, "gemm.shape");
  EXPECT_THAT(absurd.message, HasSubstr("N of the GEMM"));
  // The largest that is no absurdity is refused for its size: no count of bytes overflows.
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 28;
  EXPECT_EQ(refusal({.m = kLargest, .n = kLargest, .k = kLargest, .dtype = DType::f32}, machine).code, "gemm.memory");
  EXPECT_EQ(refusal({.m = kLargest + 1, .n = 1, .k = 1}, machine).code, "gemm.shape");
  // M of eight GPUs together.
  EXPECT_TRUE(check_dimensions({.m = 8 * kLargest, .n = 1, .k = 1}, 8));
  const Status too_large = check_dimensions({.m = 8 * kLargest + 1, .n = 1, .k = 1}, 8);
  ASSERT_FALSE(too_large);
  EXPECT_THAT(too_large.error().message, HasSubstr("M of the GEMM 2147483649x1x1"));
}

TEST(CheckGemm, RefusesElementTypesThatTheMachineLacks) {
  Machine machine = load_machine("mi300x-8").value();
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8, .dtype = DType::i32}, machine).code, "gemm.dtype");
  machine.timing->compute->f8 = {};
  const Diagnostic lacks = refusal({.m = 8, .n = 8, .k = 8, .dtype = DType::f8}, machine);
  EXPECT_EQ(lacks.code, "gemm.dtype");
  EXPECT_THAT(lacks.hint, HasSubstr("f32, f16, bf16"));
}

// 206,141,652,992 bytes a GPU. A of 2^18 x 2^18 in bf16 is 128 GiB; so is B, so is C.
TEST(CheckGemm, RefusesOperandsBeyondTheMemoryWithTheirSizes) {
  const Machine machine = load_machine("mi300x-8").value();
  const Diagnostic large = refusal({.m = 262144, .n = 262144, .k = 262144, .dtype = DType::bf16}, machine);
  EXPECT_EQ(large.code, "gemm.memory");
  EXPECT_THAT(large.message, HasSubstr("384GiB"));
  EXPECT_THAT(large.message, HasSubstr("A 128GiB, B 128GiB, C 128GiB"));
}

TEST(CheckGemm, CountsWhatLiesBesideTheOperands) {
  const Machine machine = load_machine("mi300x-8").value();
  const GemmShape shape{.m = 65536, .n = 65536, .k = 65536, .dtype = DType::bf16};  // 3 x 8 GiB
  const Bytes room{machine.memory_bytes.value - operand_bytes(shape).value};
  EXPECT_TRUE(check_gemm(shape, machine, room));
  const Diagnostic beside = refusal(shape, machine, room + 1_B);
  EXPECT_EQ(beside.code, "gemm.memory");
  EXPECT_THAT(beside.message, HasSubstr("for the collective"));
  EXPECT_EQ(refusal(shape, machine, {~std::uint64_t{0}}).code, "gemm.memory");
}

TEST(CheckGemm, RefusesMachinesThatDoNotSayWhatProductsCost) {
  Machine machine = load_machine("mi300x-8").value();
  machine.timing->compute.reset();
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8}, machine).code, "gemm.compute");
  machine.timing.reset();
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8}, machine).code, "gemm.compute");
}

}  // namespace check_test
}  // namespace cortado
