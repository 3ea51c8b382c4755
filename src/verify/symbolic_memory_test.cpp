#include "verify/symbolic_memory.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::verifier {
namespace symbolic_memory_test {

/// Buffers 0, 1 and 2 of 64 bytes, 0 and 1 filled in iteration 0. `used` tells beforehand which strided regions come.
struct ThreeBuffers {
  static Program three_buffers(const std::vector<Region>& used) {
    Program program;
    program.buffers.assign(3, {"b", {0}, {64}, BufferRole::scratch});
    for (const Region& region : used) program.contract.clauses.push_back({region, {region}, DType::u8});
    return program;
  }
  Program program;
};

struct Memory : ThreeBuffers, SymbolicMemory {
  explicit Memory(const std::vector<Region>& used = {}) : ThreeBuffers{three_buffers(used)}, SymbolicMemory(program) {
    fill(make_region({0}, {0}, {64}), 0);
    fill(make_region({1}, {0}, {64}), 0);
  }
  Value at(std::uint32_t buffer, std::uint64_t offset) const {
    const auto pieces = read(make_region({buffer}, {offset}, {1}));
    EXPECT_EQ(pieces.size(), 1U);
    return pieces[0].value;
  }
  bool defined(std::uint32_t buffer, std::uint64_t offset) const { return !at(buffer, offset).terms.empty(); }
};

TEST(SymbolicMemory, WholeBlocksAreOnePiece) {
  Memory memory;
  for (std::uint64_t i = 0; i < 8; ++i) {
    memory.execute(Copy{make_region({0}, {i * 8}, {8}), make_region({2}, {i * 8}, {8})});
  }
  EXPECT_EQ(memory.read(make_region({2}, {0}, {64})).size(), 1U);
  EXPECT_EQ(memory.at(2, 13).terms, (Terms{{0, 0, 13}}));
}

TEST(SymbolicMemory, StridedCopiesAreOnePiece) {
  const Region src{{0}, {4}, {4}, 4, {16}};
  const Region dst{{2}, {8}, {4}, 4, {8}};
  Memory memory({src, dst});
  memory.execute(Copy{src, dst});
  EXPECT_EQ(memory.read(dst).size(), 1U);
  EXPECT_EQ(memory.at(2, 8 + 3 * 8 + 2).terms, (Terms{{0, 0, 4 + 3 * 16 + 2}}));
  EXPECT_FALSE(memory.defined(2, 12));
  EXPECT_FALSE(memory.defined(2, 7));
}

TEST(SymbolicMemory, StridedCopiesOfUnexpectedPitchMoveRowByRow) {
  Memory memory;
  memory.execute(Copy{{{0}, {0}, {4}, 4, {16}}, {{2}, {8}, {4}, 4, {8}}});
  EXPECT_EQ(memory.at(2, 8 + 3 * 8 + 2).terms, (Terms{{0, 0, 3 * 16 + 2}}));
  EXPECT_FALSE(memory.defined(2, 12));
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
  EXPECT_GE(value.terms[0].source, 3U);  // beyond the buffers: an unnamed result
}

/// Two sums of the same bytes, at 0 and 16 of buffer 2, and room for what is copied at 32.
struct TwoSums : Memory {
  explicit TwoSums(const std::vector<Region>& used = {}) : Memory(used) {
    for (const std::uint64_t at : {0U, 16U}) {
      execute(Kernel{KernelOp::reduce,
                     {make_region({0}, {0}, {16}), make_region({1}, {0}, {16})},
                     make_region({2}, {at}, {16}),
                     DType::f32});
    }
  }
  /// Bytes from .. from + bytes of the sum at `sum` to the same place of the copy.
  void copy(std::uint64_t sum, std::uint64_t from, std::uint64_t bytes) {
    execute(Copy{make_region({2}, {sum + from}, {bytes}), make_region({2}, {32 + from}, {bytes})});
  }
  bool has_sum() const {
    for (std::uint64_t i = 0; i < 16; ++i) {
      if (!(at(2, 32 + i) == at(2, i))) return false;
    }
    return true;
  }
};

TEST(SymbolicMemory, WholeElementsMayComeFromTwoSums) {
  TwoSums memory;
  memory.copy(0, 0, 8);
  memory.copy(16, 8, 8);
  EXPECT_TRUE(memory.has_sum());
}

TEST(SymbolicMemory, PartsOfAnElementComeFromOneSum) {
  TwoSums one;
  one.copy(0, 0, 5);
  one.copy(0, 7, 9);
  one.copy(0, 5, 2);
  EXPECT_TRUE(one.has_sum());
  for (const std::uint64_t cut : {1U, 6U, 11U, 15U}) {
    TwoSums two;
    two.copy(0, 0, cut);
    two.copy(16, cut, 16 - cut);
    EXPECT_FALSE(two.has_sum()) << cut;
    TwoSums reversed;
    reversed.copy(16, cut, 16 - cut);
    reversed.copy(0, 0, cut);
    EXPECT_FALSE(reversed.has_sum()) << cut;
  }
  // Over a whole copy of the other sum.
  TwoSums over;
  over.copy(0, 0, 16);
  over.copy(16, 6, 1);
  EXPECT_FALSE(over.has_sum());
}

// By way of another place: the parts remember where they come from.
TEST(SymbolicMemory, PartsOfAnElementKeepTheirMark) {
  for (const std::uint64_t sum : {0U, 16U}) {
    TwoSums memory;
    memory.execute(Copy{make_region({2}, {sum}, {6}), make_region({2}, {48}, {6})});
    memory.execute(Copy{make_region({2}, {48}, {6}), make_region({2}, {32}, {6})});
    memory.copy(0, 6, 10);
    EXPECT_EQ(memory.has_sum(), sum == 0);
  }
}

// A mark is that of one stretch: what stands behind a marked copy has another one.
TEST(SymbolicMemory, MarksDoNotSpread) {
  TwoSums memory;
  memory.copy(0, 0, 6);
  memory.copy(0, 6, 10);
  memory.copy(16, 8, 8);  // whole elements of the other sum
  EXPECT_TRUE(memory.has_sum());
  const auto parts = [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    memory.execute(Copy{make_region({2}, {from}, {bytes}), make_region({2}, {to}, {bytes})});
  };
  parts(32 + 5, 48 + 5, 5);  // up to the middle of an element of the other sum
  parts(10, 48 + 10, 6);     // and on with the first one
  EXPECT_FALSE(memory.at(2, 48 + 9) == memory.at(2, 9) && memory.at(2, 48 + 10) == memory.at(2, 10));
}

TEST(SymbolicMemory, StridedCopiesOfPartsAreNoSums) {
  const auto halves = [](std::uint64_t offset) { return Region{{2}, {offset}, {2}, 4, {4}}; };
  TwoSums memory({halves(0)});
  memory.execute(Copy{halves(0), halves(32)});
  memory.execute(Copy{halves(18), halves(34)});
  EXPECT_FALSE(memory.has_sum());
}

// Where rows are cut does not matter if the rows of the region are whole elements.
TEST(SymbolicMemory, StridedCopiesOfWholeElementsInParts) {
  const Region rows{{2}, {32}, {8}, 2, {8}};
  const Region apart{{0}, {0}, {8}, 2, {16}};
  TwoSums memory({rows, apart});
  memory.copy(16, 0, 5);
  memory.copy(16, 5, 11);
  memory.execute(Copy{rows, apart});
  for (std::uint64_t i = 0; i < 16; ++i) {
    EXPECT_TRUE(memory.at(0, i + (i >= 8 ? 8 : 0)) == memory.at(2, 16 + i)) << i;
  }
  // Rows of half elements, from adjacent rows.
  const Region halves{{2}, {32}, {2}, 4, {4}};
  TwoSums two({halves});
  two.execute(Copy{{{2}, {0}, {2}, 4, {2}}, halves});
  EXPECT_FALSE(two.at(2, 36) == two.at(2, 2));
}

TEST(SymbolicMemory, SumsHaveALimitOfTerms) {
  Memory memory;
  const Region x = make_region({0}, {0}, {16});
  for (int i = 0; i < 16; ++i) memory.execute(Kernel{KernelOp::reduce, {x, x}, x, DType::f32});
  EXPECT_EQ(memory.at(0, 0).terms.size(), Results::kMostTerms);
  for (int i = 0; i < 100; ++i) memory.execute(Kernel{KernelOp::reduce, {x, x}, x, DType::f32});
  ASSERT_EQ(memory.at(0, 0).terms.size(), 1U);
  EXPECT_TRUE(memory.results().is_long_sum(memory.at(0, 0).terms.front()));
}

TEST(SymbolicMemory, UndefinedBytesSpread) {
  Memory memory;
  memory.execute(Copy{make_region({2}, {0}, {8}), make_region({0}, {4}, {8})});
  EXPECT_TRUE(memory.defined(0, 3));
  EXPECT_FALSE(memory.defined(0, 11));
  EXPECT_TRUE(memory.defined(0, 12));
  memory.execute(Copy{make_region({0}, {0}, {8}), make_region({1}, {0}, {8}), CopyOp::add, DType::u8});
  EXPECT_TRUE(memory.defined(1, 3));
  EXPECT_FALSE(memory.defined(1, 4));
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

/// Bytes one by one: the plain way to do what SymbolicMemory does.
struct PlainMemory {
  explicit PlainMemory(std::uint64_t size) : bytes(3, std::vector<Terms>(size)) {}

  std::vector<std::pair<std::uint32_t, std::uint64_t>> places(const Region& region) const {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
    for (std::uint64_t row = 0; row < region.rows; ++row) {
      for (std::uint64_t i = 0; i < region.width.value; ++i) {
        all.emplace_back(region.buffer.value, region.row_offset(row).value + i);
      }
    }
    return all;
  }
  Terms& at(const std::pair<std::uint32_t, std::uint64_t>& place) { return bytes[place.first][place.second]; }

  void copy(const Region& src, const Region& dst, bool add) {
    const auto from = places(src);
    const auto to = places(dst);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Terms source = at(from[i]);
      Terms& target = at(to[i]);
      if (add && !source.empty() && !target.empty()) {
        for (const Term& term : source) target.push_back(term);
        std::ranges::sort(target);
      } else if (add) {
        target.clear();
      } else {
        target = source;
      }
    }
  }

  std::vector<std::vector<Terms>> bytes;  // empty: undefined
};

TEST(SymbolicMemory, AgreesWithBytesOneByOne) {
  constexpr std::uint64_t kSize = 96;
  Random random(23);
  for (int round = 0; round < 150; ++round) {
    // Regions of a few pitches, so that strips, rows one by one and plain ranges all occur and meet.
    const std::uint64_t pitch = 8 + random.below(5);
    std::vector<std::pair<Region, Region>> copies;
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t rows = 1 + random.below(5);
      const std::uint64_t width = 1 + random.below(8);
      const auto region = [&](std::uint32_t buffer) {
        const std::uint64_t row_pitch = random.chance(3) ? width : (random.chance(6) ? pitch + 3 : pitch);
        const std::uint64_t used_pitch = rows == 1 ? 0 : std::max(row_pitch, width);
        const std::uint64_t extent = used_pitch * (rows - 1) + width;
        return Region{{buffer}, {random.below(kSize - extent + 1)}, {width}, rows, {used_pitch}};
      };
      const auto from = static_cast<std::uint32_t>(random.below(3));
      copies.emplace_back(region(from), region((from + 1 + static_cast<std::uint32_t>(random.below(2))) % 3));
    }
    Program program;
    program.buffers.assign(3, {"b", {0}, {kSize}, BufferRole::scratch});
    for (const auto& [src, dst] : copies) program.contract.clauses.push_back({dst, {src}, DType::u8});
    SymbolicMemory memory(program);
    PlainMemory plain(kSize);
    for (std::uint32_t b = 0; b < 2; ++b) {
      memory.fill(make_region({b}, {0}, {kSize}), 0);
      for (std::uint64_t i = 0; i < kSize; ++i) plain.at({b, i}) = {{b, 0, i}};
    }
    for (const auto& [src, dst] : copies) {
      const bool add = random.chance(4);
      memory.execute(Copy{src, dst, add ? CopyOp::add : CopyOp::store, DType::u8});
      plain.copy(src, dst, add);
    }
    for (std::uint32_t b = 0; b < 3; ++b) {
      for (std::uint64_t i = 0; i < kSize; ++i) {
        const auto pieces = memory.read(make_region({b}, {i}, {1}));
        ASSERT_EQ(pieces.size(), 1U);
        ASSERT_EQ(pieces[0].value.terms, plain.at({b, i})) << "round " << round << ", buffer " << b << ", byte " << i;
      }
    }
    // Reading whole regions gives the same as reading bytes.
    for (const auto& [src, dst] : copies) {
      const auto places = plain.places(dst);
      std::size_t seen = 0;
      for (const Piece& piece : single_runs(memory.read(dst))) {
        for (std::uint64_t d = 0; d < piece.at.width; ++d, ++seen) {
          ASSERT_EQ(piece.at.start + d, seen);
          const Terms terms = piece.value.moved_by(d).terms;
          ASSERT_EQ(terms, plain.at(places[seen])) << "round " << round << ", place " << seen;
        }
      }
      ASSERT_EQ(seen, places.size());
    }
  }
}

}  // namespace symbolic_memory_test
}  // namespace cortado::verifier
