// Cases small enough to be solved by hand. Each states what is given, what follows, and the rates.
#include "sim/fluid/fluid.hpp"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado::sim {
namespace fluid_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<FlowId> solved(FluidSystem& fluid) {
  std::vector<FlowId> changed;
  for (const auto& [flow, rate] : fluid.solve()) {
    EXPECT_EQ(rate, fluid.rate(flow));
    changed.push_back(flow);
  }
  return changed;
}

FlowId add(FluidSystem& fluid, std::vector<ResourceUse> uses, FlowSpec spec = {}) {
  spec.uses = uses;
  return fluid.add_flow(spec);
}

// Given one link of 100 and four flows; so each may have 100 / 4.
TEST(Fluid, EqualFlowsShareALinkEqually) {
  FluidSystem fluid;
  const ResourceId link = fluid.add_resource(100);
  std::vector<FlowId> flows;
  for (int i = 0; i < 4; ++i) flows.push_back(add(fluid, {{link}}));
  EXPECT_EQ(solved(fluid).size(), 4u);
  for (const FlowId flow : flows) EXPECT_DOUBLE_EQ(fluid.rate(flow), 25);
  EXPECT_DOUBLE_EQ(fluid.load(link), 100);
  EXPECT_EQ(fluid.bottleneck(flows[0]), link);
}

// The example of the header. Given links A = 10 and B = 6, flow 1 on A, flow 2 on A and B, flow 3 on B with cap 2.
// Rising together: at 2 flow 3 is at its cap; then B fills when 2 + x = 6, x = 4; then A fills when 4 + x = 10, x = 6.
TEST(Fluid, LinksFillOneAfterTheOther) {
  FluidSystem fluid;
  const ResourceId a = fluid.add_resource(10);
  const ResourceId b = fluid.add_resource(6);
  const FlowId one = add(fluid, {{a}});
  const FlowId two = add(fluid, {{a}, {b}});
  const FlowId three = add(fluid, {{b}}, {.cap = 2});
  EXPECT_THAT(solved(fluid), UnorderedElementsAre(one, two, three));
  EXPECT_DOUBLE_EQ(fluid.rate(one), 6);
  EXPECT_DOUBLE_EQ(fluid.rate(two), 4);
  EXPECT_DOUBLE_EQ(fluid.rate(three), 2);
  EXPECT_EQ(fluid.bottleneck(one), a);
  EXPECT_EQ(fluid.bottleneck(two), b);
  EXPECT_EQ(fluid.bottleneck(three), std::nullopt);

  // Flow 3 leaves: B alone would give flow 2 all of its 6, A gives each 5, which is less. B is no longer full.
  fluid.remove_flow(three);
  EXPECT_THAT(solved(fluid), UnorderedElementsAre(one, two));
  EXPECT_DOUBLE_EQ(fluid.rate(one), 5);
  EXPECT_DOUBLE_EQ(fluid.rate(two), 5);
  EXPECT_DOUBLE_EQ(fluid.load(b), 5);
  EXPECT_EQ(fluid.bottleneck(two), a);
}

// Given weights 1 and 3 on a link of 100: the normalised rate L solves 1 L + 3 L = 100, L = 25.
TEST(Fluid, WeightsAreSharesOfABottleneck) {
  FluidSystem fluid;
  const ResourceId link = fluid.add_resource(100);
  const FlowId light = add(fluid, {{link}}, {.weight = 1});
  const FlowId heavy = add(fluid, {{link}}, {.weight = 3});
  fluid.solve();
  EXPECT_DOUBLE_EQ(fluid.rate(light), 25);
  EXPECT_DOUBLE_EQ(fluid.rate(heavy), 75);
  fluid.set_weight(heavy, 1);
  EXPECT_THAT(solved(fluid), UnorderedElementsAre(light, heavy));
  EXPECT_DOUBLE_EQ(fluid.rate(light), 50);
}

// Given a memory of 90 that a copy inside it crosses twice (read and write) and a reader crosses once: equal rates x
// with 2 x + x = 90. Naming the memory twice or with factor 2 is the same.
TEST(Fluid, FactorIsWhatAUnitOfRateTakes) {
  FluidSystem fluid;
  const ResourceId memory = fluid.add_resource(90);
  const FlowId reader = add(fluid, {{memory}});
  const FlowId copy = add(fluid, {{memory}, {memory}});
  fluid.solve();
  EXPECT_DOUBLE_EQ(fluid.rate(reader), 30);
  EXPECT_DOUBLE_EQ(fluid.rate(copy), 30);
  EXPECT_DOUBLE_EQ(fluid.load(memory), 90);
  fluid.remove_flow(copy);
  const FlowId again = add(fluid, {{memory, 2.0}});
  fluid.solve();
  EXPECT_DOUBLE_EQ(fluid.rate(again), 30);
}

// Given caps 10 and 20 on a link of 100 with a third flow without: it gets 100 - 10 - 20.
TEST(Fluid, WhatCappedFlowsLeaveGoesToTheOthers) {
  FluidSystem fluid;
  const ResourceId link = fluid.add_resource(100);
  const FlowId ten = add(fluid, {{link}}, {.cap = 10});
  const FlowId twenty = add(fluid, {{link}}, {.cap = 20});
  const FlowId rest = add(fluid, {{link}});
  fluid.solve();
  EXPECT_DOUBLE_EQ(fluid.rate(rest), 70);
  // With cap 60 the second is above the fair share of the rest, (100 - 10) / 2 = 45.
  fluid.set_cap(twenty, 60);
  EXPECT_THAT(solved(fluid), UnorderedElementsAre(twenty, rest));
  EXPECT_DOUBLE_EQ(fluid.rate(twenty), 45);
  EXPECT_DOUBLE_EQ(fluid.rate(rest), 45);
  EXPECT_DOUBLE_EQ(fluid.rate(ten), 10);
}

// Given a link of 100: class 2 wants 60 and has it, class 1 shares the 40 left as 20 and 20, class 0 has nothing. When
// the class 2 flow leaves, class 1 shares 100. When one of class 1 is capped at 30 and the other at 40, class 0 has 30.
TEST(Fluid, HigherClassesAreServedFirst) {
  FluidSystem fluid;
  const ResourceId link = fluid.add_resource(100);
  const FlowId low = add(fluid, {{link}}, {.priority = 0});
  const FlowId middle1 = add(fluid, {{link}}, {.priority = 1});
  const FlowId middle2 = add(fluid, {{link}}, {.priority = 1});
  const FlowId high = add(fluid, {{link}}, {.cap = 60, .priority = 2});
  EXPECT_THAT(solved(fluid), UnorderedElementsAre(middle1, middle2, high));
  EXPECT_DOUBLE_EQ(fluid.rate(high), 60);
  EXPECT_DOUBLE_EQ(fluid.rate(middle1), 20);
  EXPECT_DOUBLE_EQ(fluid.rate(middle2), 20);
  EXPECT_EQ(fluid.rate(low), 0);
  EXPECT_EQ(fluid.bottleneck(low), link);
  fluid.remove_flow(high);
  fluid.solve();
  EXPECT_DOUBLE_EQ(fluid.rate(middle1), 50);
  EXPECT_EQ(fluid.rate(low), 0);
  fluid.set_cap(middle1, 30);
  fluid.set_cap(middle2, 40);
  EXPECT_THAT(solved(fluid), UnorderedElementsAre(low, middle1, middle2));
  EXPECT_DOUBLE_EQ(fluid.rate(low), 30);
}

// A high flow that another link holds back leaves room for low ones: class 1 on links of 100 and 30 has 30, class 0 on
// the first has 70.
TEST(Fluid, AHigherClassTakesOnlyWhatItCanUse) {
  FluidSystem fluid;
  const ResourceId wide = fluid.add_resource(100);
  const ResourceId narrow = fluid.add_resource(30);
  const FlowId high = add(fluid, {{wide}, {narrow}}, {.priority = 1});
  const FlowId low = add(fluid, {{wide}});
  fluid.solve();
  EXPECT_DOUBLE_EQ(fluid.rate(high), 30);
  EXPECT_DOUBLE_EQ(fluid.rate(low), 70);
  fluid.set_capacity(narrow, 90);
  fluid.solve();
  EXPECT_DOUBLE_EQ(fluid.rate(high), 90);
  EXPECT_DOUBLE_EQ(fluid.rate(low), 10);
}

TEST(Fluid, ACapacityOfZeroStopsItsFlows) {
  FluidSystem fluid;
  const ResourceId link = fluid.add_resource(50);
  const FlowId flow = add(fluid, {{link}});
  fluid.solve();
  fluid.set_capacity(link, 0);
  EXPECT_THAT(solved(fluid), ElementsAre(flow));
  EXPECT_EQ(fluid.rate(flow), 0);
  fluid.set_capacity(link, 20);
  EXPECT_THAT(solved(fluid), ElementsAre(flow));
  EXPECT_DOUBLE_EQ(fluid.rate(flow), 20);
}

TEST(Fluid, AFlowWithoutResourcesRunsAtItsCap) {
  FluidSystem fluid;
  const FlowId flow = add(fluid, {}, {.cap = 5});
  EXPECT_THAT(solved(fluid), ElementsAre(flow));
  EXPECT_EQ(fluid.rate(flow), 5);
  fluid.remove_flow(flow);
  EXPECT_THAT(solved(fluid), IsEmpty());
}

TEST(FluidDeathTest, RefusesWhatHasNoSolution) {
  FluidSystem fluid;
  const ResourceId link = fluid.add_resource(1);
  EXPECT_DEATH(fluid.add_resource(-1), "capacity");
  EXPECT_DEATH(fluid.add_resource(kUnlimited), "capacity");
  EXPECT_DEATH(add(fluid, {}), "needs a cap");
  EXPECT_DEATH(add(fluid, {{link, 0.0}}), "factor");
  EXPECT_DEATH(add(fluid, {{link}}, {.weight = 0}), "weight");
  EXPECT_DEATH(add(fluid, {{link}}, {.priority = 4}), "priority");
  EXPECT_DEATH(add(fluid, {{ResourceId{7}}}), "no such resource");
  EXPECT_DEATH(fluid.remove_flow(FlowId{0}), "no such flow");
}

}  // namespace fluid_test
}  // namespace cortado::sim
