// A GEMM and a collective, one of which depends on the other: what cutting both brings.

#include <gtest/gtest.h>

#include "plan/ficco.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace dependent_products_test {

class DependentProducts : public testing::Test {
 protected:
  double milliseconds(const DependentRequest& request, const std::string& schedule) {
    return milliseconds(request, schedule, machine_);
  }
  double milliseconds(const DependentRequest& request, const std::string& schedule, const Machine& machine) {
    auto plan = plan_ficco(request, *find_schedule(schedule), machine);
    EXPECT_TRUE(plan) << to_string(plan.error());
    const auto verified = verify(std::move(plan->program), machine);
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
  // Llama-3 405B, weight gradient: 16384 x 16384 x 131072, columns of B divided among the GPUs.
  const DependentRequest request{.gemm = {16384, 2048, 131072, DType::bf16}};
  const double serial = milliseconds(request, "serial-dma");
  const double shards = milliseconds(request, "shard-p2p");
  EXPECT_GT(serial, kLink);
  EXPECT_GT(shards, 7 * kLink);
  EXPECT_GT(shards, 2 * serial);
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (info.schedule.grain != Grain::chunks) continue;
    const double time = milliseconds(request, info.name);
    EXPECT_GT(time, kLink) << info.name;
    EXPECT_LT(time, serial) << info.name;
  }
}

TEST_F(DependentProducts, PiecesOfAProductTravelWhileOthersAreMade) {
  // A link carries 32768 x 3584 x 2 bytes: 5.1 ms. The GEMM takes 22 ms, and sums are small.
  constexpr double kLink = 32768. * 3584 * 2 / 46e6;
  const DependentRequest request{.gemm = {262144, 3584, 8192, DType::bf16},
                                 .collective = "reduce-scatter",
                                 .dependence = Dependence::product_first};
  const double serial = milliseconds(request, "serial-dma");
  for (const FiccoScheduleInfo& info : list_schedules())
    EXPECT_GT(milliseconds(request, info.name), kLink) << info.name;
  EXPECT_LT(milliseconds(request, "hetero-unfused-1d"), serial);
}

TEST_F(DependentProducts, NothingIsFasterThanItsLinksAndItsProduct) {
  for (std::uint32_t ranks = 2; ranks <= 8; ++ranks) {
    // Between a pair of ranks travel the rows of a rank (gathered, or added up where they belong), or a part of them.
    const auto pair_ms = [&](const DependentRequest& request, std::uint64_t columns) {
      const std::uint64_t rows = request.gemm.m / ranks / (request.collective == "all-to-all" ? ranks : 1);
      return static_cast<double>(rows * columns * 2) / 46e6;
    };
    const GemmShape shape{5003, 1009 * 8, 2048, DType::bf16};
    for (const DependentRequest& request :
         {DependentRequest{.gemm = shape, .collective = "all-gather", .ranks = ranks},
          DependentRequest{.gemm = shape, .collective = "all-to-all", .ranks = ranks},
          DependentRequest{
              .gemm = shape, .collective = "reduce-scatter", .dependence = Dependence::product_first, .ranks = ranks},
          DependentRequest{
              .gemm = shape, .collective = "all-to-all", .dependence = Dependence::product_first, .ranks = ranks}}) {
      const bool product_first = request.dependence == Dependence::product_first;
      GemmShape of_a_rank = shape;
      if (request.collective == "all-to-all") of_a_rank.m /= ranks;
      // GEMMs of this much work at the sustained rate of all units, without any loss.
      const double product = flops(of_a_rank) / 708e9;
      const double links = pair_ms(request, product_first ? shape.n : shape.k);
      for (const FiccoScheduleInfo& info : list_schedules()) {
        const double time = milliseconds(request, info.name);
        EXPECT_GT(time, std::max(product, links)) << info.name << ' ' << request.collective.name() << ' ' << ranks;
        if (info.schedule.grain == Grain::whole) {
          EXPECT_GT(time, product + links) << request.collective.name() << ' ' << ranks;
        }
      }
    }
  }
}

TEST_F(DependentProducts, OneShardAtATimeIsEnoughBehindASwitch) {
  // The whole rate of a GPU goes to any peer there, and one engine gets most of it.
  const Machine switched = *load_machine("h100-8");
  const DependentRequest request{.gemm = {16384, 2048, 131072, DType::bf16}};
  EXPECT_LT(milliseconds(request, "shard-p2p", switched), milliseconds(request, "serial-dma", switched));
}

}  // namespace dependent_products_test
}  // namespace cortado::sim
