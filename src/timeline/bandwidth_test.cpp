#include <gtest/gtest.h>

#include "cortado/program.hpp"
#include "cortado/timeline.hpp"

namespace cortado {
namespace bandwidth_test {

TEST(Bandwidth, BusFactorsFollowNcclTests) {
  // n = 8: (n-1)/n = 7/8 = 0.875, 2(n-1)/n = 1.75.
  EXPECT_DOUBLE_EQ(bus_factor("all-gather", 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor("reduce-scatter", 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor("all-to-all", 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor("gather", 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor("scatter", 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor("all-reduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor("broadcast", 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor("point-to-point", 2), 1);
}

TEST(Bandwidth, GigabytesAreDecimal) {
  EXPECT_DOUBLE_EQ(bandwidth_gbps({48'000}, {1'000}), 48);  // 48 kB in a microsecond = 48e9 B/s
  EXPECT_DOUBLE_EQ(bandwidth_gbps({48'000}, {0}), 0);
}

TEST(Bandwidth, WholeBufferOfAGatheringIsTheOutput) {
  // Two ranks gather blocks of 100 bytes in place: input r is a part of output r, each output has 200 bytes.
  ProgramBuilder builder("ag", "m", 2);
  std::vector<Region> inputs;
  std::vector<Region> outputs;
  for (std::uint32_t r = 0; r < 2; ++r) {
    const BufferId buffer = builder.buffer("b", RankId{r}, {256}, BufferRole::inout);
    inputs.push_back(make_region(buffer, {100 * r}, {100}));
    outputs.push_back(make_region(buffer, {0}, {200}));
  }
  builder.contract(all_gather_contract(inputs, outputs));
  EXPECT_EQ(whole_buffer(std::move(builder).finish()), Bytes{200});
}

TEST(Bandwidth, WholeBufferOfAScatterIsTheRootsInput) {
  ProgramBuilder builder("scatter", "m", 2);
  const BufferId root = builder.buffer("in", RankId{0}, {200}, BufferRole::input);
  const BufferId out0 = builder.buffer("out0", RankId{0}, {100}, BufferRole::output);
  const BufferId out1 = builder.buffer("out1", RankId{1}, {100}, BufferRole::output);
  builder.contract(scatter_contract({make_region(root, {0}, {100}), make_region(root, {100}, {100})},
                                    {make_region(out0, {0}, {100}), make_region(out1, {0}, {100})}));
  EXPECT_EQ(whole_buffer(std::move(builder).finish()), Bytes{200});
}

}  // namespace bandwidth_test
}  // namespace cortado
