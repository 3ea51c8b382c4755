// The baselines of strategies, serial and ideal, and what the search must not miss.
#include <gtest/gtest.h>

#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "tests/support/sanitized.hpp"

namespace cortado::pipeline {
namespace baseline_test {

OverlapProblem problem_of(Collective collective, Relation relation, GemmShape gemm) {
  return {.relation = relation, .gemms = {gemm}, .collectives = {{.collective = collective}}};
}

OverlapReport report_of(const OverlapProblem& problem, const Machine& machine, std::vector<std::string> strategies) {
  auto report = study_overlap(problem, machine, {.strategies = std::move(strategies)});
  EXPECT_TRUE(report) << to_string(report.error().errors.front());
  return report ? *std::move(report) : OverlapReport{};
}

// Small ones by a tree or directly, large ones by a ring: not as a reduce-scatter and an all-gather.
TEST(OverlapBaseline, AnAllReduceIsComparedWithTheLibrarysAllReduce) {
  const Machine machine = load_machine("mi300x-8").value();
  for (const std::uint64_t rows : {8U, 4096U}) {
    const GemmShape gemm{rows, 8192, 1024};
    const OverlapReport report =
        report_of(problem_of("all-reduce", Relation::collective_needs_gemm, gemm), machine, {"serial", "tiles-rs/1"});
    const CollectiveRequest library{.collective = "all-reduce",
                                    .variant = std::string(kLibraryVariant),
                                    .bytes = Bytes{2 * gemm.m * gemm.n},
                                    .in_place = default_in_place("all-reduce", std::string(kLibraryVariant)),
                                    .dtype = DType::bf16};
    const auto alone = predict(plan_collective(library, machine), machine);
    ASSERT_TRUE(alone) << to_string(alone.error().errors.front());
    EXPECT_EQ(report.comm_alone, alone->time) << rows;
    EXPECT_EQ(report.serial, report.gemm_alone + alone->time) << rows;
    ASSERT_TRUE(report.in_parts);
    EXPECT_GT(report.in_parts->time, report.serial) << rows;
  }
}

TEST(OverlapBaseline, TheGemmOfSerialEndsBehindTheCollectiveThatItNeeds) {
  const Machine machine = load_machine("mi300x-8").value();
  const GemmShape gemm{4096, 1024, 2048};
  const OverlapReport needs =
      report_of(problem_of("all-gather", Relation::gemm_needs_collective, gemm), machine, {"serial"});
  EXPECT_GT(needs.rows[0].gemm, needs.comm_alone);
  EXPECT_LE(needs.rows[0].gemm, needs.serial);
  EXPECT_LE(needs.rows[0].comm, needs.comm_alone);
  const OverlapReport needed =
      report_of(problem_of("reduce-scatter", Relation::collective_needs_gemm, gemm), machine, {"serial"});
  EXPECT_LE(needed.rows[0].gemm, needed.gemm_alone);
  EXPECT_EQ(needed.rows[0].comm, needed.serial);
}

// DMA engines do small collectives in a fraction of what some libraries take.
TEST(OverlapBaseline, NoStrategyIsFasterThanIdeal) {
  for (const char* name : {"mi300x-8", "h100-8"}) {
    const Machine machine = load_machine(name).value();
    for (const std::uint64_t rows : tried_values({64U, 512U, 8192U}, 1)) {
      const GemmShape gemm{rows, 2048, 2048};
      std::vector<OverlapProblem> problems{problem_of("all-gather", Relation::gemm_needs_collective, gemm),
                                           problem_of("reduce-scatter", Relation::collective_needs_gemm, gemm),
                                           problem_of("all-reduce", Relation::collective_needs_gemm, gemm),
                                           problem_of("all-gather", Relation::independent, gemm)};
      problems.back().collectives.front().bytes = Bytes{4096 * rows};
      problems.back().collectives.front().in_place = true;
      for (const OverlapProblem& problem : problems) {
        const auto report = study_overlap(problem, machine);
        ASSERT_TRUE(report) << to_string(report.error().errors.front());
        EXPECT_LE(report->ideal, std::max(report->gemm_alone, report->serial));
        for (const OverlapRow& row : report->rows) {
          EXPECT_GE(row.time, report->ideal)
              << name << " " << rows << " " << problem.collective().collective.name() << " " << row.strategy;
        }
      }
    }
  }
}

TEST(OverlapBaseline, AutoSearchesTinyGemmsToo) {
  const Machine machine = load_machine("mi300x-8").value();
  for (const GemmShape& gemm : {GemmShape{64, 512, 512}, GemmShape{256, 512, 1024}, GemmShape{1024, 256, 512}}) {
    for (const auto& [collective, relation, others] :
         {std::tuple(Collective("all-gather"), Relation::gemm_needs_collective,
                     std::vector<std::string>{"serial", "tiles-ag/1", "tiles-ag/2"}),
          {Collective("reduce-scatter"), Relation::collective_needs_gemm, {"serial", "tiles-rs/1", "c3"}}}) {
      const OverlapProblem problem = problem_of(collective, relation, gemm);
      const OverlapReport chosen = report_of(problem, machine, {"auto"});
      for (const OverlapRow& row : report_of(problem, machine, others).rows) {
        EXPECT_LE(microseconds(chosen.row(chosen.choice)->time), 1.001 * microseconds(row.time))
            << gemm.m << " rows, " << chosen.choice << " " << row.strategy;
      }
    }
  }
}

// 4096 x 4096 are 256 tiles of 256 x 256, or 512 of half that: one or two waves of 304.
TEST(OverlapBaseline, AGroupOfWavesHasAWave) {
  const Machine machine = load_machine("mi300x-8").value();
  const OverlapProblem problem = problem_of("reduce-scatter", Relation::collective_needs_gemm, {4096, 4096, 1024});
  const OverlapReport report = report_of(problem, machine, {"serial", "waves", "waves/1", "waves/1000"});
  EXPECT_NE(report.row("waves/1"), nullptr);
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].name, "waves/1000");
  EXPECT_EQ(report.skipped[0].reason.code, "overlap.strategy");
}

}  // namespace baseline_test
}  // namespace cortado::pipeline
