// One question gets one answer: the table of all strategies and the search for the fastest recommend equally fast ones.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/study.hpp"

#include "base/random.hpp"
#include "gemm/gemm.hpp"
#include "pipeline/overlap/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::pipeline {
namespace choice_test {

/// Two are level within this (0.1 %), and a search may miss by this.
constexpr double kLevel = 1.001;
constexpr double kMissed = 1.005;

/// Of the rows that have a program.
double fastest_us(const OverlapReport& report) {
  double least = microseconds(report.serial);
  for (const OverlapRow& row : report.rows) {
    if (!row.bound) least = std::min(least, microseconds(row.time));
  }
  return least;
}

double chosen_us(const OverlapReport& report) {
  return microseconds(report.row(report.choice)->time);
}

void expect_one_answer(const OverlapProblem& problem, const Machine& machine) {
  const auto all = study_overlap(problem, machine);
  ASSERT_TRUE(all) << to_string(all.error().errors.front());
  const auto searched = study_overlap(problem, machine, {.strategies = {std::string(kAutoStrategy)}});
  ASSERT_TRUE(searched) << to_string(searched.error().errors.front());
  EXPECT_LE(chosen_us(*all), kLevel * std::min(fastest_us(*all), chosen_us(*searched)))
      << all->choice << ", but auto finds " << searched->choice;
  EXPECT_LE(chosen_us(*searched), kMissed * fastest_us(*all))
      << "auto finds " << searched->choice << ", but the table has " << all->choice;
}

void expect_one_answer(Random& random, int problems) {
  for (int i = 0; i < problems; ++i) {
    const Machine machine = load_machine(kMachinesOfProblems[random.below(kMachinesOfProblems.size())]).value();
    OverlapProblem problem = random_problem(random);
    if (machine.name == "mi250x-8") problem.ranks = 8;
    SCOPED_TRACE(machine.name + " " + std::to_string(problem.ranks) + " ranks, " + to_string(problem.gemm()) + " " +
                 std::string(name_of(problem.relation)) + " " + std::string(problem.collective().collective.name()) +
                 " of " + std::to_string(problem.collective().bytes.value));
    expect_one_answer(problem, machine);
  }
}

TEST(OverlapChoice, TheTableAndTheSearchAgree) {
  Random random(3);
  expect_one_answer(random, tried_problems(60));
}

// Problems for which they did not: likely times of ways differ most where launches count, kernels of the search that no
// strategy has by default move small messages faster, and the likely best may take longer than its likely time.
TEST(OverlapChoice, TheyAgreeWhereTheyDidNot) {
  struct Case {
    const char* machine;
    Collective collective;
    GemmShape gemm;
    Bytes bytes;  // 0: dependent
    std::uint32_t ranks = 0;
  };
  for (const Case& one : std::vector<Case>{{"mi355x-8", "reduce-scatter", {128, 28672, 1024}, 64_KiB},
                                           {"mi300x-8", "all-to-all", {2048, 1024, 4096}, 4_MiB},
                                           {"b200-8", "all-reduce", {1000, 28672, 512}, 64_KiB},
                                           {"b200-8", "reduce-scatter", {28672, 2048, 16384}, 256_MiB},
                                           {"b200-8", "reduce-scatter", {512, 1024, 256}, {}},
                                           {"mi300x-8", "all-gather", {128, 128, 128}, {}},
                                           {"mi355x-8", "all-gather", {512, 16384, 1024}, {}},
                                           {"mi300x-8", "all-to-all", {256, 1141, 1828, DType::f32}, {}, 5},
                                           {"mi300x-8+codesign", "all-to-all", {268, 681, 8192, DType::f16}, {}, 4}}) {
    SCOPED_TRACE(to_string(one.gemm) + " on " + one.machine);
    OverlapProblem problem{.gemms = {one.gemm}, .collectives = {{.collective = one.collective, .bytes = one.bytes}}};
    problem.ranks = one.ranks;
    problem.collectives.front().dtype = one.gemm.dtype;
    if (one.bytes.value == 0) {
      problem.relation =
          one.collective == "reduce-scatter" ? Relation::collective_needs_gemm : Relation::gemm_needs_collective;
    }
    expect_one_answer(problem, load_machine(one.machine).value());
  }
}

// Uneven rows, for which models of one GPU err most.
TEST(OverlapChoice, SearchAndTableAgreeOnUnevenRows) {
  struct Case {
    const char* machine;
    GemmShape gemm;
    const char* shares;
  };
  for (const Case& one : std::vector<Case>{{"h100-8", {8192, 1024, 7168}, "1:3:1:2:1:3:1:1"},
                                           {"h100-8", {16384, 1024, 1064}, "8:3:1:0:30:1:2:3"},
                                           {"virtual-64", {1024, 1000, 1024}, "1:1:30:8:1:3:8:1"},
                                           {"b200-8", {8192, 1024, 8192}, "30:1:1:1:1:1:1:1"}}) {
    SCOPED_TRACE(to_string(one.gemm) + " on " + one.machine);
    for (const Relation relation : {Relation::gemm_needs_collective, Relation::collective_needs_gemm}) {
      OverlapProblem problem{
          .relation = relation, .gemms = {one.gemm}, .collectives = {{.collective = "all-to-all"}}, .ranks = 8};
      problem.tokens = tokens_by_shares(one.shares, 8 * one.gemm.m).value();
      expect_one_answer(problem, load_machine(one.machine).value());
    }
  }
  Random random(4242);
  for (int i = 0; i < tried_problems(24); ++i) {
    OverlapProblem problem = random_uneven_problem(random);
    const Machine machine = load_machine(kMachinesOfProblems[random.below(kMachinesOfProblems.size() - 1)]).value();
    SCOPED_TRACE(machine.name + " " + std::to_string(problem.ranks) + " ranks, " + to_string(problem.gemm()) + " " +
                 std::string(name_of(problem.relation)));
    expect_one_answer(problem, machine);
  }
}

// What was asked for is compared, and the answer says so.
TEST(OverlapChoice, AListIsAnsweredFromTheList) {
  const OverlapProblem problem{.relation = Relation::gemm_needs_collective,
                               .gemms = {{128, 128, 128}},
                               .collectives = {{.collective = "all-gather"}}};
  const Machine machine = load_machine("mi300x-8").value();
  const auto listed = study_overlap(problem, machine, {.strategies = {"serial", "serial-dma"}});
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->choice, "serial-dma");
  EXPECT_TRUE(overlap_document(*listed).answer.front().starts_with("of those requested, use serial-dma: "));
  const auto all = study_overlap(problem, machine, {.strategies = {std::string(kAllStrategies)}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->choice, "tiles-ag/1-cores");
  EXPECT_TRUE(overlap_document(*all).answer.front().starts_with("use tiles-ag/1-cores: "));
}

}  // namespace choice_test
}  // namespace cortado::pipeline
