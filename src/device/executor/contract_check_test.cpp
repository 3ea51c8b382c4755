#include "device/executor/contract_check.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado::device {
namespace contract_check_test {

constexpr std::uint64_t kSeed = 5;

/// A program with real memory behind its buffers.
struct Bench {
  explicit Bench(Program p) : program(std::move(p)) {
    for (const Buffer& buffer : program.buffers) memory.emplace_back(buffer.size.value);
    std::vector<std::byte*> pointers;
    for (std::vector<std::byte>& bytes : memory) pointers.push_back(bytes.data());
    auto made = ContractCheck::make(program, pointers);
    EXPECT_TRUE(made);
    check.emplace(std::move(*made));
  }

  void fill_all(std::uint64_t iteration) {
    for (std::uint32_t rank = 0; rank < program.ranks; ++rank) check->fill_inputs(RankId{rank}, kSeed, iteration);
  }
  CheckTotals check_all(std::uint64_t iteration) {
    CheckTotals totals;
    for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
      check->check_outputs(RankId{rank}, kSeed, iteration, iteration, totals);
    }
    return totals;
  }

  Program program;
  std::vector<std::vector<std::byte>> memory;
  std::optional<ContractCheck> check;
};

/// Rank 1's out (32 bytes) is rank 0's in (bytes 16 .. 48 of 64).
Program copy_program() {
  ProgramBuilder builder("copy", "test", 2);
  const BufferId in = builder.buffer("in", RankId{0}, 64_B, BufferRole::input);
  const BufferId out = builder.buffer("out", RankId{1}, 32_B, BufferRole::output);
  builder.contract(point_to_point_contract(make_region(in, 16_B, 32_B), make_region(out, 0_B, 32_B)));
  return std::move(builder).finish();
}

TEST(ContractCheck, PoisonedOutputsAreAllWrong) {
  Bench bench(copy_program());
  bench.check->poison(kSeed, 0);
  bench.fill_all(0);
  const CheckTotals totals = bench.check_all(0);
  EXPECT_EQ(totals.checked_bytes, 32U);
  EXPECT_EQ(totals.wrong_bytes, 32U);
  ASSERT_TRUE(totals.first_wrong);
  EXPECT_EQ(totals.first_wrong->code, "device.wrong_data");
  EXPECT_EQ(totals.first_wrong->place.rank, RankId{1});
  EXPECT_NE(totals.first_wrong->message.find("buffer out, byte 0, iteration 0"), std::string::npos)
      << totals.first_wrong->message;
  EXPECT_NE(totals.first_wrong->message.find("never written"), std::string::npos);
}

TEST(ContractCheck, RightBytesPassAndOneWrongByteIsNamed) {
  Bench bench(copy_program());
  bench.check->poison(kSeed, 0);
  bench.fill_all(3);
  std::copy_n(bench.memory[0].begin() + 16, 32, bench.memory[1].begin());
  EXPECT_EQ(bench.check_all(3).wrong_bytes, 0U);
  EXPECT_EQ(bench.check_all(2).wrong_bytes, 32U) << "bytes of another iteration are stale";

  bench.memory[1][21] ^= std::byte{0x10};
  const CheckTotals totals = bench.check_all(3);
  EXPECT_EQ(totals.wrong_bytes, 1U);
  EXPECT_NE(totals.first_wrong->message.find("byte 21"), std::string::npos) << totals.first_wrong->message;
}

TEST(ContractCheck, DoesNotLookAtTheInputs) {
  Bench bench(copy_program());
  bench.fill_all(0);
  std::copy_n(bench.memory[0].begin() + 16, 32, bench.memory[1].begin());
  std::fill(bench.memory[0].begin(), bench.memory[0].end(), std::byte{0});
  EXPECT_EQ(bench.check_all(0).wrong_bytes, 0U);
}

// The output is 4 rows of 6 bytes, the input 2 rows of 12: pieces end where a row of either ends.
TEST(ContractCheck, WalksRegionsOfDifferentRowLengthsInRowOrder) {
  ProgramBuilder builder("rows", "test", 1);
  const BufferId in = builder.buffer("in", RankId{0}, 64_B, BufferRole::input);
  const BufferId out = builder.buffer("out", RankId{0}, 64_B, BufferRole::output);
  const Region input{in, 3_B, 12_B, 2, 20_B};
  const Region output{out, 1_B, 6_B, 4, 9_B};
  builder.contract({"rows", {{output, {input}, DType::u8}}});
  Bench bench(std::move(builder).finish());
  bench.fill_all(0);
  for (std::size_t i = 0; i < 24; ++i) {
    bench.memory[1][1 + i / 6 * 9 + i % 6] = bench.memory[0][3 + i / 12 * 20 + i % 12];
  }
  const CheckTotals totals = bench.check_all(0);
  EXPECT_EQ(totals.checked_bytes, 24U);
  EXPECT_EQ(totals.wrong_bytes, 0U);
}

/// out of rank 0 = in0 + in1 + in2.
Program sum_program(DType dtype) {
  ProgramBuilder builder("sum", "test", 3);
  std::vector<Region> inputs;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const BufferId in = builder.buffer("in" + std::to_string(rank), RankId{rank}, 20'000_B, BufferRole::input);
    inputs.push_back(make_region(in, 0_B, 20'000_B));
  }
  const BufferId out = builder.buffer("out", RankId{0}, 20'000_B, BufferRole::output);
  builder.contract({"sum", {{make_region(out, 0_B, 20'000_B), inputs, dtype}}});
  return std::move(builder).finish();
}

template <class Element>
void expect_sum_passes(DType dtype) {
  Bench bench(sum_program(dtype));
  bench.fill_all(2);
  for (std::size_t at = 0; at < 20'000; at += sizeof(Element)) {
    Element sum{};
    for (const std::size_t rank : {2U, 0U, 1U}) {
      Element element{};
      std::memcpy(&element, bench.memory[rank].data() + at, sizeof element);
      sum = static_cast<Element>(sum + element);
    }
    std::memcpy(bench.memory[3].data() + at, &sum, sizeof sum);
  }
  EXPECT_EQ(bench.check_all(2).wrong_bytes, 0U);
  EXPECT_GT(bench.check_all(1).wrong_bytes, 0U);
}

TEST(ContractCheck, SumsWrapForIntegers) {
  expect_sum_passes<std::uint8_t>(DType::u8);
  expect_sum_passes<std::uint32_t>(DType::i32);
}

TEST(ContractCheck, SumsOfFloatsAreExact) {
  expect_sum_passes<float>(DType::f32);
}

TEST(ContractCheck, SumsOfSmallFloatsAreExact) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8}) {
    Bench bench(sum_program(dtype));
    bench.fill_all(2);
    for (std::size_t at = 0; at < 20'000; at += size_of(dtype).value) {
      float sum = 0;
      for (std::size_t rank = 0; rank < 3; ++rank) sum += element_value(dtype, bench.memory[rank].data() + at);
      const std::uint32_t bits = element_bits(dtype, sum);
      std::memcpy(bench.memory[3].data() + at, &bits, size_of(dtype).value);
    }
    EXPECT_EQ(bench.check_all(2).wrong_bytes, 0U) << to_string(dtype);
    EXPECT_GT(bench.check_all(1).wrong_bytes, 0U) << to_string(dtype);
  }
}

}  // namespace contract_check_test
}  // namespace cortado::device
