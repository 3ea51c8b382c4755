#include "sim/gpu/compute_units.hpp"

#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado::sim {
namespace compute_units_test {

/// Two GPUs of 256 compute units; on GPU 0 the streams 0 "large", 1 "small" (at most 32), 2 "urgent" (priority 1), and
/// the kernel "sum" of the queues 3 and 4 (16 each); on GPU 1 a stream, 5. Queue 6 is a host queue.
class ComputeUnitsTest : public testing::Test {
 protected:
  static Program program() {
    ProgramBuilder b("units", "virtual-64", 2);
    b.compute_queue("large", RankId{0});
    b.compute_queue("small", RankId{0}, 0, 32);
    b.compute_queue("urgent", RankId{0}, 1);
    b.compute_queue("sum.a", RankId{0}, 0, 16, "sum");
    b.compute_queue("sum.b", RankId{0}, 0, 16, "sum");
    b.compute_queue("other", RankId{1});
    b.host_queue("host");
    return std::move(b).finish();
  }

  /// The units of the next grant, which must go to that tenant.
  std::uint32_t next(ComputeUnits::Tenant expected, SimTime now = {}) {
    const auto grant = units_.next_grant(expected, now);
    if (!grant) return 0;
    EXPECT_EQ(grant->tenant, expected);
    return grant->units;
  }

  static SimTime at(double seconds) { return sim_time_from_seconds(seconds); }

  Program program_ = program();
  Listener nobody_;
  ComputeUnits units_{program_, load_machine("virtual-64").value(), nobody_};
  ComputeUnits::Tenant large_ = units_.tenant_of(0);
  ComputeUnits::Tenant small_ = units_.tenant_of(1);
  ComputeUnits::Tenant urgent_ = units_.tenant_of(2);
  ComputeUnits::Tenant sum_ = units_.tenant_of(3);
  ComputeUnits::Tenant other_ = units_.tenant_of(5);
};

TEST_F(ComputeUnitsTest, AKernelIsOneTenantAndAStreamToo) {
  EXPECT_EQ(units_.tenant_of(4), sum_);
  EXPECT_EQ(units_.queues(sum_), (std::vector<std::uint32_t>{3, 4}));
  EXPECT_TRUE(units_.is_kernel(sum_));
  EXPECT_FALSE(units_.is_kernel(large_));
  EXPECT_EQ(units_.tenant_of(6), ComputeUnits::kNone);
  EXPECT_EQ(units_.neighbours(small_), (std::vector<ComputeUnits::Tenant>{large_, small_, urgent_, sum_}));
}

TEST_F(ComputeUnitsTest, LimitsAreThoseOfTheQueues) {
  EXPECT_EQ(units_.most(large_), 256U);
  EXPECT_EQ(units_.most(small_), 32U);
  EXPECT_EQ(units_.most(other_), 256U);
}

// Two parts of 16 where one may be the work that follows the other: 16 in all. Of 3 equal parts each has its own.
TEST_F(ComputeUnitsTest, APartAsLargeAsAllOthersWorksWhileTheyWait) {
  EXPECT_EQ(units_.most(sum_), 16U);
  ProgramBuilder b("parts", "virtual-64", 1);
  for (const char* name : {"a", "b", "c"}) b.compute_queue(name, RankId{0}, 0, 16, "gather");
  const Program program = std::move(b).finish();
  Listener nobody;
  const ComputeUnits units(program, load_machine("virtual-64").value(), nobody);
  EXPECT_EQ(units.most(units.tenant_of(0)), 48U);
}

TEST_F(ComputeUnitsTest, WhoIsLaunchedFirstTakesWhatItWants) {
  units_.launch(large_, 256);
  units_.launch(small_, 32);
  EXPECT_EQ(next(large_), 256U);
  EXPECT_FALSE(units_.next_grant(small_, {}));
  // What is given back goes to the first again, as long as it wants more; the later one starves.
  units_.release(large_, 100, {});
  units_.want(large_, 100);
  EXPECT_EQ(next(large_), 100U);
  EXPECT_FALSE(units_.next_grant(small_, {}));
  // In its last wave it wants fewer than it gave back.
  units_.release(large_, 100, {});
  units_.want(large_, 60);
  EXPECT_EQ(next(large_), 60U);
  EXPECT_EQ(next(small_), 32U);
  EXPECT_EQ(units_.held_by_others(small_), 216U);
}

TEST_F(ComputeUnitsTest, LaunchedInTheOtherOrderTheSmallOneLeavesTheRest) {
  units_.launch(small_, 32);
  units_.launch(large_, 256);
  EXPECT_EQ(next(small_), 32U);
  EXPECT_EQ(next(large_), 224U);
  EXPECT_FALSE(units_.next_grant(small_, {}));
}

TEST_F(ComputeUnitsTest, PriorityComesBeforeTheOrderOfLaunches) {
  units_.launch(small_, 32);
  units_.launch(urgent_, 250);
  EXPECT_EQ(next(urgent_), 250U);
  EXPECT_EQ(next(small_), 6U);  // part of what it requests
}

TEST_F(ComputeUnitsTest, PartialGrantsGrow) {
  units_.launch(large_, 246);
  units_.launch(small_, 32);
  EXPECT_EQ(next(large_), 246U);
  EXPECT_EQ(next(small_), 10U);
  EXPECT_EQ(units_.held(small_), 10U);
  units_.release(large_, 12, {});
  EXPECT_EQ(next(small_), 12U);
  units_.release(large_, 234, {});
  EXPECT_EQ(next(small_), 10U);
  EXPECT_EQ(units_.held(small_), 32U);
  EXPECT_FALSE(units_.next_grant(small_, {}));
}

TEST_F(ComputeUnitsTest, PriorityTakesNothingAway) {
  units_.launch(large_, 256);
  EXPECT_EQ(next(large_), 256U);
  units_.launch(urgent_, 64);
  EXPECT_FALSE(units_.next_grant(urgent_, {}));
  units_.release(large_, 40, {});
  units_.want(large_, 40);
  EXPECT_EQ(next(urgent_), 40U);
  EXPECT_FALSE(units_.next_grant(large_, {}));
}

TEST_F(ComputeUnitsTest, GpusShareNothing) {
  units_.launch(large_, 256);
  units_.launch(other_, 256);
  EXPECT_EQ(next(large_), 256U);
  EXPECT_EQ(next(other_), 256U);
  EXPECT_EQ(units_.held_by_others(other_), 0U);
}

// 200 units from 1 s to 3 s, of which 150 until 4 s: 2 x 200 + 150; 32 from 2 s to 5 s: 96.
TEST_F(ComputeUnitsTest, CountsUnitsTimesSeconds) {
  units_.launch(large_, 200);
  EXPECT_EQ(next(large_, at(1)), 200U);
  units_.launch(small_, 32);
  EXPECT_EQ(next(small_, at(2)), 32U);
  units_.release(large_, 50, at(3));
  units_.release(large_, 150, at(4));
  units_.release(small_, 32, at(5));
  EXPECT_DOUBLE_EQ(units_.unit_seconds(), 400 + 150 + 96);
}

}  // namespace compute_units_test
}  // namespace cortado::sim
