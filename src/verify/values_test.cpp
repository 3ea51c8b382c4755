#include "verify/values.hpp"

#include <gtest/gtest.h>

namespace cortado::verifier {
namespace {

/// Buffers 0, 1 and 2 of 64 bytes, 0 and 1 filled in iteration 0.
struct Memory : SymbolicMemory {
  static Program three_buffers() {
    Program program;
    program.buffers.assign(3, {"b", {0}, {64}, BufferRole::scratch});
    return program;
  }
  Memory() : SymbolicMemory(three_buffers()) {
    fill(make_region({0}, {0}, {64}), 0);
    fill(make_region({1}, {0}, {64}), 0);
  }
  Value at(std::uint32_t buffer, std::uint64_t offset) const {
    const auto pieces = read({buffer}, offset, offset + 1);
    EXPECT_EQ(pieces.size(), 1U);
    return pieces[0].value.value_or(Value{});
  }
};

using Terms = std::vector<Term>;

TEST(SymbolicMemory, WholeBlocksAreOnePiece) {
  Memory memory;
  for (std::uint64_t i = 0; i < 8; ++i) {
    memory.execute(Copy{make_region({0}, {i * 8}, {8}), make_region({2}, {i * 8}, {8})});
  }
  EXPECT_EQ(memory.read({2}, 0, 64).size(), 1U);
  EXPECT_EQ(memory.at(2, 13).terms, (Terms{{0, 0, 13}}));
}

TEST(SymbolicMemory, StridedCopiesMoveRowByRow) {
  Memory memory;
  memory.execute(Copy{{{0}, {0}, {4}, 4, {16}}, {{2}, {8}, {4}, 4, {8}}});
  EXPECT_EQ(memory.at(2, 8 + 3 * 8 + 2).terms, (Terms{{0, 0, 3 * 16 + 2}}));
  EXPECT_FALSE(memory.defined(make_region({2}, {12}, {4})));
}

TEST(SymbolicMemory, SwapExchanges) {
  Memory memory;
  memory.execute(Swap{make_region({0}, {0}, {16}), make_region({1}, {16}, {16})});
  EXPECT_EQ(memory.at(0, 0).terms, (Terms{{1, 0, 16}}));
  EXPECT_EQ(memory.at(1, 16).terms, (Terms{{0, 0, 0}}));
  EXPECT_EQ(memory.at(1, 32).terms, (Terms{{1, 0, 32}}));
}

TEST(SymbolicMemory, SumsAreMultisets) {
  Memory memory;
  const Region zero = make_region({0}, {0}, {16});
  const Region one = make_region({1}, {0}, {16});
  const Region two = make_region({2}, {0}, {16});
  memory.execute(Kernel{KernelOp::reduce, {zero, one, zero}, two, DType::f32, {}});
  const Value value = memory.at(2, 5);
  EXPECT_EQ(value.terms, (Terms{{0, 0, 5}, {0, 0, 5}, {1, 0, 5}}));
  EXPECT_EQ(value.dtype, DType::f32);
  EXPECT_EQ(value.phase, 1U);  // byte 5 is the second of its element
  memory.execute(Copy{one, two, CopyOp::add, DType::f32});
  EXPECT_EQ(memory.at(2, 5).terms.size(), 4U);
}

TEST(SymbolicMemory, SumsOfOtherElementsAreNoSumsOfInputs) {
  Memory memory;
  const Region two = make_region({2}, {0}, {16});
  memory.execute(Copy{make_region({0}, {0}, {16}), two});
  memory.execute(Copy{make_region({1}, {0}, {16}), two, CopyOp::add, DType::f32});
  memory.execute(Copy{make_region({0}, {0}, {16}), two, CopyOp::add, DType::f16});
  const Value value = memory.at(2, 0);
  ASSERT_EQ(value.terms.size(), 1U);
  EXPECT_GE(value.terms[0].source, 3U);  // behind the buffers: a result without a name
}

TEST(SymbolicMemory, UndefinedBytesSpread) {
  Memory memory;
  memory.execute(Copy{make_region({2}, {0}, {8}), make_region({0}, {4}, {8})});
  EXPECT_TRUE(memory.defined(make_region({0}, {0}, {4})));
  EXPECT_FALSE(memory.defined(make_region({0}, {11}, {2})));
  memory.execute(Copy{make_region({0}, {0}, {8}), make_region({1}, {0}, {8}), CopyOp::add, DType::u8});
  EXPECT_TRUE(memory.defined(make_region({1}, {0}, {4})));
  EXPECT_FALSE(memory.defined(make_region({1}, {4}, {4})));
}

TEST(SymbolicMemory, GatherAndScatterMoveRows) {
  Memory memory;
  const Region rows{{0}, {0}, {8}, 8, {8}};
  memory.execute(Kernel{KernelOp::gather_rows, {rows}, {{2}, {0}, {8}, 2, {8}}, DType::u8, {5, 1}});
  EXPECT_EQ(memory.at(2, 0).terms, (Terms{{0, 0, 40}}));
  EXPECT_EQ(memory.at(2, 8).terms, (Terms{{0, 0, 8}}));
  memory.execute(Kernel{KernelOp::scatter_rows, {{{0}, {0}, {8}, 2, {8}}}, {{1}, {0}, {8}, 8, {8}}, DType::u8, {7, 2}});
  EXPECT_EQ(memory.at(1, 56).terms, (Terms{{0, 0, 0}}));
  EXPECT_EQ(memory.at(1, 16).terms, (Terms{{0, 0, 8}}));
  EXPECT_EQ(memory.at(1, 0).terms, (Terms{{1, 0, 0}}));
}

}  // namespace
}  // namespace cortado::verifier
