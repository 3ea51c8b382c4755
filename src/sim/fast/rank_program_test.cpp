#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "plan/choose_schedule.hpp"
#include "plan/ficco.hpp"
#include "sim/fast/fast.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace rank_program_test {

class TimeOfRank : public testing::Test {
 protected:
  Machine machine_ = load_machine("mi300x-8").value();

  Tiling tiling(const GemmShape& shape) const { return choose_tiling(shape, machine_, machine_.compute_units); }

  /// Nanoseconds.
  double alone(const GemmShape& shape) const {
    return 1e9 * estimate_gemm(shape, tiling(shape), machine_, machine_.compute_units).seconds;
  }

  struct Times {
    double least;
    double likely;
  };
  Times times(const DependentRequest& request, const FiccoSchedule& schedule) const {
    const RankProgram rank = plan_ficco_ranks(request, schedule, machine_).value().front();
    const auto time = [&](Sharing sharing) {
      return static_cast<double>(time_of_rank(rank.program, rank.closed, machine_, sharing).value().value);
    };
    return {time(Sharing::ignored), time(Sharing::modelled)};
  }
};

// Two ranks. 256 rows of 2 KiB are 524,288 bytes; an engine brings 45.2 in a nanosecond, a link 46.
//   submit 642 and two packets of 45, fetch 1857, copy_start 1691     4,280
//   bytes                                                            11,599.3
//   sync 2116, start of the GEMM 2800                                 4,916
//   the GEMM
//   flag 1500, poll 20                                                1,520
TEST_F(TimeOfRank, SerialIsOneThingAfterTheOther) {
  DependentRequest request;
  request.gemm = {.m = 512, .n = 4096, .k = 1024};
  request.ranks = 2;
  const double expected = 4280 + 524288 / 45.2 + 4916 + alone(request.gemm) + 1520;
  const Times time = times(request, {.grain = Grain::whole});
  EXPECT_NEAR(time.likely, expected, 1.5);
  EXPECT_NEAR(time.least, expected, 1.5);
}

// Two ranks, whole shards: the own one is multiplied while the other travels, which takes much longer here. The launch
// comes after the submission: 732 + 929, then start 2800; so 8 us before the piece arrives at 17,995 the kernels wait.
TEST_F(TimeOfRank, TheOwnProductIsHiddenBehindTheExchange) {
  DependentRequest request;
  request.gemm = {.m = 512, .n = 256, .k = 1024};
  request.ranks = 2;
  const GemmShape half{.m = 256, .n = 256, .k = 1024};
  ASSERT_LT(732 + 929 + 2800 + alone(half), 4280 + 11599 + 2116);
  const Times time = times(request, {.grain = Grain::shards});
  EXPECT_NEAR(time.least, 4280 + 524288 / 45.2 + 4916 + alone(half) + 1520, 1.5);
}

// A GEMM on all units takes 0.68 of the fabric and seven engines nearly 0.41 of it: both slow down while they overlap,
// which is a fourteenth of the time here.
TEST_F(TimeOfRank, ContentionTakesTime) {
  DependentRequest request;
  request.gemm = {.m = 65536, .n = 8192, .k = 8192};
  const Times time = times(request, find_schedule("hetero-fused-1d").value());
  EXPECT_GT(time.likely, 1.005 * time.least);
  const Times serial = times(request, find_schedule("serial-dma").value());
  EXPECT_NEAR(serial.likely / serial.least, 1, 1e-3);
}

// Rank 0 has almost nothing to multiply and rank 1 everything; the busy rank is the one examined.
TEST_F(TimeOfRank, UnevenRowsAreThoseOfTheBusiestRank) {
  DependentRequest request;
  request.collective = "all-to-all";
  request.gemm = {.m = 2050, .n = 4096, .k = 4096};
  request.ranks = 2;
  request.tokens = {{1, 1024}, {1, 1024}};
  const Times time = times(request, find_schedule("serial-dma").value());
  EXPECT_GT(time.least, alone({.m = 2048, .n = 4096, .k = 4096}) + 1024 * 8192 / 45.2);
}

/// All ranks. Nothing is proved: it is planned as in the tests of the planner.
double simulated(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  const CheckedProgram program = unproved(plan_ficco(request, schedule, machine).value().program, machine);
  return static_cast<double>(median_time(simulate(program, {}).value().timeline).value);
}

/// All schedules of FiCCO, and tiles with all means that the direction has.
std::vector<FiccoSchedule> schedules_of(const DependentRequest& request, const Machine& machine) {
  std::vector<FiccoSchedule> all;
  for (const FiccoScheduleInfo& info : list_schedules()) all.push_back(info.schedule);
  for (const FiccoSchedule& candidate : schedule_candidates(request, machine)) {
    if (has_tiles(candidate.grain)) all.push_back(candidate);
  }
  return all;
}

DependentRequest behind(Collective collective, const GemmShape& gemm) {
  DependentRequest request;
  request.gemm = gemm;
  request.collective = collective;
  if (collective != "all-gather") request.dependence = Dependence::product_first;
  return request;
}

TEST_F(TimeOfRank, IsNearTheSimulatorForAllSchedulesInBothDirections) {
  for (const Collective collective : {Collective("all-gather"), Collective("reduce-scatter")}) {
    const DependentRequest request = behind(collective, {.m = 16384, .n = 3584, .k = 4096});
    for (const FiccoSchedule& schedule : schedules_of(request, machine_)) {
      const Times time = times(request, schedule);
      const double all = simulated(request, schedule, machine_);
      EXPECT_LE(time.least, all) << full_name(schedule);
      EXPECT_NEAR(time.likely / all, 1, 0.02) << collective.name() << " " << full_name(schedule);
    }
  }
}

// The copy kernel holds units from its launch to its end, slows down next to the GEMM, and gives its units back to it;
// stores drain over the links after the tiles. Also with a switch between the GPUs.
TEST_F(TimeOfRank, IsNearTheSimulatorForTilesByAllMeans) {
  for (const char* name : {"mi300x-8", "h100-8"}) {
    const Machine machine = load_machine(name).value();
    for (const Collective collective :
         {Collective("all-gather"), Collective("reduce-scatter"), Collective("all-to-all")}) {
      for (const GemmShape& gemm : {GemmShape{8192, 8192, 3584}, GemmShape{32768, 1024, 8192}}) {
        DependentRequest request = behind(collective, gemm);
        if (collective == "all-to-all") request.gemm.m *= 8;
        for (const FiccoSchedule& schedule : schedule_candidates(request, machine)) {
          if (!has_tiles(schedule.grain)) continue;
          const RankProgram rank = plan_ficco_ranks(request, schedule, machine).value().front();
          const auto time = [&](Sharing sharing) {
            return static_cast<double>(time_of_rank(rank.program, rank.closed, machine, sharing).value().value);
          };
          const double all = simulated(request, schedule, machine);
          EXPECT_LE(time(Sharing::ignored), all) << name << " " << collective.name() << " " << full_name(schedule);
          EXPECT_NEAR(time(Sharing::modelled) / all, 1, 0.03)
              << name << " " << collective.name() << " " << full_name(schedule);
        }
      }
    }
  }
}

}  // namespace rank_program_test
}  // namespace cortado::sim
