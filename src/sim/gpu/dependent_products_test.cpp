// A product and the all-gather that it depends on, on 8 MI300X: what cutting both brings.

#include <gtest/gtest.h>

#include "cortado/plan/ficco.hpp"
#include "cortado/sim/simulate.hpp"

namespace cortado::sim {
namespace {

class DependentProducts : public testing::Test {
 protected:
  double milliseconds(const std::string& schedule) {
    // Llama-3 405B, weight gradient: 16384 x 16384 x 131072, columns of B divided among the GPUs.
    const DependentRequest request{.gemm = {16384, 2048, 131072, DType::bf16}};
    auto plan = plan_ficco(request, *find_schedule(schedule), machine_);
    EXPECT_TRUE(plan) << to_string(plan.error());
    const auto verified = verify(std::move(plan->program), machine_);
    EXPECT_TRUE(verified) << to_string(verified.error().front());
    const auto result = simulate(*verified);
    EXPECT_TRUE(result) << to_string(result.error());
    return static_cast<double>(result->timeline.iteration_times.front().value) / 1e6;
  }

  const Machine machine_ = *load_machine("mi300x-8");
};

TEST_F(DependentProducts, ChunksAreFasterThanSerialAndShardsSlower) {
  // A rank brings its 2048 x 131072 x 2 bytes over each link at 46 GB/s at most: 11.67 ms. One link at a time: 7 times.
  constexpr double kLink = 2048. * 131072 * 2 / 46e6;
  const double serial = milliseconds("serial");
  const double shards = milliseconds("shard-p2p");
  EXPECT_GT(serial, kLink);
  EXPECT_GT(shards, 7 * kLink);
  EXPECT_GT(shards, 2 * serial);
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (info.schedule.grain != Grain::chunks) continue;
    const double time = milliseconds(info.name);
    EXPECT_GT(time, kLink) << info.name;
    EXPECT_LT(time, serial) << info.name;
  }
}

}  // namespace
}  // namespace cortado::sim
