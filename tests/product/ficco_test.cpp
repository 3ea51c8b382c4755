// A product and the collective that it depends on, by every schedule: planned, proved, and run on the embedded node,
// plain and adversarial.
#include "cortado/plan/ficco.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"

namespace cortado::product {
namespace {

class FiccoProduct : public testing::TestWithParam<std::uint32_t> {
 protected:
  void check(const DependentRequest& request, std::uint32_t chunks) {
    for (const FiccoScheduleInfo& info : list_schedules()) {
      for (const CollectiveMeans means : {CollectiveMeans::dma, CollectiveMeans::cores}) {
        SCOPED_TRACE(
            fmt::format("{} {}, {} chunks, {}", request.collective, to_string(request.gemm), chunks, info.name));
        FiccoSchedule schedule = info.schedule;
        schedule.chunks = chunks;
        schedule.means = means;
        const auto plan = plan_ficco(request, schedule, on_);
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

TEST_P(FiccoProduct, AllGather) {
  check({.gemm = {64, 24, 64, DType::f32}, .ranks = GetParam()}, 0);
  check({.gemm = {61, 19, 40, DType::bf16}, .ranks = GetParam()}, 3);
}

TEST_P(FiccoProduct, AllToAll) {
  check({.gemm = {129, 24, 32, DType::f32}, .collective = "all-to-all", .ranks = GetParam()}, 2);
  // Rank 0 gets most, the last rank nothing, and nobody keeps a row.
  std::vector<std::vector<std::uint64_t>> tokens(GetParam(), std::vector<std::uint64_t>(GetParam()));
  std::uint64_t all = 0;
  for (std::uint32_t from = 0; from < GetParam(); ++from) {
    for (std::uint32_t to = 0; to < GetParam(); ++to) {
      tokens[from][to] = from == to || to + 1 == GetParam() ? 0 : (to == 0 ? 9 : 1 + from % 3);
      all += tokens[from][to];
    }
  }
  check({.gemm = {all, 16, 24, DType::bf16}, .collective = "all-to-all", .ranks = GetParam(), .tokens = tokens}, 3);
}

INSTANTIATE_TEST_SUITE_P(Ranks, FiccoProduct, testing::Values(2U, 3U, 5U, 8U));

}  // namespace
}  // namespace cortado::product
