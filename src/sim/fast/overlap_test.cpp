#include <cmath>

#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "plan/c3.hpp"
#include "sim/fast/fast.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace overlap_test {

class TimeBeside : public testing::Test {
 protected:
  Machine machine_ = load_machine("mi300x-8").value();

  static CollectiveRequest all_gather(const char* variant, Bytes bytes) {
    CollectiveRequest request{.collective = "all-gather", .variant = variant, .bytes = bytes, .ranks = 8};
    request.in_place = true;
    request.host = HostThreads::per_rank;
    return request;
  }

  Nanoseconds simulated(const Program& program) const {
    return median_time(simulate(verify(program, machine_).value(), {}).value().timeline);
  }

  CollectiveProfile profile(const CollectiveRequest& request) const {
    const Program program = plan_collective(request, machine_).value();
    return profile_of(program, simulated(program));
  }

  /// Both launched at once, on all units of the GPU.
  double estimated(const GemmShape& gemm, const CollectiveRequest& request) const {
    const Overlap overlap{.gemm = gemm,
                          .tiling = tiling_on({}, gemm, machine_),
                          .gemm_units = machine_.compute_units,
                          .collective_units = request.compute_units};
    return static_cast<double>(time_beside(overlap, profile(request), machine_).value);
  }

  double simulated(const GemmShape& gemm, const CollectiveRequest& request) const {
    const Program program = plan_overlap({.gemms = {gemm}, .collectives = {request}, .ranks = request.ranks},
                                         way_at_once({request}), machine_)
                                .value();
    return static_cast<double>(simulated(program).value);
  }
};

TEST_F(TimeBeside, IsNearTheSimulatorByEnginesAndByUnits) {
  CollectiveRequest by_units = all_gather("cores-simple", 256_MiB);
  by_units.compute_units = 32;
  for (const GemmShape& gemm : {GemmShape{8192, 8192, 8192}, GemmShape{64, 57344, 8192}}) {
    for (const CollectiveRequest& request : {all_gather("pcpy", 256_MiB), all_gather("bcst", 32_MiB), by_units}) {
      EXPECT_NEAR(estimated(gemm, request) / simulated(gemm, request), 1, 0.1) << request.variant << to_string(gemm);
    }
  }
}

// 7 waves of 304 workgroups of 256 x 128; nothing is full while bytes are few: a collective that ends long before
// changes nothing. The launch takes 929 ns, the start of the kernel 3000.
TEST_F(TimeBeside, ASmallCollectiveIsHidden) {
  const GemmShape gemm{8192, 8192, 8192};
  const double alone =
      929 + 3000 + 1e9 * estimate_gemm(gemm, tiling_on({}, gemm, machine_), machine_, machine_.compute_units).seconds;
  EXPECT_NEAR(estimated(gemm, all_gather("pcpy", 1_MiB)), alone, 0.02 * alone);
}

TEST_F(TimeBeside, ProfilesCountWhatCrossesTheLinks) {
  const CollectiveRequest request{
      .collective = "all-gather", .variant = "pcpy", .bytes = 8_MiB, .in_place = true, .host = HostThreads::per_rank};
  const CollectiveProfile profile = profile_of(plan_collective(request, machine_).value(), Nanoseconds{7});
  EXPECT_EQ(profile.time, Nanoseconds{7});
  EXPECT_EQ(profile.bytes_out, static_cast<double>((7_MiB).value));
  EXPECT_EQ(profile.bytes_in, static_cast<double>((7_MiB).value));
  EXPECT_EQ(profile.footprint, static_cast<double>((8_MiB).value));
  EXPECT_EQ(profile.peers, 7U);
}

}  // namespace overlap_test
}  // namespace cortado::sim
