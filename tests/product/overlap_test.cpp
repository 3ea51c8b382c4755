// A GEMM next to a collective, in every way: planned, proved, and run on the embedded node, plain and adversarial.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"
#include "plan/cost.hpp"

namespace cortado::product {
namespace overlap_test {

/// Every way takes the same time, so that strategies decide by their rules and `auto` takes its first candidate.
class FlatCost : public CostModel {
 public:
  Result<Nanoseconds> gemm(const GemmShape&, std::uint32_t) const override { return Nanoseconds{1}; }
  Result<Nanoseconds> collective(const CollectiveRequest&) const override { return Nanoseconds{1}; }
  Result<Nanoseconds> together(const OverlapProblem&, const OverlapWay&) const override { return Nanoseconds{1}; }
};

/// The names of the collective's ways that `auto` looks at, and how each does.
class EveryWay : public FlatCost {
 public:
  Result<Nanoseconds> together(const OverlapProblem& /*request*/, const OverlapWay& way) const override {
    ways.push_back(way);
    return Nanoseconds{1};
  }
  mutable std::vector<OverlapWay> ways;
};

constexpr const char* kWays[] = {"serial", "c3", "c3-sp", "c3-rp", "c3-sp-rp", "conccl", "conccl-rp", "auto"};

class OverlapProduct : public testing::TestWithParam<std::tuple<Collective, std::uint32_t>> {
 protected:
  OverlapProblem request() const {
    const auto& [collective, ranks] = GetParam();
    const bool in_place = collective == "all-gather";
    return {.gemms = {{48, 40, 24, DType::f32}},
            .collectives = {{.collective = collective, .bytes = Bytes{1004}, .in_place = in_place}},
            .ranks = ranks};
  }

  void check(const OverlapProblem& problem, const OverlapWay& way) {
    const Result<Program> program = plan_overlap(problem, way, on_);
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

TEST_P(OverlapProduct, EveryWay) {
  for (const char* name : kWays) {
    SCOPED_TRACE(name);
    const auto way = choose_way(name, request(), on_, FlatCost{});
    ASSERT_TRUE(way) << to_string(way.error());
    check(request(), *way);
  }
}

TEST_P(OverlapProduct, EveryWayThatAutoLooksAt) {
  const EveryWay cost;
  ASSERT_TRUE(choose_way("auto", request(), on_, cost));
  ASSERT_GT(cost.ways.size(), std::size(kWays));
  for (const OverlapWay& way : cost.ways) {
    SCOPED_TRACE(describe(way.collective()));
    check(request(), way);
  }
}

// A layer of two GEMMs next to two collectives in sequence.
TEST_P(OverlapProduct, Sequences) {
  OverlapProblem layer = request();
  layer.gemms.push_back({16, 24, 32, DType::f32});
  layer.collectives.push_back({.collective = "reduce-scatter", .bytes = Bytes{768}});
  for (const char* name : kWays) {
    SCOPED_TRACE(name);
    const auto way = choose_way(name, layer, on_, FlatCost{});
    ASSERT_TRUE(way) << to_string(way.error());
    check(layer, *way);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OverlapProduct,
                         testing::Combine(testing::Values(Collective("all-gather"), Collective("all-to-all")),
                                          testing::Values(3U, 8U)));

}  // namespace overlap_test
}  // namespace cortado::product
