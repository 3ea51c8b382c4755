// Clocks of GEMMs under the cap of the board.
#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "gemm/testing.hpp"

namespace cortado {
namespace clock_test {

double clock_of(const GemmShape& shape, const Machine& machine, std::uint32_t units) {
  const GemmModel model(shape, choose_tiling(shape, machine, units), machine);
  return gemm_clock_ghz(model, machine, units);
}

const GemmShape kLarge{.m = 8192, .n = 8192, .k = 8192, .dtype = DType::bf16};

// 708 TFLOP/s are published at 1.207 GHz with all units at work; here some are idle in the last wave.
TEST(GemmClock, ALargeProductDrawsTheCap) {
  const Machine machine = load_machine("mi300x-8").value();
  const Tiling tiling = choose_tiling(kLarge, machine, 304);
  const GemmModel model(kLarge, tiling, machine);
  const double clock = gemm_clock_ghz(model, machine, 304);
  EXPECT_NEAR(clock, 1.207, 0.1);
  EXPECT_NEAR(gemm_watts(model, machine, 304, clock), machine.power->cap_w, 5);
}

// Of MI300X at the lowest clocks the dies beside the compute dies save, with 6 % of loss: iod leakage 30 (1 - (0.65 /
// 0.8)^3) and clock trees 92 (1 - (0.65 / 0.8)^2 0.9 / 1.8), hbm clock trees 14 (1 - 0.9 / 1.3); and of what bytes take
// 34 % in the iod.
TEST(GemmClock, TheOthersComeDownToo) {
  const Machine machine = load_machine("mi300x-8").value();
  const GemmModel model(kLarge, choose_tiling(kLarge, machine, 304), machine);
  const double lowest = machine.power->xcd->curve.lowest();
  const double bytes = model.terms(304, lowest).traffic.beyond_l2;
  const double seconds = model.seconds(304, lowest) + static_cast<double>(gemm_start(machine).value) * 1e-9;
  const double idle = 30 * (1 - 0.536377) + 92 * (1 - 0.660156 / 2) + 14 * (1 - 0.9 / 1.3);
  const double saved = 1.06 * (idle + (1 - 0.660156) * bytes * machine.power->cache_byte / seconds);
  EXPECT_NEAR(gemm_watts(model, machine, 304, lowest) - least_gemm_watts(model, machine, 304), saved, 0.01 * saved);
}

TEST(GemmClock, IsTheSameFromMemory) {
  const Machine machine = load_machine("mi300x-8").value();
  GemmClocks clocks(machine);
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t m : {512U, 8192U}) {
      for (const std::uint32_t units : {304U, 64U}) {
        const GemmModel model({.m = m, .n = 8192, .k = 8192, .dtype = DType::bf16}, {256, 256, 1}, machine);
        EXPECT_EQ(clocks.of(model, units), gemm_clock_ghz(model, machine, units));
      }
    }
  }
}

// Clocks are remembered, but not those of a machine that differs.
TEST(GemmClock, IsThatOfTheMachine) {
  const Machine machine = load_machine("mi300x-8").value();
  Machine capped = machine;
  capped.power->cap_w = 500;
  Machine slow = machine;
  slow.timing->compute->bf16.flops_per_clock /= 2;
  const double clock = clock_of(kLarge, machine, 304);
  EXPECT_LT(clock_of(kLarge, capped, 304), clock);
  EXPECT_GT(clock_of(kLarge, slow, 304), clock);
  EXPECT_EQ(clock_of(kLarge, machine, 304), clock);
}

TEST(GemmClock, RisesAsFewerUnitsWork) {
  const Machine machine = load_machine("mi300x-8").value();
  double before = 0;
  for (const std::uint32_t units : {304U, 240U, 160U, 96U, 64U}) {
    const double clock = clock_of(kLarge, machine, units);
    EXPECT_GE(clock, before) << units;
    before = clock;
  }
  EXPECT_EQ(before, machine.power->xcd->nominal_ghz);
}

TEST(GemmClock, IsThatOfTheFileWhereItIsFixedOrPowerIsNotDescribed) {
  EXPECT_EQ(clock_of(kLarge, mi300x(), 64), 1.207);
  const Machine machine = load_machine("mi355x-8").value();
  EXPECT_EQ(clock_of(kLarge, machine, 256), sustained_clock_ghz(DType::bf16, machine));
}

// 54 calls of 16384^3 take 0.6 s, those of 2048^3 a millisecond.
TEST(GemmClock, ShortBenchmarksKeepTheNominalClock) {
  Machine machine = load_machine("h100-8").value();
  machine.clock = ClockMode::bursts;
  const double nominal = machine.power->xcd->nominal_ghz;
  EXPECT_EQ(clock_of({.m = 2048, .n = 2048, .k = 2048, .dtype = DType::bf16}, machine, 132), nominal);
  EXPECT_LT(clock_of({.m = 16384, .n = 16384, .k = 16384, .dtype = DType::bf16}, machine, 132), 0.95 * nominal);
}

// The parts of a split GEMM together are a load as long as the whole: none runs at a higher clock because it is short.
TEST(GemmClock, PartsOfASplitGemmKeepTheClockOfTheWhole) {
  for (const char* name : {"h100-8", "h200-8", "b200-8"}) {
    const Machine machine = load_machine(name).value();
    const GemmShape whole{.m = 65536, .n = 14336, .k = 8192, .dtype = DType::bf16};
    GemmShape part = whole;
    part.m /= 8;
    const double of_whole = clock_of(whole, machine, machine.compute_units);
    EXPECT_LT(of_whole, machine.power->xcd->nominal_ghz) << name;
    EXPECT_NEAR(clock_of(part, machine, machine.compute_units), of_whole, 0.02 * of_whole) << name;
  }
}

}  // namespace clock_test
}  // namespace cortado
