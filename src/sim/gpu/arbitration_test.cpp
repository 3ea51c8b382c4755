// Who is served by a full memory.
#include "sim/gpu/arbitration.hpp"

#include <gtest/gtest.h>

#include "cortado/machine.hpp"

#include "sim/fluid/fluid.hpp"

namespace cortado::sim {
namespace arbitration_test {

Arbitration of_ring(ArbitrationPolicy policy) {
  MemoryArbitration arbitration = load_machine("t3-ring-8").value().timing->memory.arbitration.value();
  arbitration.thresholds = {1, 10, 30, 64};
  arbitration.intensities = {0.3, 0.32, 0.33};
  arbitration.starvation_share = 0.02;
  arbitration.queue_depth = 64;
  return Arbitration(arbitration, policy, 2);
}

TEST(Arbitration, SharesOfThePolicies) {
  EXPECT_EQ(of_ring(ArbitrationPolicy::round_robin).share_for(0.1), 1);
  EXPECT_EQ(of_ring(ArbitrationPolicy::compute_first).share_for(0.9), 0.02);
  const Arbitration mca = of_ring(ArbitrationPolicy::mca);
  EXPECT_DOUBLE_EQ(mca.share_for(0.1), 0.02);  // 1 / 64 would be less
  EXPECT_DOUBLE_EQ(mca.share_for(0.3), 10.0 / 64);
  EXPECT_DOUBLE_EQ(mca.share_for(0.325), 30.0 / 64);
  EXPECT_DOUBLE_EQ(mca.share_for(0.5), 1);
}

TEST(Arbitration, WithoutAnyAllAreEqual) {
  Arbitration none({}, {}, 1);
  EXPECT_FALSE(none.given());
  EXPECT_FALSE(none.begin_product(0, 0, 0.1));
  EXPECT_EQ(none.share(0), 1);
}

TEST(Arbitration, LastsAsLongAsTheProduct) {
  Arbitration mca = of_ring(ArbitrationPolicy::mca);
  EXPECT_TRUE(mca.begin_product(7, 1, 0.325));
  EXPECT_EQ(mca.share(0), 1);
  EXPECT_DOUBLE_EQ(mca.share(1), 30.0 / 64);
  EXPECT_TRUE(mca.begin_product(8, 1, 0.31));  // the least of both
  EXPECT_DOUBLE_EQ(mca.share(1), 10.0 / 64);
  EXPECT_FALSE(mca.end_product(7, 1));
  EXPECT_TRUE(mca.end_product(8, 1));
  EXPECT_EQ(mca.share(1), 1);
}

// Reads of a GEMM next to an engine that reads and adds (1 + 2 bytes of the memory for each) at no more than 150
// GB/s. With L the rate of the GEMM's flow: L + 3 * min(150, share * L) = 1000.
TEST(Arbitration, SharesOfTwoFlows) {
  struct Case {
    double share;
    double product;
    double copy;
  };
  for (const Case& c :
       {Case{1, 550, 150}, Case{0.125, 1000 / 1.375, 125 / 1.375}, Case{0.02, 1000 / 1.06, 20 / 1.06}}) {
    FluidSystem fluid;
    const ResourceId memory = fluid.add_resource(1000);
    const ResourceUse read[] = {{memory, 1}};
    const ResourceUse update[] = {{memory, 3}};
    const FlowId product = fluid.add_flow({.uses = read});
    const FlowId copy = fluid.add_flow({.uses = update, .weight = c.share, .cap = 150});
    fluid.solve();
    EXPECT_NEAR(fluid.rate(product), c.product, 1e-6);
    EXPECT_NEAR(fluid.rate(copy), c.copy, 1e-6);
  }
}

}  // namespace arbitration_test
}  // namespace cortado::sim
