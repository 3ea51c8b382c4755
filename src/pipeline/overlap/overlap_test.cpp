#include <gmock/gmock.h>

#include "cortado/study.hpp"

#include "pipeline/choose.hpp"
#include "pipeline/overlap/reasons.hpp"
#include "pipeline/overlap/times.hpp"

namespace cortado::pipeline {
namespace overlap_test {

using report::Objective;
using testing::ElementsAre;
using testing::HasSubstr;

Machine machine_of(const std::string& name) {
  auto machine = load_machine(name);
  EXPECT_TRUE(machine) << to_string(machine.error());
  return *machine;
}

OverlapProblem independent(Collective collective = "all-gather", DType dtype = DType::bf16) {
  CollectiveRequest request{.collective = collective, .bytes = 64_KiB};
  request.in_place = default_in_place(collective, "pcpy");
  return {.gemms = {{64, 64, 64, dtype}}, .collectives = {request}};
}

OverlapProblem dependent(Collective collective, Relation relation = Relation::gemm_needs_collective) {
  return {.relation = relation, .gemms = {{1024, 256, 512}}, .collectives = {{.collective = collective}}};
}

OverlapReport studied(const OverlapProblem& problem, const Machine& machine, const OverlapOptions& options = {}) {
  auto report = study_overlap(problem, machine, options);
  EXPECT_TRUE(report) << to_string(report.error().errors.front());
  return report ? *std::move(report) : OverlapReport{};
}

std::string code_of(const OverlapProblem& problem, const Machine& machine, const OverlapOptions& options = {}) {
  const auto report = study_overlap(problem, machine, options);
  return report ? "accepted" : report.error().errors.front().code;
}

std::vector<std::string> names_of(const OverlapReport& report) {
  std::vector<std::string> names;
  for (const OverlapRow& row : report.rows) names.push_back(row.strategy);
  return names;
}

std::vector<std::string> skipped_of(const OverlapReport& report) {
  std::vector<std::string> names;
  for (const report::SkippedWay& one : report.skipped) names.push_back(one.name + " " + one.reason.code);
  return names;
}

// Weights are relative to a copy of an engine, but programs that use no engine do not depend on its rate.
TEST(OverlapStudy, StrategiesWithoutEnginesDoNotDependOnTheirRate) {
  const OverlapProblem problem{.relation = Relation::collective_needs_gemm,
                               .gemms = {{4096, 4096, 1024}},
                               .collectives = {{.collective = "reduce-scatter"}}};
  const OverlapOptions options{.strategies = {"serial", "tiles-rs/2-stores"}};
  Machine machine = machine_of("mi300x-8");
  const OverlapReport usual = studied(problem, machine, options);
  for (const double rate : {5.0, 30.0, 100.0}) {
    machine.timing->engine.rate = {rate};
    const OverlapReport other = studied(problem, machine, options);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(to_seconds(other.rows[i].time), to_seconds(usual.rows[i].time), 2e-9)
          << rate << usual.rows[i].strategy;
    }
  }
}

// 15 % longer is still equal, and more is not: 1.15 x 1,000,000 = 1,150,000.
TEST(OverlapClass, FifteenPercentMakeTheDifference) {
  EXPECT_EQ(overlap_class({1'150'000}, {1'000'000}), "GC-equal");
  EXPECT_EQ(overlap_class({1'150'001}, {1'000'000}), "G-long");
  EXPECT_EQ(overlap_class({1'000'000}, {1'150'000}), "GC-equal");
  EXPECT_EQ(overlap_class({1'000'000}, {1'150'001}), "C-long");
}

/// A target with round times: the GEMM 60 us and 1 J, the collective 40 us and 2 J, one after the other 100 us and 3 J,
/// at once on DMA engines 75 us and 3.8 J.
class InventedTarget : public Target {
 public:
  bool predicts() const override { return true; }
  std::string where() const override { return "invented"; }

  Outcome<Run> run(const VerifiedProgram& verified, const RunOptions&) override {
    const std::vector<Queue>& queues = verified.program().queues;
    const auto any = [&](auto&& wanted) { return std::any_of(queues.begin(), queues.end(), wanted); };
    const bool gemm = any([](const Queue& q) { return q.role == QueueRole::gemm; });
    const bool collective = any([](const Queue& q) { return q.role == QueueRole::collective; });
    const bool engines = any([](const Queue& q) { return q.kind == QueueKind::dma; });
    if (!collective) return run_of(queues, 60'000, 60'000, 0, 1);
    if (!gemm) return run_of(queues, 40'000, 0, 40'000, 2);
    return engines ? run_of(queues, 75'000, 75'000, 50'000, 3.8) : run_of(queues, 100'000, 60'000, 100'000, 3);
  }

 private:
  static Run run_of(const std::vector<Queue>& queues, std::int64_t time, std::int64_t gemm, std::int64_t comm,
                    double joules) {
    Run run;
    run.time = {time};
    run.energy = EnergyUse{.energy = {}, .seconds = static_cast<double>(time) * 1e-9, .gpus = 8};
    run.energy->energy[EnergyPart::rest_idle] = joules;
    run.predicted.emplace();
    for (const Queue& queue : queues) {
      run.predicted->queue_ends.push_back({queue.kind == QueueKind::host   ? time
                                           : queue.role == QueueRole::gemm ? gemm
                                                                           : comm});
    }
    return run;
  }
};

TEST(Overlap, RowsFollowFromTheTimes) {
  InventedTarget target;
  const auto report =
      study_overlap(independent(), machine_of("mi300x-8"), target, {.strategies = {"serial", "conccl", "ideal"}});
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_EQ(report->gemm_alone.value, 60'000);
  EXPECT_EQ(report->comm_alone.value, 40'000);
  EXPECT_EQ(report->serial.value, 100'000);
  EXPECT_EQ(report->ideal.value, 60'000);
  EXPECT_EQ(report->scenario, "G-long");
  EXPECT_EQ(report->problem.ranks, 8U);
  EXPECT_TRUE(report->memory_bound);  // 2 x 64^3 operations over 3 x 64 x 64 x 2 bytes: 21 per byte
  ASSERT_THAT(names_of(*report), ElementsAre("serial", "conccl", "ideal"));
  const OverlapRow& serial = report->rows[0];
  EXPECT_DOUBLE_EQ(serial.speedup, 1);
  EXPECT_DOUBLE_EQ(serial.share_of_ideal, 0);
  EXPECT_EQ(serial.exposed.value, 40'000);
  EXPECT_DOUBLE_EQ(*serial.gemm_slowdown, 1);
  EXPECT_DOUBLE_EQ(*serial.comm_slowdown, 1);  // 100 - 60 of 40
  const OverlapRow& conccl = report->rows[1];
  EXPECT_DOUBLE_EQ(conccl.speedup, 100.0 / 75);
  EXPECT_NEAR(conccl.share_of_ideal, 0.5, 1e-12);  // (4/3 - 1) / (5/3 - 1)
  EXPECT_EQ(conccl.exposed.value, 15'000);
  EXPECT_DOUBLE_EQ(*conccl.gemm_slowdown, 1.25);
  EXPECT_DOUBLE_EQ(*conccl.comm_slowdown, 1.25);
  EXPECT_EQ(conccl.gemm_cus, 304U);
  EXPECT_EQ(conccl.comm_cus, 0U);
  EXPECT_EQ(report->rows[2].time.value, 60'000);
  EXPECT_TRUE(report->rows[2].bound);
  EXPECT_EQ(report->choice, "conccl");
  ASSERT_TRUE(report->chosen);
  EXPECT_EQ(report->reason, "it achieves 50 % of the ideal gain; the GEMM is the bottleneck; serial takes 33 % longer");
}

TEST(Overlap, TheObjectiveDecides) {
  const Machine machine = machine_of("mi300x-8");
  InventedTarget target;
  for (const auto& [objective, choice] :
       {std::pair{Objective::time, "conccl"}, {Objective::energy, "serial"}, {Objective::edp, "conccl"}}) {
    OverlapOptions options{.strategies = {"serial", "conccl"}, .objective = objective};
    const auto report = study_overlap(independent(), machine, target, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    EXPECT_EQ(report->choice, choice);
    EXPECT_EQ(report->reason.starts_with("it uses the least energy, 3.000 J in 100.0 us, 3750.0 W per GPU; conccl, the "
                                         "fastest, takes 25 % less time and 27 % more energy"),
              objective == Objective::energy)
        << report->reason;
  }
  Machine without = machine;
  without.power.reset();
  EXPECT_EQ(code_of(independent(), without, {.objective = Objective::energy}), "power.machine");
}

// The same program has the same speed-up, whatever else is in the table.
TEST(Overlap, OneBaselineForAllStrategies) {
  const Machine machine = machine_of("mi300x-8+t3");
  for (const OverlapProblem& problem :
       {independent(), dependent("all-gather"), dependent("reduce-scatter", Relation::collective_needs_gemm)}) {
    const OverlapReport all = studied(problem, machine);
    EXPECT_EQ(all.row("serial")->time, all.serial);
    for (const OverlapRow& row : all.rows) {
      const OverlapReport alone = studied(problem, machine, {.strategies = {row.strategy}});
      ASSERT_THAT(names_of(alone), ElementsAre(row.strategy));
      EXPECT_EQ(alone.rows[0].time, row.time) << row.strategy;
      EXPECT_EQ(alone.rows[0].speedup, row.speedup) << row.strategy;
      EXPECT_EQ(alone.rows[0].share_of_ideal, row.share_of_ideal) << row.strategy;
    }
  }
}

// A layer under FSDP: its GEMMs next to the gather of the next layer's weights and the reduce-scatter of the last one's
// gradients. With DMA engines the whole gather is hidden, and the reduce-scatter but for its sums.
TEST(Overlap, AnIndependentProblemMayBeASequence) {
  const Machine machine = machine_of("mi300x-8");
  OverlapProblem layer{.gemms = {{8192, 8192, 8192}, {8192, 28672, 8192}},
                       .collectives = {{.collective = "all-gather", .bytes = 256_MiB, .in_place = true},
                                       {.collective = "reduce-scatter", .bytes = 256_MiB}}};
  const OverlapReport report = studied(layer, machine);
  EXPECT_EQ(report.row("serial")->time, report.serial);
  EXPECT_NEAR(microseconds(report.serial), microseconds(report.gemm_alone + report.comm_alone),
              0.01 * microseconds(report.serial));
  ASSERT_NE(report.row("conccl"), nullptr);
  EXPECT_GT(report.row("conccl")->speedup, report.row("c3")->speedup);
  EXPECT_GT(report.row("conccl")->comm_cus, 0U) << "of the kernel that adds up";
  for (const OverlapRow& row : report.rows) {
    EXPECT_TRUE(row.bound || row.time >= report.gemm_alone) << row.strategy;
  }
  // A single gather next to the same GEMMs takes less time.
  OverlapProblem gather = layer;
  gather.collectives.pop_back();
  EXPECT_LT(studied(gather, machine).comm_alone, report.comm_alone);
  EXPECT_THAT(
      overlap_document(report).title,
      testing::HasSubstr("GEMM 8192x8192x8192 bf16 + 8192x28672x8192 bf16 per GPU beside an independent all-gather of "
                         "256MiB + reduce-scatter of 256MiB"));
}

TEST(Overlap, SerialIsTheGemmAndThenTheLibrarysCollective) {
  const Machine machine = machine_of("mi300x-8");
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    const OverlapReport report = studied(dependent(collective), machine, {.strategies = {"serial", "ideal"}});
    EXPECT_EQ(report.serial, report.gemm_alone + report.comm_alone);
    EXPECT_EQ(report.chosen, nullptr);  // two programs
  }
  // A is 1024 x 512, C 1024 x 256 elements of two bytes.
  EXPECT_EQ(studied(dependent("all-gather"), machine).problem.collective().bytes, 1_MiB);
  const auto behind = studied(dependent("reduce-scatter", Relation::collective_needs_gemm), machine);
  EXPECT_EQ(behind.problem.collective().bytes, 512_KiB);
}

TEST(Overlap, EveryStrategyThatAppliesIsCompared) {
  EXPECT_THAT(names_of(studied(independent(), machine_of("mi300x-8"),
                               {.strategies = {"serial", "c3", "c3-sp", "c3-rp", "c3-sp-rp", "conccl"}})),
              ElementsAre("serial", "c3", "c3-sp", "c3-rp", "c3-sp-rp", "conccl"));
  const OverlapProblem problem = dependent("reduce-scatter", Relation::collective_needs_gemm);
  const OverlapReport tomorrow = studied(problem, machine_of("mi300x-8+t3"));
  for (const char* name : {"serial", "serial-dma", "c3", "shard-p2p", "hetero-fused-1d", "t3", "t3-mca", "ideal"}) {
    EXPECT_NE(tomorrow.row(name), nullptr) << name;
  }
  // A ring has no exchange between all ranks.
  OverlapProblem half = problem;
  half.gemms.front().dtype = DType::f16;
  EXPECT_THAT(names_of(studied(half, machine_of("t3-ring-8"))),
              ElementsAre("serial", "t3", "t3-mca", "ideal", "ideal-rs+nmc"));
  // If it is requested by name, the reason is given.
  const OverlapReport asked = studied(problem, machine_of("mi300x-8"), {.strategies = {"serial", "t3", "conccl"}});
  EXPECT_THAT(skipped_of(asked), ElementsAre("t3 t3.feature", "conccl overlap.relation"));
}

TEST(Overlap, AnAllReduceIsAReduceScatterWithAnAllGatherBehindEveryStrategy) {
  const Machine machine = machine_of("t3-ring-8");
  OverlapProblem problem{.relation = Relation::collective_needs_gemm,
                         .gemms = {{2048, 1024, 512, DType::f16}},
                         .collectives = {{.collective = "reduce-scatter"}}};
  const OverlapOptions options{.strategies = {"serial", "ideal", "t3"}};
  const OverlapReport scatter = studied(problem, machine, options);
  problem.collectives = {{.collective = "all-reduce"}};
  const OverlapReport reduce = studied(problem, machine, options);
  ASSERT_TRUE(reduce.in_parts);
  const Nanoseconds gather = reduce.in_parts->time - scatter.serial;
  EXPECT_GT(gather.value, 0);
  EXPECT_EQ(reduce.row("t3")->time - scatter.row("t3")->time, gather);
  EXPECT_FALSE(scatter.in_parts);
  // Seven chunks are sent to a GPU, and seven are read there.
  EXPECT_DOUBLE_EQ(reduce.behind.reads(), 7.0 * 2048 * 1024 * 2);
  EXPECT_DOUBLE_EQ(reduce.row("t3")->dram->total() - scatter.row("t3")->dram->total(), reduce.behind.total());
}

// A ring reduce-scatter reads 2N-1 chunks per GPU one after the other and N-2 fused; writes, with those of the GEMM, 2N
// and 2N-2 chunks. One chunk per GPU is one N-th of the output, N of them are the output of all GPUs together.
TEST(Overlap, TrafficOfT3IsThatOfTheAlgebra) {
  const OverlapProblem problem{.relation = Relation::collective_needs_gemm,
                               .gemms = {{2048, 1024, 512, DType::f16}},
                               .collectives = {{.collective = "reduce-scatter"}}};
  for (const char* name : {"t3-ring-8", "t3-ring-16"}) {
    const OverlapReport report = studied(problem, machine_of(name), {.strategies = {"serial", "t3"}});
    const double n = report.problem.ranks;
    const double chunk = 2048.0 * 1024 * 2;
    EXPECT_DOUBLE_EQ(report.row("serial")->dram->collective_reads, (2 * n - 1) * chunk) << name;
    EXPECT_DOUBLE_EQ(report.row("t3")->dram->collective_reads, (n - 2) * chunk) << name;
    EXPECT_DOUBLE_EQ(report.row("serial")->dram->writes(), 2 * n * chunk) << name;
    EXPECT_DOUBLE_EQ(report.row("t3")->dram->writes(), (2 * n - 2) * chunk) << name;
  }
}

TEST(Overlap, AutoIsNamedByWhatItIsAndCanBeAskedForAgain) {
  const Machine machine = machine_of("mi300x-8");
  OverlapProblem large = dependent("all-gather");
  large.gemms = {{16384, 3584, 8192}};
  for (const OverlapProblem& problem : {independent(), dependent("all-gather"), large}) {
    const OverlapReport report = studied(problem, machine, {.strategies = {"auto"}});
    ASSERT_FALSE(report.rows.empty());
    EXPECT_EQ(report.rows[0].strategy, "serial");
    EXPECT_EQ(report.row("auto"), nullptr);
    const OverlapRow& best = *report.row(report.choice);
    EXPECT_LE(best.time, report.serial);
    EXPECT_EQ(studied(problem, machine, {.strategies = {report.choice}}).rows[0].time, best.time) << report.choice;
  }
}

TEST(Overlap, TheSearchedBestIsNeverSlowerThanTheChoiceAmongTheOthers) {
  const Machine machine = machine_of("mi300x-8");
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    const OverlapReport report = studied(independent(collective), machine);
    for (const OverlapRow& row : report.rows) {
      if (row.bound) continue;
      EXPECT_LE(microseconds(report.row(report.choice)->time), 1.001 * microseconds(row.time)) << row.strategy;
    }
  }
}

TEST(Overlap, StrategiesTakeVariantsCusAndChunks) {
  const Machine machine = machine_of("mi300x-8");
  const OverlapReport report = studied(
      independent(), machine, {.strategies = {"conccl/bcst", "conccl/b2b-prelaunch", "c3-sp/16", "c3-sp-rp/16"}});
  EXPECT_THAT(names_of(report), ElementsAre("conccl/bcst", "conccl/b2b-prelaunch", "c3-sp/16", "c3-sp-rp/16"));
  EXPECT_EQ(report.row("c3-sp/16")->comm_cus, 16U);
  EXPECT_EQ(report.row("c3-sp/16")->gemm_cus, 304U);
  EXPECT_EQ(report.row("c3-sp-rp/16")->gemm_cus, 288U);
  OverlapOptions options{.strategies = {"hetero-fused-1d/2", "hetero-fused-1d"}};
  options.knobs.chunks = 4;
  const OverlapReport cut = studied(dependent("all-gather"), machine, options);
  EXPECT_THAT(names_of(cut), ElementsAre("hetero-fused-1d/2", "hetero-fused-1d/4"));
  for (const char* wrong : {"hetero-fused-1d/0", "serial/2", "t3/2", "hetero-fused-1d/bcst", "concl"}) {
    EXPECT_EQ(code_of(dependent("all-gather"), machine, {.strategies = {wrong}}), "overlap.strategy") << wrong;
  }
  EXPECT_EQ(code_of(independent(), machine, {.strategies = {"conccl/cores-ll"}}), "overlap.strategy");
  OverlapOptions units{.strategies = {"serial", "c3-rp", "conccl"}};
  units.knobs.gemm_cus = 200;
  units.knobs.comm_cus = 40;
  const OverlapReport given = studied(independent(), machine, units);
  EXPECT_EQ(given.row("serial")->gemm_cus, 304U);  // the baseline of the others
  EXPECT_EQ(given.row("c3-rp")->gemm_cus, 200U);
  EXPECT_EQ(given.row("c3-rp")->comm_cus, 40U);
  EXPECT_EQ(given.row("conccl")->comm_cus, 0U);
}

// DMA engines bring the pieces, and a kernel on compute units adds them up.
TEST(Overlap, ConcclReducesWithASummingKernel) {
  const OverlapReport report =
      studied(independent("reduce-scatter"), machine_of("mi300x-8"), {.strategies = {"serial", "conccl"}});
  ASSERT_NE(report.row("conccl"), nullptr);
  EXPECT_GT(report.row("conccl")->comm_cus, 0U);
}

TEST(Overlap, UnevenTokensCountTheGpuWithMostRows) {
  const Machine machine = machine_of("mi300x-8");
  OverlapProblem problem = dependent("all-to-all");
  problem.ranks = 2;
  problem.gemms = {{8192, 8192, 512}};
  const OverlapReport even = studied(problem, machine, {.strategies = {"serial", "hetero-fused-1d"}});
  problem.tokens = {{2048, 6144}, {2048, 6144}};  // rank 1 multiplies 12288 of 16384 rows
  const OverlapReport uneven = studied(problem, machine, {.strategies = {"serial", "hetero-fused-1d"}});
  EXPECT_GT(uneven.gemm_alone, even.gemm_alone);
  EXPECT_EQ(uneven.rows.size(), 2U);
  EXPECT_GE(uneven.serial, uneven.gemm_alone);
}

// As many rows from each to each as without a table. What is less even takes the library longer: its largest send
// counts, and the GEMM of the rank with most rows.
TEST(Overlap, UnevenTokensAreComparedWithTheSameLibrary) {
  const Machine machine = machine_of("mi300x-8");
  for (const Relation relation : {Relation::gemm_needs_collective, Relation::collective_needs_gemm}) {
    OverlapProblem problem = dependent("all-to-all", relation);
    problem.gemms = {{2048, 2048, 4096}};
    const OverlapReport none = studied(problem, machine, {.strategies = {"serial", "ideal"}});
    Nanoseconds before{};
    for (const char* shares :
         {"1:1:1:1:1:1:1:1", "9:8:8:8:8:8:8:7", "2:1:1:1:1:1:1:1", "4:1:1:1:1:1:1:1", "1:0:0:0:0:0:0:0"}) {
      problem.tokens = tokens_by_shares(shares, 8 * 2048).value();
      const OverlapReport given = studied(problem, machine, {.strategies = {"serial", "ideal"}});
      EXPECT_EQ(given.serial, given.gemm_alone + given.comm_alone) << shares;
      EXPECT_LE(given.ideal, given.serial) << shares;
      EXPECT_EQ(given.row("serial")->how, "two programs");
      if (before.value == 0) {
        EXPECT_EQ(given.serial, none.serial);
        EXPECT_EQ(given.ideal, none.ideal);
      }
      EXPECT_GE(given.serial, before) << shares;
      before = given.serial;
    }
  }
}

// 1 MiB: rings take 77 us on eight GPUs, a kernel that sends to all at once 16 us.
TEST(Overlap, SmallCollectivesRunAsDirectKernels) {
  const Machine machine = machine_of("mi300x-8");
  OverlapProblem problem = dependent("all-reduce", Relation::collective_needs_gemm);
  problem.gemms = {{64, 8192, 1024}};
  for (const std::vector<std::string>& asked : {std::vector<std::string>{}, {"auto"}}) {
    const OverlapReport report = studied(problem, machine, {.strategies = asked});
    EXPECT_EQ(report.choice, "serial-direct");
    CollectiveRequest kernels{.collective = "all-reduce", .variant = "cores-simple", .bytes = 1_MiB};
    kernels.dtype = DType::bf16;
    const auto alone = predict(plan_collective(kernels, machine), machine);
    ASSERT_TRUE(alone);
    EXPECT_EQ(report.row("serial-direct")->exposed, alone->time);
  }
  // Of interest only where nothing else is as fast without overlap, or to those who ask.
  problem.gemms = {{8192, 8192, 1024}};
  EXPECT_EQ(studied(problem, machine, {.strategies = {"all"}}).row("serial-direct"), nullptr);
  EXPECT_NE(studied(problem, machine, {.strategies = {"serial-direct"}}).row("serial-direct"), nullptr);
  EXPECT_EQ(code_of(independent(), machine, {.strategies = {"serial-direct"}}), "overlap.relation");
}

TEST(Overlap, MissingLinksAreToldOnce) {
  OverlapProblem problem = dependent("all-gather");
  problem.gemms = {{16384, 3584, 8192}};
  const OverlapReport report = studied(problem, machine_of("mi250x-8"));
  EXPECT_THAT(skipped_of(report), testing::Contains("tiles-ag plan.link"));
  const auto notes = overlap_document(report).notes;
  EXPECT_EQ(std::ranges::count_if(
                notes, [](const std::string& note) { return note.find("are not linked") != std::string::npos; }),
            1);
}

// 0.1 % is level, 0.3 % is not.
TEST(Overlap, EquallyFastIsWithinAThousandth) {
  OverlapReport report;
  report.gemm_alone = {500'000};
  report.comm_alone = {600'000};
  report.serial = {1'100'000};
  report.ideal = {600'000};
  report.rows = {{.strategy = "serial-dma", .how = "", .time = {1'000'000}},
                 {.strategy = "c3", .how = "", .time = {1'003'000}}};
  EXPECT_THAT(overlap_reason(report, report.rows.front()), HasSubstr("c3 takes 0.3 % longer"));
  report.rows.back().time = {1'000'900};
  EXPECT_THAT(overlap_reason(report, report.rows.front()), HasSubstr("c3 is equally fast"));
  report.rows.back().time = {2'500'000};
  EXPECT_THAT(overlap_reason(report, report.rows.front()), HasSubstr("c3 takes 2.5 times as long"));
}

TEST(Overlap, WhatIsSlowerThanSerialIsNotRecommended) {
  OverlapProblem problem = dependent("all-gather");
  problem.gemms = {{1024, 256, 512}};
  const OverlapReport report = studied(problem, machine_of("mi300x-8"), {.strategies = {"hetero-fused-1d/64"}});
  ASSERT_GT(report.row("hetero-fused-1d")->time, report.serial);
  EXPECT_THAT(overlap_document(report).answer.front(),
              testing::StartsWith("use serial, not what was requested: hetero-fused-1d/64 takes "));
  EXPECT_THAT(report::to_json(overlap_document(report)), HasSubstr("\"choice\": \"serial\""));
}

TEST(Overlap, WhatOneStrategyCannotDoIsListedWithTheReason) {
  const Machine machine = machine_of("mi300x-8");
  OverlapProblem problem = dependent("all-gather");
  problem.gemms.front().k = 511;  // rows of 1022 bytes: no strided copy starts there
  EXPECT_THAT(skipped_of(studied(problem, machine)), ElementsAre("uniform-fused-2d ficco.panels"));
  EXPECT_EQ(code_of(problem, machine, {.strategies = {"uniform-fused-2d"}}), "ficco.panels");
  EXPECT_EQ(code_of(dependent("all-gather"), machine, {.strategies = {"hetero-fused-1d/129"}}), "ficco.chunks");
}

TEST(Overlap, RefusesWhatCannotBe) {
  const Machine machine = machine_of("mi300x-8");
  OverlapProblem problem = independent();
  problem.gemms.front().m = 0;
  EXPECT_EQ(code_of(problem, machine), "gemm.shape");
  problem.gemms.front() = {1 << 20, 1 << 20, 1 << 20, DType::bf16};
  EXPECT_EQ(code_of(problem, machine), "gemm.memory");
  problem = independent();
  problem.ranks = 1;
  EXPECT_EQ(code_of(problem, machine), "overlap.ranks");
  problem.ranks = 9;
  EXPECT_EQ(code_of(problem, machine), "overlap.ranks");
  EXPECT_EQ(code_of(dependent("broadcast"), machine), "overlap.collective");
  EXPECT_EQ(code_of(dependent("reduce-scatter"), machine), "overlap.collective");
  problem = dependent("all-gather");
  problem.gemms.push_back(problem.gemm());
  EXPECT_EQ(code_of(problem, machine), "overlap.problem");
  EXPECT_EQ(code_of({}, machine), "overlap.problem");
  for (const std::uint32_t units : {0U, 305U}) {
    OverlapOptions options;
    options.knobs.gemm_cus = units;
    EXPECT_EQ(code_of(independent(), machine, options), "c3.compute_units") << units;
  }
  OverlapOptions stopped;
  stopped.progress = [](std::size_t, std::size_t) { return false; };
  EXPECT_EQ(code_of(independent(), machine, stopped), "overlap.interrupted");
}

TEST(Overlap, NoResultDependsOnTheNumberOfThreads) {
  const Machine machine = machine_of("mi300x-8");
  for (const OverlapProblem& problem : {independent(), dependent("all-gather")}) {
    std::vector<std::string> documents;
    for (const std::uint32_t threads : {1U, 2U, 7U}) {
      OverlapOptions options;
      options.threads = threads;
      documents.push_back(report::to_json(overlap_document(studied(problem, machine, options))));
    }
    EXPECT_EQ(documents[0], documents[1]);
    EXPECT_EQ(documents[0], documents[2]);
  }
}

TEST(Overlap, ProgramsOfAllStrategiesReallyRun) {
  const Machine machine = machine_of("mi300x-8+t3");
  for (const bool adversarial : {false, true}) {
    TargetRequest device{"soft", 4, {}};
    OverlapOptions options;
    options.run.iterations = 2;
    options.run.device.check = device::CheckOutputs::every;
    if (adversarial) options.run.device.adversarial_seed = device.soft.adversarial_seed = 5;
    const auto target = open_target(device, machine);
    ASSERT_TRUE(target) << to_string(target.error());
    for (OverlapProblem problem : {independent("all-gather", DType::f32), dependent("all-gather"),
                                   dependent("reduce-scatter", Relation::collective_needs_gemm)}) {
      problem.ranks = 4;
      problem.gemms.front() = {64, 64, 64, problem.gemm().dtype};
      const auto report = study_overlap(problem, machine, **target, options);
      ASSERT_TRUE(report) << to_string(report.error().errors.front());
      EXPECT_GE(report->rows.size(), 8U);
      EXPECT_FALSE(report->simulated);
      EXPECT_EQ(report->iterations, 3U);  // three rounds of 2 / 3, rounded up
      EXPECT_THAT(report->where, HasSubstr("embedded node"));
      for (const OverlapRow& row : report->rows) {
        if (row.bound) continue;
        EXPECT_EQ(row.wrong, 0U) << row.strategy;
        EXPECT_FALSE(row.hbm_bytes) << row.strategy;
        EXPECT_GT(row.time.value, 0) << row.strategy;
      }
    }
  }
}

TEST(Overlap, WhatDoesNotFitThisComputerIsRefusedBeforeItRuns) {
  const Machine machine = machine_of("mi300x-8");
  const auto target = open_target({"soft", 2, {}}, machine);
  ASSERT_TRUE(target) << to_string(target.error());
  OverlapProblem problem = independent();
  problem.gemms = {{131072, 131072, 131072, DType::f16}};  // three matrices of 32 GiB, which an MI300X holds
  const auto report = study_overlap(problem, machine, **target);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().errors.front().code, "overlap.memory");
  EXPECT_THAT(report.error().errors.front().message, HasSubstr("768.0 GiB"));
}

TEST(OverlapTable, FitsOneHundredAndTwentyColumns) {
  const Machine machine = machine_of("mi300x-8+t3");
  for (const OverlapProblem& problem :
       {independent(), dependent("all-gather"), dependent("reduce-scatter", Relation::collective_needs_gemm)}) {
    const std::string text = report::to_text(overlap_document(studied(problem, machine)));
    std::size_t widest = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      widest = std::max(widest, end - at);
      at = end + 1;
    }
    EXPECT_LE(widest, 120U);
    EXPECT_THAT(text, HasSubstr("use "));
  }
}

TEST(OverlapCost, ProductsAloneAgreeWithTheirSimulation) {
  const Machine machine = machine_of("mi300x-8");
  const auto cost = simulated_cost(machine);
  for (const GemmShape& shape : {GemmShape{8192, 8192, 8192}, GemmShape{64, 57344, 8192}}) {
    for (const std::uint32_t units : {304U, 240U}) {
      const auto simulated = predict(plan_gemms({shape}, {.count = units}, 1, machine), machine);
      ASSERT_TRUE(simulated) << to_string(simulated.error().errors.front());
      const auto estimated = cost->gemm(shape, units);
      ASSERT_TRUE(estimated);
      EXPECT_NEAR(microseconds(*estimated) / microseconds(simulated->time), 1, 0.05) << to_string(shape) << units;
    }
  }
}

}  // namespace overlap_test
}  // namespace cortado::pipeline
