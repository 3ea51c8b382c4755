// A GEMM and the collective that it depends on, by every schedule and exchange: planned, proved, and run on the
// embedded node, plain and adversarial.
#include "plan/ficco.hpp"

#include <array>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::product {
namespace ficco_test {

constexpr std::array<std::pair<CollectiveMeans, ExchangeVariant>, 5> kMeans{{
    {CollectiveMeans::dma, ExchangeVariant::pcpy},
    {CollectiveMeans::dma, ExchangeVariant::bcst},
    {CollectiveMeans::dma, ExchangeVariant::b2b},
    {CollectiveMeans::cores, ExchangeVariant::automatic},
    {CollectiveMeans::stores, ExchangeVariant::pcpy},
}};

class FiccoProduct : public testing::TestWithParam<std::uint32_t> {
 protected:
  void check(const DependentRequest& request, std::uint32_t chunks) {
    const bool product_first = request.dependence == Dependence::product_first;
    std::vector<FiccoScheduleInfo> schedules = list_schedules();
    for (const FiccoScheduleInfo& info : list_tile_schedules()) {
      if (product_first || info.schedule.grain != Grain::waves) schedules.push_back(info);
    }
    for (const FiccoScheduleInfo& info : schedules) {
      FiccoSchedule schedule = info.schedule;
      schedule.chunks = chunks;
      for (const auto& [means, exchange] : kMeans) {
        if (means == CollectiveMeans::stores && !(product_first && has_tiles(schedule.grain))) continue;
        SCOPED_TRACE(fmt::format("{} {}, {} chunks, {} {}", request.collective, to_string(request.gemm), chunks,
                                 info.name, name_of(exchange)));
        schedule.means = means;
        schedule.exchange = exchange;
        const auto plan = plan_ficco(request, schedule, on_);
        if (!plan && exchange == ExchangeVariant::bcst && plan.error().code == "ficco.exchange") continue;
        ASSERT_TRUE(plan) << to_string(plan.error());
        const auto verified = verify(plan->program, on_);
        ASSERT_TRUE(verified) << to_text(verified.error());
        ASSERT_EQ(plain_.run(*verified), "");
        ASSERT_EQ(adversarial_.run(*verified), "");
      }
    }
  }

  const Machine& on_ = machine("mi300x-8");
  Node plain_{on_, GetParam(), std::nullopt};
  Node adversarial_{on_, GetParam(), 11};
};

/// Rank 0 gets most rows, the last rank none, and no rank keeps a row of its own.
std::vector<std::vector<std::uint64_t>> uneven_tokens(std::uint32_t ranks) {
  std::vector<std::vector<std::uint64_t>> tokens(ranks, std::vector<std::uint64_t>(ranks));
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to + 1 < ranks; ++to) {
      if (from != to) tokens[from][to] = to == 0 ? 9 : 1 + from % 3;
    }
  }
  return tokens;
}

std::uint64_t sum(const std::vector<std::vector<std::uint64_t>>& tokens) {
  std::uint64_t all = 0;
  for (const auto& row : tokens) all = std::accumulate(row.begin(), row.end(), all);
  return all;
}

TEST_P(FiccoProduct, AllGather) {
  check({.gemm = {64, 24, 64, DType::f32}, .ranks = GetParam()}, 0);
  check({.gemm = {61, 19, 40, DType::bf16}, .ranks = GetParam()}, 3);
}

TEST_P(FiccoProduct, ReduceScatter) {
  DependentRequest request{
      .collective = "reduce-scatter", .dependence = Dependence::product_first, .ranks = GetParam()};
  request.gemm = {64, 64, 24, DType::f32};
  check(request, 0);
  request.gemm = {61, 40, 19, DType::bf16};
  check(request, 3);
}

TEST_P(FiccoProduct, AllToAll) {
  const auto tokens = uneven_tokens(GetParam());
  for (const Dependence dependence : {Dependence::collective_first, Dependence::product_first}) {
    DependentRequest request{.collective = "all-to-all", .dependence = dependence, .ranks = GetParam()};
    request.gemm = {129, 32, 32, DType::f32};
    check(request, 2);
    request.gemm = {sum(tokens), 24, 24, DType::bf16};
    request.tokens = tokens;
    check(request, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, FiccoProduct, testing::ValuesIn(swept_ranks({2, 3, 4, 5, 6, 7, 8})));

}  // namespace ficco_test
}  // namespace cortado::product
