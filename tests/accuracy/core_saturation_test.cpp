// Collectives on compute units stop to gain at the published numbers of them: an all-gather at 32, an all-to-all at 64
// (ConCCL on 8 MI300X).
#include <gtest/gtest.h>

#include "pipeline/choose.hpp"

namespace cortado {
namespace core_saturation_test {

/// Of 896 MiB, the gathered weights of one layer of LLaMA-70B.
double microseconds_on(const Machine& machine, Collective collective, std::uint32_t units) {
  const auto time =
      pipeline::simulated_cost(machine)->collective({.collective = collective,
                                                     .variant = "cores-simple",
                                                     .bytes = 896_MiB,
                                                     .in_place = default_in_place(collective, "cores-simple"),
                                                     .compute_units = units});
  EXPECT_TRUE(time) << to_string(time.error());
  return time ? microseconds(*time) : 0;
}

void expect_saturation_at(Collective collective, std::uint32_t enough) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  const double best = microseconds_on(*machine, collective, 128);
  for (const std::uint32_t units : {8U, 16U, 32U, 64U}) {
    const double time = microseconds_on(*machine, collective, units);
    if (units >= enough) {
      EXPECT_LE(time, 1.05 * best) << units << " compute units";
    } else {
      EXPECT_GE(time, 1.3 * best) << units << " compute units";
    }
  }
}

TEST(CoreSaturation, AllGatherNeeds32ComputeUnits) {
  expect_saturation_at("all-gather", 32);
}

TEST(CoreSaturation, AllToAllNeeds64ComputeUnits) {
  expect_saturation_at("all-to-all", 64);
}

}  // namespace core_saturation_test
}  // namespace cortado
