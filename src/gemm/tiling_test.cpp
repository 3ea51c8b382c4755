#include <algorithm>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "gemm/testing.hpp"

namespace cortado {
namespace tiling_test {

Tiling chosen(const GemmShape& shape, std::uint32_t units = kUnits) {
  return choose_tiling(shape, mi300x(), units);
}

// 16 x 19 tiles of 256 x 256 are one full wave of 304.
TEST(ChooseTiling, ProductsThatFillTheUnitsGetTheLargestTile) {
  EXPECT_EQ(chosen({.m = 16 * 256, .n = 19 * 256, .k = 8192, .dtype = DType::bf16}), (Tiling{256, 256, 1}));
}

// What was chosen for one machine says nothing of another, or of the same one with other constants.
TEST(ChooseTiling, IsMadeAnewForEveryMachine) {
  const GemmShape shape{.m = 4096, .n = 4096, .k = 4096, .dtype = DType::bf16};
  Machine machine = load_machine("mi300x-8").value();
  const Tiling before = choose_tiling(shape, machine, machine.compute_units);
  machine.timing->compute->tile_sides = machine.timing->compute->anchor_sides = {64};
  EXPECT_EQ(choose_tiling(shape, machine, machine.compute_units), (Tiling{64, 64, 1}));
  EXPECT_EQ(choose_tiling(shape, load_machine("mi300x-8").value(), machine.compute_units), before);
  EXPECT_NE(before, (Tiling{64, 64, 1}));
}

TEST(ChooseTiling, WhereEveryTileIsTooWideOneIsTakenNevertheless) {
  Machine machine = load_machine("h100-8").value();
  machine.timing->compute->tile_sides = machine.timing->compute->anchor_sides = {128, 256};
  const GemmShape narrow{.m = 16, .n = 32, .k = 4096, .dtype = DType::bf16};
  EXPECT_EQ(choose_tiling(narrow, machine, machine.compute_units, {.whole_tiles = true}), (Tiling{128, 128, 1}));
  EXPECT_EQ(choose_tiling(narrow, machine, machine.compute_units).tile_n, 128U);
  machine.timing->compute->tile_sides = {16, 128, 256};  // 16 x 16 has no anchor
  const Tiling smallest = choose_tiling(narrow, machine, machine.compute_units);
  EXPECT_EQ(smallest.tile_m * smallest.tile_n, 16U * 128);
}

// With 3276 elements, no tile has two sides of [64, 128, 256]; 64 x 48 is not in the list of sides.
TEST(ChooseTiling, WholeTilesWithoutTwoAnchorsHaveOne) {
  Machine machine = load_machine("h100-8").value();
  machine.timing->compute->most_tile = 3276;
  const GemmShape shape{.m = 2048, .n = 2048, .k = 1024, .dtype = DType::bf16};
  const Tiling tiling = choose_tiling(shape, machine, machine.compute_units, {.whole_tiles = true});
  EXPECT_EQ(tiling.tile_m * tiling.tile_n, 64U * 32) << tiling.tile_m;
  EXPECT_EQ(tiling.split_k, 1U);
}

TEST(GemmModel, HasALeastTime) {
  for (const char* name : {"mi300x-8", "h100-8"}) {
    const Machine machine = load_machine(name).value();
    for (const std::uint64_t m : {16U, 500U, 8192U}) {
      const GemmModel model({.m = m, .n = 4096, .k = 4096, .dtype = DType::bf16}, {128, 128, 2}, machine);
      const double rounded = 1 + 1e-12;
      EXPECT_LE(model.least_seconds(100, 1.5), rounded * model.seconds(100, 1.5)) << name << " " << m;
      EXPECT_LE(model.least_seconds(100, 1.5), rounded * model.in_waves(100, 1.5).seconds) << name << " " << m;
      EXPECT_FALSE(model.takes_longer(rounded * model.in_waves(100, 1.5).seconds, 100, 1.5)) << name << " " << m;
      EXPECT_TRUE(model.takes_longer(0.99 * model.least_seconds(100, 1.5), 100, 1.5)) << name << " " << m;
    }
  }
}

TEST(GemmModel, HasALeastTimeOfEverySplit) {
  for (const char* name : {"mi300x-8", "h100-8"}) {
    const Machine machine = load_machine(name).value();
    const GemmShape shape{.m = 500, .n = 3584, .k = 8192, .dtype = DType::bf16};
    for (const std::uint64_t split : {1U, 2U, 16U}) {
      const double of_split = GemmModel(shape, {1, 1, split}, machine).least_of_split(100, 1.5);
      EXPECT_GT(of_split, split == 1 ? 0 : GemmModel(shape, {1, 1, split / 2}, machine).least_of_split(100, 1.5));
      for (const std::uint64_t side : {16U, 64U, 250U, 256U}) {
        const GemmModel model(shape, {side, side, split}, machine);
        EXPECT_LE(of_split, (1 + 1e-12) * model.least_seconds(100, 1.5)) << name << " " << split << " " << side;
      }
    }
  }
}

TEST(ChooseTiling, NoTileIsMostlyPadding) {
  for (const std::uint64_t m : {1U, 31U, 32U, 33U, 64U, 100U, 128U, 129U}) {
    const GemmShape shape{.m = m, .n = 8192, .k = 8192, .dtype = DType::bf16};
    const Tiling tiling = chosen(shape);
    EXPECT_TRUE(tiling.tile_m <= 64 || tiling.tile_m < 2 * m) << m;
  }
}

// One tile of 256 leaves 303 of 304 units idle; smaller tiles and pieces of a long k are what there is to divide.
TEST(ChooseTiling, FewTilesOfALongProductAreSplit) {
  const GemmShape shape{.m = 256, .n = 256, .k = 65536, .dtype = DType::bf16};
  const Tiling tiling = chosen(shape);
  EXPECT_GT(tiling.split_k, 1U);
  EXPECT_GE(workgroups(shape, tiling), 128U);
}

TEST(ChooseTiling, NothingIsSplitWhereTilesFillTheUnitsOrKIsShort) {
  EXPECT_EQ(chosen({.m = 8192, .n = 8192, .k = 65536, .dtype = DType::bf16}).split_k, 1U);
  EXPECT_EQ(chosen({.m = 64, .n = 64, .k = 255, .dtype = DType::bf16}).split_k, 1U);  // less than 2 x 128
}

TEST(ChooseTiling, IsNoSlowerThanAnyOther) {
  for (const std::uint64_t m : {64U, 1000U, 8192U}) {
    const GemmShape shape{.m = m, .n = 10240, .k = 8192, .dtype = DType::bf16};
    for (const std::uint32_t units : {240U, 304U}) {
      const auto seconds = [&](const Tiling& tiling) {
        return GemmModel(shape, tiling, mi300x(), L2Windows::ample)
            .seconds(units, sustained_clock_ghz(DType::bf16, mi300x()));
      };
      const double best = seconds(chosen(shape, units));
      for (const std::uint64_t tile_m : {32U, 64U, 128U, 256U}) {
        for (const std::uint64_t tile_n : {32U, 64U, 128U, 256U}) {
          EXPECT_LE(best, 1.01 * seconds({tile_m, tile_n, 1})) << m << " " << tile_m << " x " << tile_n;
        }
      }
    }
  }
}

TEST(ChooseTiling, TilesAreThoseThatKernelsExistFor) {
  const Machine machine = load_machine("h100-8").value();
  const ComputeTiming& compute = *machine.timing->compute;
  for (std::uint64_t m = 1; m < 5000; m = m * 3 / 2 + 1) {
    for (const std::uint64_t n : {16U, 320U, 4096U}) {
      const Tiling tiling = choose_tiling({.m = m, .n = n, .k = 4096, .dtype = DType::bf16}, machine, 132);
      EXPECT_LE(tiling.tile_m * tiling.tile_n, compute.most_tile);
      const auto is_anchor = [&](std::uint64_t side) { return std::ranges::count(compute.anchor_sides, side) > 0; };
      EXPECT_TRUE(is_anchor(tiling.tile_m) || is_anchor(tiling.tile_n)) << m << " " << n;
    }
  }
}

}  // namespace tiling_test
}  // namespace cortado
