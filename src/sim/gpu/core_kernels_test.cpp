// Collectives by compute units: launches, flags and compute units.
#include <gtest/gtest.h>

#include "cortado/plan.hpp"

#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace core_kernels_test {

std::int64_t time_of(const CollectiveRequest& request, const Machine& machine) {
  auto program = plan_collective(request, machine);
  EXPECT_TRUE(program) << to_string(program.error());
  const auto verified = verify(*std::move(program), machine);
  EXPECT_TRUE(verified) << to_string(verified.error().front());
  const auto result = simulate(*verified);
  EXPECT_TRUE(result) << to_string(result.error());
  return median_time(result->timeline).value;
}

std::int64_t time_of(const CollectiveRequest& request, const std::string& machine_name) {
  return time_of(request, load_machine(machine_name).value());
}

// virtual-64: launch 5000, start 2000, flag 1000, poll 20 ns; links of 50 GB/s, so that 100 bytes take 2 ns. Work
// within a GPU takes less than 0.1 ns at these sizes.
constexpr std::int64_t kBegin = 5000 + 2000;
constexpr std::int64_t kDone = 1000 + 20;  // the flag to the host and its poll

CollectiveRequest blocks_of_100_bytes(Collective collective, const std::string& variant) {
  return {.collective = collective, .variant = variant, .bytes = 200_B, .ranks = 2, .in_place = true};
}

TEST(CoreKernelTimes, FlagsBesideTheDataCostOneFlagAndTwiceTheBytes) {
  EXPECT_EQ(time_of(blocks_of_100_bytes("all-gather", "cores-ll"), "virtual-64"), kBegin + 2 * 2 + 1000 + kDone);
}

TEST(CoreKernelTimes, AHandshakeCostsTwoFlags) {
  EXPECT_EQ(time_of(blocks_of_100_bytes("all-gather", "cores-simple"), "virtual-64"), kBegin + 1000 + 2 + 1000 + kDone);
}

TEST(CoreKernelTimes, AllReduceIsTwoExchanges) {
  // To the owner, and back; the flag from the adding part to the sending ones stays on the GPU and costs nothing. The
  // host looks at the counter of the adding part as well.
  EXPECT_EQ(time_of(blocks_of_100_bytes("all-reduce", "cores-ll"), "virtual-64"),
            kBegin + (2 * 2 + 1000) + (2 * 2 + 1000) + kDone + 20);
  EXPECT_EQ(time_of(blocks_of_100_bytes("reduce-scatter", "cores-ll"), "virtual-64"), kBegin + 2 * 2 + 1000 + kDone);
}

TEST(CoreKernelTimes, AKernelOfManyPartsIsLaunchedOnce) {
  // Seven parts: one launch as before; the host looks at seven counters. All seven links work at once.
  const CollectiveRequest request{
      .collective = "all-gather", .variant = "cores-ll", .bytes = 800_B, .ranks = 8, .in_place = true};
  EXPECT_EQ(time_of(request, "virtual-64"), kBegin + 2 * 2 + 1000 + kDone + 6 * 20);
}

TEST(CoreKernelTimes, SendsAndReceivesAreCallsOfTheHost) {
  // As the all-gather with a handshake, and one send and one receive of 500 ns each. They are two parts: the host looks
  // at two counters.
  CollectiveRequest request = blocks_of_100_bytes("all-to-all", "cores-simple");
  request.in_place = false;
  request.own_block = false;
  EXPECT_EQ(time_of(request, "virtual-64"), kBegin + 2 * 500 + 1000 + 2 + 1000 + kDone + 20);
}

// Two steps of 2 ns and a flag; the sum at the end stays on the GPU.
TEST(CoreKernelTimes, EveryStepOfARingCostsItsBytesAndAFlag) {
  for (const Collective collective : {Collective("all-gather"), Collective("reduce-scatter")}) {
    const CollectiveRequest request{
        .collective = collective, .variant = "cores-ring", .bytes = 300_B, .ranks = 3, .in_place = true};
    EXPECT_EQ(time_of(request, "virtual-64"), kBegin + 2 * (2 + 1000) + kDone) << collective.name();
  }
}

// Blocks of 1 MB among 3 ranks, one compute unit each: 10 GB/s to a peer, 40 GB/s in its own memory. Step 1 copies;
// step 2 adds, two reads here and a write to the neighbour; the sum at the end is two reads and a write here.
TEST(CoreKernelTimes, SumsForANeighbourAreMadeAtTheRateOfCopies) {
  Machine machine = load_machine("virtual-64").value();
  const CollectiveRequest request{.collective = "reduce-scatter",
                                  .variant = "cores-ring",
                                  .bytes = Bytes{3'000'000},
                                  .ranks = 3,
                                  .in_place = true,
                                  .compute_units = 1};
  constexpr std::int64_t kFlags = kBegin + 2 * 1000 + kDone;
  constexpr std::int64_t kLastSum = 3'000'000 / 40;
  EXPECT_EQ(time_of(request, machine), kFlags + 100'000 + 100'000 + kLastSum);
  // Two reads at 10 GB/s are slower than the write.
  machine.timing->cores.local_rate = {10};
  EXPECT_EQ(time_of(request, machine), kFlags + 100'000 + 200'000 + 300'000);
}

// Five units could just fill the link of 50 GB/s. With sharpness s the time is 2^(1/s) times that of a true corner.
TEST(CoreKernelTimes, AroundTheCornerOfALinkBothItAndTheUnitsCount) {
  Machine machine = load_machine("virtual-64").value();
  CollectiveRequest request{.collective = "all-gather",
                            .variant = "cores-ring",
                            .bytes = Bytes{2'000'000},
                            .ranks = 2,
                            .in_place = true,
                            .compute_units = 5};
  constexpr std::int64_t kFlags = kBegin + 1000 + kDone;
  EXPECT_EQ(time_of(request, machine), kFlags + 20'000);
  machine.timing->cores.sharpness = 1;
  EXPECT_EQ(time_of(request, machine), kFlags + 40'000);
  machine.timing->cores.sharpness = 2;
  EXPECT_NEAR(static_cast<double>(time_of(request, machine)), kFlags + 28'284.3, 1);
}

// Published: an all-gather kernel on MI300X saturates the links with about 32 compute units. A part has a seventh of
// them; four at 10.1 GB/s feed what stores can use of a link, 0.763 * 46 = 35.1 GB/s.
TEST(CoreKernelTimes, AllGatherOnMi300xSaturatesAt32ComputeUnits) {
  const Timing timing = *load_machine("mi300x-8").value().timing;
  const double wire = timing.cores.wire_efficiency * timing.link.rate.value;
  const double unit = timing.cores.copy_rate.value;
  const auto with = [](std::uint32_t units) {
    return static_cast<double>(time_of({.collective = "all-gather",
                                        .variant = "cores-simple",
                                        .bytes = 512_MiB,
                                        .in_place = true,
                                        .compute_units = units},
                                       "mi300x-8"));
  };
  const double all = with(304);
  EXPECT_NEAR(with(32) / all, 1, 0.001);
  EXPECT_NEAR(with(21) / all, wire / (3 * unit), 0.01);
  EXPECT_NEAR(with(14) / all, wire / (2 * unit), 0.01);
}

}  // namespace core_kernels_test
}  // namespace cortado::sim
