// A product beside a collective, by every policy: planned, proved, and run on the embedded node, plain and adversarial.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cortado/plan/cost.hpp"

#include "harness.hpp"

namespace cortado::product {
namespace overlap_test {

/// Every way takes the same time, so that policies decide by their rules and `auto` takes its first candidate.
class FlatCost : public CostModel {
 public:
  Result<Nanoseconds> gemm(const GemmShape&, std::uint32_t) const override { return Nanoseconds{1}; }
  Result<Nanoseconds> collective(const CollectiveRequest&) const override { return Nanoseconds{1}; }
  Result<Nanoseconds> together(const OverlapRequest&, const OverlapWay&) const override { return Nanoseconds{1}; }
};

/// The names of the collective's ways that `auto` looks at, and how each does.
class EveryWay : public FlatCost {
 public:
  Result<Nanoseconds> together(const OverlapRequest& /*request*/, const OverlapWay& way) const override {
    ways.push_back(way);
    return Nanoseconds{1};
  }
  mutable std::vector<OverlapWay> ways;
};

class OverlapProduct : public testing::TestWithParam<std::tuple<Collective, std::uint32_t>> {
 protected:
  OverlapRequest request() const {
    const auto& [collective, ranks] = GetParam();
    const bool in_place = collective == "all-gather";
    return {.gemm = {48, 40, 24, DType::f32},
            .collective = {.collective = collective, .bytes = Bytes{1004}, .ranks = ranks, .in_place = in_place}};
  }

  void check(const OverlapWay& way) {
    const Result<Program> program = plan_overlap(request(), way, on_);
    ASSERT_TRUE(program) << to_string(program.error());
    const auto verified = verify(*program, on_);
    ASSERT_TRUE(verified) << to_text(verified.error());
    Node plain(on_, program->ranks, std::nullopt);
    ASSERT_EQ(plain.run(*verified), "");
    Node adversarial(on_, program->ranks, 7);
    ASSERT_EQ(adversarial.run(*verified), "");
  }

  const Machine& on_ = machine("mi300x-8");
};

TEST_P(OverlapProduct, EveryPolicy) {
  for (const PolicyInfo& policy : list_policies()) {
    SCOPED_TRACE(policy.name);
    const auto way = choose_way(policy.name, request(), on_, FlatCost{});
    ASSERT_TRUE(way) << to_string(way.error());
    check(*way);
  }
}

TEST_P(OverlapProduct, EveryWayThatAutoLooksAt) {
  const EveryWay cost;
  ASSERT_TRUE(choose_way("auto", request(), on_, cost));
  ASSERT_GT(cost.ways.size(), list_policies().size());
  for (const OverlapWay& way : cost.ways) {
    SCOPED_TRACE(describe(way.collective));
    check(way);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OverlapProduct,
                         testing::Combine(testing::Values(Collective("all-gather"), Collective("all-to-all")),
                                          testing::Values(3U, 8U)));

}  // namespace overlap_test
}  // namespace cortado::product
