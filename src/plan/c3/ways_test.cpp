// What each strategy of C3 and ConCCL decides, from tables of times.
#include <gmock/gmock.h>

#include "plan/c3/testing.hpp"
#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace ways_test {

using testing::HasSubstr;

/// 16 x 16 x 16 is one workgroup; 8192^3 has (8192 / 256)^2 = 1024 or more, as no kernel has tiles above 256 x 256.
constexpr GemmShape kTiny{16, 16, 16};

/// 2 * 8192 * 64 * 8192 operations over (8192 * 64 + 64 * 8192 + 8192 * 8192) * 2 bytes: 63 a byte, and MI300X does 172
/// (708 TFLOP/s over 4.1 TB/s).
constexpr GemmShape kMemoryBound{8192, 64, 8192};

class Ways : public testing::Test {
 protected:
  Ways() {
    machine_ = machine_for_test("mi300x-8");  // 304 compute units on 8 dies
    machine_.timing->cores.collective_units = 64;
    machine_.timing->library.reset();  // direct kernels represent the library
    cost_.gemm_times = {{304, 98}, {296, 100}, {288, 101}, {272, 105}, {240, 117}, {176, 150}};
    cost_.collective_times = {{"cores-ll 8", 900},      {"cores-simple 8", 400},  {"cores-ll 16", 500},
                              {"cores-simple 16", 200}, {"cores-ll 32", 104},     {"cores-simple 32", 110},
                              {"cores-ll 64", 104},     {"cores-simple 64", 103}, {"cores-ll 128", 104},
                              {"cores-simple 128", 102}};
  }

  OverlapWay decide(std::string_view strategy, const OverlapProblem& request = overlap_for_test()) {
    return way_for_test(strategy, request, machine_, cost_);
  }
  Diagnostic refusal_of(std::string_view strategy, const OverlapProblem& request = overlap_for_test()) {
    const auto way = choose_way(strategy, request, machine_, cost_);
    EXPECT_FALSE(way) << strategy;
    return way ? Diagnostic{} : way.error();
  }

  Machine machine_;
  TableCost cost_;
};

TEST_F(Ways, LibrariesDecideWithoutAGemm) {
  const auto library = library_collective(overlap_for_test().collective(), machine_, cost_);
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->variant, "cores-simple");  // 103 < 104
  EXPECT_EQ(library->compute_units, 64U);
  const auto none = library_collective(overlap_for_test("gather").collective(), machine_, cost_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "c3.variant");
}

TEST_F(Ways, TheLibraryOfTheMachineIsTakenByItsName) {
  const Machine machine = machine_for_test("mi300x-8");
  cost_.collective_times = {{"library 56", 150}};
  const auto library = library_collective(overlap_for_test().collective(), machine, cost_);
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->variant, kLibraryVariant);
  EXPECT_EQ(library->compute_units, 56U);
}

TEST_F(Ways, AtOnceIsAsC3OnUnitsAndAsConcclOnEngines) {
  const auto same = [](const OverlapWay& a, const OverlapWay& b) {
    EXPECT_EQ(a.order, b.order);
    EXPECT_EQ(way_names(a.collectives), way_names(b.collectives));
    EXPECT_EQ(a.gemm_units, b.gemm_units);
    EXPECT_EQ(a.tuned, b.tuned);
    EXPECT_EQ(a.priority, b.priority);
  };
  for (const char* strategy : {"c3", "conccl"}) {
    const OverlapWay way = decide(strategy);
    same(way_at_once(way.collectives), way);
  }
}

TEST_F(Ways, SerialAndPlainTakeTheFasterKernelOfTheLibrary) {
  const OverlapWay serial = decide("serial");
  EXPECT_EQ(serial.order, LaunchOrder::serial);
  EXPECT_EQ(serial.collective().variant, "cores-simple");  // 103 < 104
  EXPECT_EQ(serial.collective().compute_units, 64U);
  EXPECT_EQ(serial.collective().ranks, 8U);
  EXPECT_TRUE(serial.on_cores());
  cost_.collective_times["cores-ll 64"] = 99;
  const OverlapWay plain = decide("c3");
  EXPECT_EQ(plain.order, LaunchOrder::gemm_first);
  EXPECT_EQ(plain.collective().variant, "cores-ll");
  EXPECT_EQ(plain.gemm_units, 0U);
  EXPECT_EQ(plain.priority, 0);
}

TEST_F(Ways, ALibraryTakesTwiceTheUnitsForSendsAndReceives) {
  machine_.timing->cores.collective_units = 32;
  EXPECT_EQ(decide("c3").collective().compute_units, 32U);
  EXPECT_EQ(decide("c3", overlap_for_test("all-to-all")).collective().compute_units, 64U);
}

TEST_F(Ways, ALibraryThatNamesNoUnitsTakesAll) {
  machine_.timing->cores.collective_units = 0;
  cost_.collective_times["cores-ll"] = 50;
  EXPECT_EQ(decide("c3").collective().compute_units, 0U);
}

TEST_F(Ways, FewerWorkgroupsGoFirst) {
  const OverlapWay large = decide("c3-sp");
  EXPECT_EQ(large.order, LaunchOrder::collective_first);
  EXPECT_EQ(large.priority, 1);
  EXPECT_EQ(large.collective().compute_units, 64U);
  EXPECT_EQ(large.gemm_units, 0U);
  const OverlapWay tiny = decide("c3-sp", overlap_for_test("all-gather", kTiny));
  EXPECT_EQ(tiny.order, LaunchOrder::gemm_first);
  EXPECT_EQ(tiny.priority, 0);
}

// The longer of the two at 8, 16, 32, 64, 128 units: 400, 200, 105, 117, 150.
TEST_F(Ways, PartitionMakesTheLongerShortest) {
  const OverlapWay way = decide("c3-rp");
  EXPECT_EQ(way.collective().compute_units, 32U);
  EXPECT_EQ(way.collective().variant, "cores-ll");
  EXPECT_EQ(way.gemm_units, 272U);
  EXPECT_EQ(way.order, LaunchOrder::gemm_first);
  EXPECT_EQ(way.priority, 0);
  EXPECT_FALSE(way.tuned);
  EXPECT_THAT(way.why, HasSubstr("32 CUs for cores-ll, 272 for the GEMM"));

  const OverlapWay both = decide("c3-sp-rp");
  EXPECT_EQ(both.collective().compute_units, 32U);
  EXPECT_EQ(both.gemm_units, 272U);
  EXPECT_EQ(both.order, LaunchOrder::collective_first);
  EXPECT_EQ(both.priority, 1);
  EXPECT_EQ(decide("c3-sp-rp", overlap_for_test("all-gather", kTiny)).order, LaunchOrder::gemm_first);
}

TEST_F(Ways, PartitionsThatCannotBeAreSkipped) {
  cost_.collective_times.erase("cores-ll 32");
  cost_.collective_times.erase("cores-simple 32");
  EXPECT_EQ(decide("c3-rp").collective().compute_units, 64U);
  cost_.collective_times.clear();
  EXPECT_EQ(refusal_of("c3-rp").code, "test.unknown");
  machine_.timing->compute->dies = 200;
  EXPECT_EQ(refusal_of("c3-rp").code, "c3.partition");
}

TEST_F(Ways, DmaEnginesLeaveTheUnitsToTheGemm) {
  for (const GemmShape& shape : {GemmShape{8192, 8192, 8192}, kMemoryBound}) {
    const OverlapWay way = decide("conccl", overlap_for_test("all-to-all", shape));
    EXPECT_EQ(way.collective().variant, "pcpy");
    EXPECT_FALSE(way.collective().prelaunch);
    EXPECT_FALSE(way.on_cores());
    EXPECT_EQ(way.gemm_units, 0U);
    EXPECT_EQ(way.order, LaunchOrder::gemm_first);
  }
}

TEST_F(Ways, OneUnitADieIsWithheldFromMemoryBoundGemms) {
  EXPECT_EQ(decide("conccl-rp").gemm_units, 0U);
  const OverlapWay withheld = decide("conccl-rp", overlap_for_test("all-gather", kMemoryBound));
  EXPECT_EQ(withheld.gemm_units, 296U);
  EXPECT_TRUE(withheld.tuned);
}

TEST_F(Ways, EnginesBringWhatAKernelAddsUpAndNotEverythingHasKernels) {
  for (const char* strategy : {"conccl", "conccl-rp"}) {
    const OverlapWay way = decide(strategy, overlap_for_test("all-reduce"));
    EXPECT_FALSE(way.on_cores()) << strategy;
    // The summing kernel goes before the workgroups of the GEMM.
    EXPECT_EQ(way.order, LaunchOrder::collective_first) << strategy;
    EXPECT_EQ(way.priority, 1) << strategy;
  }
  const Diagnostic no_kernels = refusal_of("c3-sp", overlap_for_test("broadcast"));
  EXPECT_EQ(no_kernels.code, "c3.variant");
  EXPECT_THAT(no_kernels.hint, HasSubstr("conccl"));
}

TEST_F(Ways, TheCallersOwnBlockIsLeftWhereItIsAsked) {
  OverlapProblem request = overlap_for_test("all-to-all");
  request.collectives.front().own_block = false;
  for (const char* name : kWays) {
    cost_.both_take = [](const OverlapWay&) { return 100; };
    EXPECT_FALSE(decide(name, request).collective().own_block) << name;
  }
}

TEST_F(Ways, AutoTakesTheFastestWayAndSaysWhy) {
  cost_.collective_times["bcst prelaunch"] = 60;
  cost_.both_take = [](const OverlapWay& way) {
    if (way.collective().variant == "bcst" && way.collective().prelaunch && way.gemm_units == 296) return 80;
    return way.order == LaunchOrder::serial ? 201 : way.on_cores() ? 100 : 90;
  };
  const OverlapWay way = decide("auto");
  EXPECT_EQ(way_names(way.collectives), "bcst prelaunch");
  EXPECT_EQ(way.gemm_units, 296U);
  EXPECT_EQ(way.order, LaunchOrder::collective_first);  // a trigger costs the host less than a launch
  // 100 / 80 = 1.25 against the best on compute units, c3; the GEMM alone takes 100, the collective 60.
  EXPECT_EQ(
      way.why,
      "bcst prelaunch on DMA engines, the GEMM on 296 CUs: 25.0 % faster than cores-simple on 64 CUs, the GEMM on "
      "304 CUs");
}

/// Likely times are too short for engines: by a half.
class OptimisticCost : public TableCost {
 public:
  Result<Nanoseconds> simulated_together(const OverlapProblem& problem, const OverlapWay& way) const override {
    simulated.push_back(way);
    const auto likely = together(problem, way);
    if (!likely || way.on_cores() || way.order == LaunchOrder::serial) return likely;
    return Nanoseconds{2 * likely->value};
  }
  mutable std::vector<OverlapWay> simulated;
};

// On engines 60 is likely and 120 simulated; c3-rp, which has 32 CUs and all others for the GEMM, takes 100.
TEST_F(Ways, AutoDecidesBySimulations) {
  OptimisticCost cost;
  cost.gemm_times = cost_.gemm_times;
  cost.collective_times = cost_.collective_times;
  cost.both_take = [](const OverlapWay& way) {
    if (way.order == LaunchOrder::serial) return 201;
    return !way.on_cores() ? 60 : way.gemm_units == 272 && way.priority == 0 ? 100 : 200;
  };
  const OverlapWay way = way_for_test("auto", overlap_for_test(), machine_, cost);
  EXPECT_EQ(way.strategy, "c3-rp");
  EXPECT_THAT(way.why, HasSubstr("20.0 % faster than pcpy on DMA engines"));
  // 201 is far from 100.
  for (const OverlapWay& one : cost.simulated) EXPECT_NE(one.order, LaunchOrder::serial);
}

TEST_F(Ways, AutoAlsoTriesKernelsThatGiveTheirUnitsBack) {
  cost_.both_take = [](const OverlapWay& way) {
    return way.on_cores() && way.collective().compute_units == 16 && way.gemm_units == 0 ? 70 : 80;
  };
  const OverlapWay way = decide("auto");
  EXPECT_EQ(way.collective().variant, "cores-simple");
  EXPECT_EQ(way.order, LaunchOrder::collective_first);
  EXPECT_EQ(way.priority, 1);
}

// Half the time each; the gather has bcst, the reduce-scatter has not.
TEST_F(Ways, SequencesAreDecidedTogether) {
  OverlapProblem problem = overlap_for_test();
  problem.gemms.push_back(problem.gemm());
  problem.collectives.push_back({.collective = "reduce-scatter", .bytes = 64_MiB});
  // Each GEMM takes 105 on 272 CUs, each collective 104 on 32: 210 and 208.
  const OverlapWay partition = decide("c3-rp", problem);
  ASSERT_EQ(partition.collectives.size(), 2U);
  EXPECT_EQ(partition.collectives[1].compute_units, 32U);
  EXPECT_EQ(partition.collectives[1].collective, Collective("reduce-scatter"));
  cost_.both_take = [](const OverlapWay& way) { return way.collective().variant == "bcst" ? 80 : 100; };
  const OverlapWay fastest = decide("auto", problem);
  EXPECT_EQ(way_names(fastest.collectives), "bcst and pcpy");
  EXPECT_EQ(fastest.priority, 1) << "a kernel adds up what engines bring";
}

TEST_F(Ways, AutoPrefersTheFirstOfEquallyFastWays) {
  cost_.both_take = [](const OverlapWay&) { return 100; };
  EXPECT_EQ(decide("auto").order, LaunchOrder::serial);
}

TEST_F(Ways, AutoSkipsWhatCannotBeDone) {
  cost_.both_take = [](const OverlapWay& way) { return way.collective().variant == "b2b" ? 500 : 0; };
  EXPECT_EQ(decide("auto").collective().variant, "b2b");
  cost_.both_take = [](const OverlapWay&) { return 0; };
  EXPECT_EQ(refusal_of("auto").code, "test.unknown");
}

TEST_F(Ways, AutoDoesWhatHasOneKindOfVariantOnly) {
  cost_.both_take = [](const OverlapWay& way) { return way.on_cores() ? 200 : 100; };
  EXPECT_EQ(decide("auto", overlap_for_test("broadcast")).collective().variant, "pcpy");
  // Engines bring the blocks, a kernel adds them: it must not starve.
  const OverlapWay reduction = decide("auto", overlap_for_test("reduce-scatter"));
  EXPECT_EQ(reduction.collective().variant, "pcpy");
  EXPECT_EQ(reduction.order, LaunchOrder::collective_first);
  EXPECT_EQ(reduction.priority, 1);
}

TEST_F(Ways, RefuseWhatCannotBe) {
  EXPECT_EQ(refusal_of("hetero-fused-1d").code, "overlap.strategy");

  OverlapProblem request = overlap_for_test();
  request.ranks = 1;
  EXPECT_EQ(refusal_of("auto", request).code, "c3.ranks");
  EXPECT_EQ(refusal_of("auto", request).hint, "use 2 to 8 ranks");
  request.ranks = 9;
  EXPECT_EQ(refusal_of("conccl", request).code, "plan.ranks");

  EXPECT_EQ(refusal_of("serial", overlap_for_test("all-gather", {0, 64, 64})).code, "gemm.shape");
  EXPECT_EQ(refusal_of("serial", overlap_for_test("all-gather", {64, 64, 64, DType::i32})).code, "gemm.dtype");
  EXPECT_EQ(refusal_of("serial", overlap_for_test("all-gather", {1 << 20, 1 << 20, 1 << 20})).code, "gemm.memory");
  EXPECT_EQ(refusal_of("serial", overlap_for_test("all-gather", {64, 64, 64, DType::bf16, true})).code,
            "c3.accumulate");
  machine_.timing->compute.reset();
  EXPECT_EQ(refusal_of("serial").code, "gemm.compute");
}

}  // namespace ways_test
}  // namespace cortado::plan
