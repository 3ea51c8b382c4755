// What GEMMs take. On mi300x-8 at fixed clocks (304 compute units on 8 dies, 4 MiB of L2 a die, 256 MiB of
// last-level cache) unless a test says otherwise.
#include <cmath>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"
#include "gemm/testing.hpp"

namespace cortado {
namespace gemm_model_test {

constexpr double kKiB = 1024;
constexpr double kClock = 1.207;

GemmEstimate estimate(const GemmShape& shape, const Tiling& tiling, std::uint32_t units,
                      const Machine& machine = mi300x()) {
  return estimate_gemm(shape, tiling, machine, units);
}

GemmModel::Traffic traffic(const GemmShape& shape, const Tiling& tiling, double units,
                           const GemmSurroundings& beside = {}, L2Windows windows = L2Windows::modelled) {
  return GemmModel(shape, tiling, mi300x(), windows).terms(units, kClock, beside).traffic;
}

// --- Waves -----------------------------------------------------------------------------------------------------------

TEST(GemmWaves, AreRoundedUpAsFarAsTheMachineSays) {
  EXPECT_DOUBLE_EQ(rounded_waves(3.25, 1), 4);
  EXPECT_DOUBLE_EQ(rounded_waves(3.25, 0), 3.25);
  EXPECT_DOUBLE_EQ(rounded_waves(3.25, 0.2), 3.25 + 0.2 * 0.75);
  EXPECT_DOUBLE_EQ(rounded_waves(0.1, 0), 1);  // one workgroup takes its time however many units are idle
}

// 32 x 112 tiles of 256 x 256 are 3584 workgroups: 11.8 times 304, 13.2 times 272, 14.9 times 240 units. GEMMs set
// the time of a tile, L2 has a part in it (latency and memory hide behind them nearly), and a last wave is rounded up
// by half.
TEST(GemmWaves, FewerUnitsCostWaves) {
  const GemmShape shape{.m = 8192, .n = 28672, .k = 8192, .dtype = DType::bf16};
  const Tiling tiling{256, 256, 1};
  const GemmEstimate all = estimate(shape, tiling, kUnits);
  const GemmEstimate less_32 = estimate(shape, tiling, kUnits - 32);
  EXPECT_EQ(all.waves, 12U);
  EXPECT_EQ(less_32.waves, 14U);
  EXPECT_NEAR(less_32.seconds / all.seconds, rounded_waves(3584.0 / 272, 0.5) / rounded_waves(3584.0 / 304, 0.5), 0.03);
  // A wave: 2 x 256 x 256 x 8192 operations, 9 multiply-adds more for each of 512 rows and columns.
  const double wave = 2.0 * 256 * 256 * 8192 / (2048 * kClock * 1e9) * (1 + 9.0 / 128);
  // 512 rows and columns of 8192 values of two bytes for each unit, from L2 at 17 TB/s at the nominal clock.
  const double l2 = 304.0 * 512 * 8192 * 2 / (17e12 * kClock / 2.1);
  EXPECT_NEAR(all.seconds / (11.9 * std::pow(std::pow(wave, 3.22) + std::pow(l2, 3.22), 1 / 3.22)), 1, 0.02);
}

// What waves take one by one is what the whole takes, but where the memory alone sets the pace of some.
TEST(GemmWaves, AddUpToTheWhole) {
  for (const char* name : {"h100-8", "mi355x-8", "mi300x-8"}) {
    const Machine machine = at_fixed_clocks(name);
    const std::uint32_t units = machine.compute_units;
    for (const std::uint64_t m : {1U, 100U, 1000U, 5000U}) {
      for (const std::uint64_t n : {64U, 4096U, 30000U}) {
        const GemmShape shape{.m = m, .n = n, .k = 4096, .dtype = DType::bf16};
        const Tiling tiling = choose_tiling(shape, machine, units);
        const double whole =
            GemmModel(shape, tiling, machine).seconds(units, sustained_clock_ghz(DType::bf16, machine));
        const double waves = estimate(shape, tiling, units, machine).seconds;
        EXPECT_GE(waves, whole * (1 - 1e-9)) << name << " " << to_string(shape);
        EXPECT_LE(waves, whole * 1.2) << name << " " << to_string(shape);
      }
    }
  }
}

TEST(GemmWaves, ALastWaveIsShorterWhereTilesAreCutForAllUnits) {
  Machine machine = at_fixed_clocks("h100-8");
  const GemmShape shape{.m = 128 * 133, .n = 256, .k = 8192, .dtype = DType::bf16};  // one workgroup more than units
  const Tiling tiling{128, 256, 1};
  const auto seconds = [&](double rounding) {
    machine.timing->compute->wave_rounding = rounding;
    return estimate(shape, tiling, 132, machine).seconds;
  };
  EXPECT_LT(seconds(0.13), 1.3 * seconds(0));
  EXPECT_GT(seconds(1), 1.7 * seconds(0));
}

TEST(GemmWaves, TilesAtTheEdgeMultiplyAsWholeOnes) {
  const Tiling tiling{256, 256, 1};
  const GemmShape whole{.m = 512, .n = 512, .k = 8192, .dtype = DType::bf16};
  const GemmShape edge{.m = 257, .n = 511, .k = 8192, .dtype = DType::bf16};
  EXPECT_EQ(workgroups(edge, tiling), 4U);
  const auto products = [&](const GemmShape& shape) {
    return GemmModel(shape, tiling, mi300x()).terms(kUnits, kClock).products;
  };
  EXPECT_DOUBLE_EQ(products(edge), products(whole));
}

// 65536 steps of k at 0.35 ns, at the nominal clock of 2.1 GHz.
TEST(GemmWaves, StepsOfKTakeTheirTime) {
  const GemmShape shape{.m = 16, .n = 16, .k = 65536, .dtype = DType::bf16};
  const GemmModel model(shape, {16, 16, 1}, mi300x());
  EXPECT_NEAR(model.terms(kUnits, 2.1).latency, 65536 * 0.35e-9, 1e-12);
  EXPECT_NEAR(model.terms(kUnits, 1.05).latency, 2 * 65536 * 0.35e-9, 1e-12);
  const GemmModel split(shape, {16, 16, 8}, mi300x());
  EXPECT_NEAR(split.terms(kUnits, 2.1).latency, 65536 / 8 * 0.35e-9, 1e-12);
}

// 288 tiles on 256 units: the second wave has 32 and is fed as a full one, so that L2 takes W(1.125) / 1.125 times as
// long as the bytes alone; 128 tiles, which are less than a wave, take the time of their bytes.
TEST(GemmWaves, LastWavesAreFedAsFullOnes) {
  const Machine machine = load_machine("mi355x-8").value();
  const double rounding = machine.timing->compute->wave_rounding;
  const auto l2_of = [&](std::uint64_t m) {
    const GemmShape shape{.m = m, .n = 256, .k = 8192, .dtype = DType::bf16};
    return GemmModel(shape, {256, 256, 1}, machine).terms(256, 2.4).l2;
  };
  const double of_tile = l2_of(256ULL * 128) / 128;
  EXPECT_NEAR(l2_of(256ULL * 288), of_tile * 256 * rounded_waves(1.125, rounding), 1e-12);
  EXPECT_NEAR(l2_of(256ULL * 256), of_tile * 256, 1e-12);
}

// Sums in f32, eight of them, out and in; the pass that adds them; and the stores of the one wave that there is.
TEST(GemmWaves, SplitsCostSumsAndAPassMore) {
  const GemmShape shape{.m = 512, .n = 512, .k = 65536, .dtype = DType::bf16};
  const GemmModel::Terms terms = GemmModel(shape, {256, 256, 8}, mi300x()).terms(kUnits, kClock);
  EXPECT_DOUBLE_EQ(terms.traffic.sums, 8.0 * 8 * 512 * 512);
  EXPECT_NEAR(terms.beside, 1465e-9 + terms.traffic.sums / 2590e9 + 512.0 * 512 * 2 / 1730e9, 1e-12);
}

// --- Operands --------------------------------------------------------------------------------------------------------

// 4 x 8 tiles of 256 x 256, all at once: 4 on each of 8 dies, a block of 2 x 2 tiles that needs 512 rows of A and 512
// columns of B of 2 KiB each: 2 MiB, 512 KiB a workgroup. With the tile of C, 128 KiB. The memory gives A and B once.
TEST(GemmOperands, ADieReadsABlockOfTilesOnce) {
  const GemmShape shape{.m = 1024, .n = 2048, .k = 1024, .dtype = DType::bf16};
  const GemmModel::Traffic found = traffic(shape, {256, 256, 1}, 32);
  EXPECT_DOUBLE_EQ(found.beyond_l2, 32 * (512 + 128) * kKiB);
  EXPECT_DOUBLE_EQ(found.reads, 6 * 1024 * kKiB);
  EXPECT_DOUBLE_EQ(found.writes, 4 * 1024 * kKiB);
  EXPECT_DOUBLE_EQ(found.out_of_l2, 32 * 512 * 2 * kKiB);
}

TEST(GemmOperands, AnAddedResultIsReadAsWell) {
  GemmShape shape{.m = 1024, .n = 2048, .k = 1024, .dtype = DType::bf16};
  const double plain = traffic(shape, {256, 256, 1}, 32).reads;
  shape.accumulate = true;
  EXPECT_DOUBLE_EQ(traffic(shape, {256, 256, 1}, 32).reads, plain + 4 * 1024 * kKiB);
}

// Of 16384^3 waves of 256 tiles read 8192 rows of 32 KiB: sixteen such waves 4 GiB where A and B once are 1 GiB. The
// cache holds 256 MiB of the 1.5 GiB of A, B and C.
TEST(GemmOperands, CachesHoldTheirShareOfWhatIsReadAgain) {
  const GemmShape shape{.m = 16384, .n = 16384, .k = 16384, .dtype = DType::bf16};
  constexpr double kMiB = 1024 * kKiB;
  const auto reads = [&](Bytes held) { return traffic(shape, {256, 256, 1}, 256, {.cache_held = held}).reads; };
  EXPECT_NEAR(reads({}) / kMiB, 1024 + 3072 * 5.0 / 6, 1e-6);
  EXPECT_NEAR(reads(128_MiB) / kMiB, 1024 + 3072 * 11.0 / 12, 1e-6);
  EXPECT_NEAR(reads(999_MiB) / kMiB, 1024 + 3072, 1e-6);
}

// Each window is 113,000 bytes of 4 MiB: 37 fit, 38 are 1.02377 of it, and at a quarter more everything is read twice.
TEST(GemmOperands, OneWindowTooManyInL2IsReadAgain) {
  const GemmShape shape{.m = 16384, .n = 16384, .k = 16384, .dtype = DType::bf16};
  const double again = 1 + (38 * 113000.0 / 4194304 - 1) / 0.25;
  EXPECT_NEAR(again, 1.0951, 1e-4);
  const auto expect_again = [&](double units, const GemmSurroundings& beside, double times) {
    const double once = traffic(shape, {256, 256, 1}, units, beside, L2Windows::ample).reads;
    EXPECT_NEAR(traffic(shape, {256, 256, 1}, units, beside).reads / once, times, 1e-9);
  };
  expect_again(38 * 8, {}, again);
  expect_again(37 * 8, {}, 1);
  expect_again(37 * 8, {.streams = 8}, again);  // workgroups of others have windows, too
  expect_again(8, {.streams = 8 * 99}, 2);
}

// On h100-8 operands of little are in L2 from the kernels before, weights only if six of them are.
TEST(GemmOperands, OfAFewMegabytesSomeAreWarm) {
  const Machine machine = at_fixed_clocks("h100-8");
  const auto reads = [&](const GemmShape& shape) {
    return GemmModel(shape, {128, 128, 1}, machine).terms(132, 1.98).traffic.reads;
  };
  EXPECT_EQ(reads({.m = 128, .n = 1024, .k = 1024, .dtype = DType::bf16}), 0);
  const GemmShape weights{.m = 128, .n = 8192, .k = 1024, .dtype = DType::bf16};
  EXPECT_DOUBLE_EQ(reads(weights), 8192.0 * 1024 * 2);  // 16 MiB, six times too much
  const GemmShape large{.m = 16384, .n = 8192, .k = 8192, .dtype = DType::bf16};
  EXPECT_GE(reads(large), static_cast<double>(read_bytes(large).value));
}

// --- Rates -----------------------------------------------------------------------------------------------------------

/// FLOP/s of 16384^3 with the tile that a library would take.
double achieved(DType dtype) {
  const GemmShape shape{.m = 16384, .n = 16384, .k = 16384, .dtype = dtype};
  return flops(shape) / estimate(shape, choose_tiling(shape, mi300x(), kUnits), kUnits).seconds;
}

// Published max-achievable: 708, 654 and 1273 TFLOP/s. 4096 tiles of 256 x 256 leave 4 % of the 14th wave idle.
TEST(GemmRates, LargeProductsReachNearlyWhatIsPublishedAsAchievable) {
  for (const auto& [dtype, published] :
       {std::pair(DType::bf16, 708e12), std::pair(DType::f16, 654e12), std::pair(DType::f8, 1273e12)}) {
    EXPECT_GE(achieved(dtype), 0.88 * published);
    EXPECT_LE(achieved(dtype), published);
  }
}

TEST(GemmRates, SmallerElementsAreFaster) {
  EXPECT_GT(achieved(DType::f8), 1.5 * achieved(DType::bf16));
  EXPECT_GT(achieved(DType::bf16), 4 * achieved(DType::f32));
}

TEST(GemmRates, AFewRowsTakeTheTimeOfTheWeights) {
  // 64 x 57344 x 8192: 940 MB of weights at 4.1 TB/s are 229 us; its GEMMs would take 85 us.
  const GemmShape shape{.m = 64, .n = 57344, .k = 8192, .dtype = DType::bf16};
  EXPECT_TRUE(is_memory_bound(shape, mi300x()));
  const double bytes = static_cast<double>(operand_bytes(shape).value);
  const double seconds = estimate(shape, choose_tiling(shape, mi300x(), kUnits), kUnits).seconds;
  EXPECT_GE(seconds, bytes / 4.1e12);
  EXPECT_LE(seconds, 1.25 * bytes / 4.1e12);
  EXPECT_FALSE(is_memory_bound({.m = 8192, .n = 8192, .k = 8192, .dtype = DType::bf16}, mi300x()));
}

// --- Results past the caches -----------------------------------------------------------------------------------------

TEST(GemmModelStreamed, LeavesTheTileOfCOut) {
  const GemmShape shape{.m = 8192, .n = 8192, .k = 1024, .dtype = DType::bf16};
  const GemmModel streamed(shape, {256, 256, 1}, mi300x(), L2Windows::modelled, ResultPath::streamed);
  EXPECT_EQ(streamed.demand({.running = 304, .units = 304}, kClock).memory_writes, 0);
  const GemmModel cached(shape, {256, 256, 1}, mi300x());
  EXPECT_DOUBLE_EQ(cached.demand({.running = 304, .units = 304}, kClock).memory_writes, 128 * kKiB);
}

}  // namespace gemm_model_test
}  // namespace cortado
