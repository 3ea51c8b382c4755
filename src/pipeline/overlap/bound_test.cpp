// Ideals are bounds: no strategy is faster, whatever the problem.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "cortado/study.hpp"

#include "base/random.hpp"
#include "gemm/gemm.hpp"
#include "pipeline/overlap/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::pipeline {
namespace bound_test {

/// Times are whole nanoseconds.
constexpr double kRoundingUs = 0.002;

void compare(const OverlapProblem& problem, const Machine& machine, std::size_t& compared) {
  const auto report = study_overlap(problem, machine);
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  for (const OverlapRow& row : report->rows) {
    ++compared;
    EXPECT_GE(microseconds(row.time), microseconds(report->ideal) - kRoundingUs)
        << machine.name << " " << problem.ranks << " ranks, " << to_string(problem.gemm()) << " "
        << name_of(problem.relation) << " " << problem.collective().collective.name() << " of "
        << problem.collective().bytes.value << ": " << row.strategy;
  }
}

TEST(OverlapBound, NoStrategyIsFasterThanIdeal) {
  constexpr int kProblems = tried_problems(120);
  Random random(14);
  std::size_t compared = 0;
  for (int i = 0; i < kProblems; ++i) {
    const Machine machine = load_machine(kMachinesOfProblems[random.below(kMachinesOfProblems.size())]).value();
    OverlapProblem problem = random_problem(random);
    if (machine.name == "mi250x-8") problem.ranks = 8;
    ASSERT_NO_FATAL_FAILURE(compare(problem, machine, compared));
  }
  EXPECT_GE(compared, 6U * kProblems);
}

/// Problems that were faster than an earlier form of the bound: kernels chosen for fewer CUs, last waves at a higher
/// clock, an all-reduce that is faster on fewer CUs, pieces that fit the caches, staging that does.
TEST(OverlapBound, WhatOnceBeatIt) {
  struct Case {
    const char* machine;
    std::uint32_t ranks;
    Relation relation;
    GemmShape gemm;
    Collective collective;
    std::uint64_t bytes;
  };
  constexpr Relation kIndependent = Relation::independent;
  const std::array cases{
      Case{"b200-8", 8, kIndependent, {8192, 512, 4096}, "all-reduce", 2048},
      Case{"mi300x-8", 8, kIndependent, {24576, 2048, 3072}, "all-to-all", 16777216},
      Case{"mi300x-8", 8, kIndependent, {2048, 6144, 2048}, "reduce-scatter", 4194304},
      Case{"h100-8", 8, kIndependent, {16384, 192, 768}, "reduce-scatter", 2048},
      Case{"mi300x-8+t3", 4, kIndependent, {16384, 1024, 96}, "all-reduce", 201326592},
      Case{"h100-8", 2, Relation::collective_needs_gemm, {32768, 32, 1536}, "reduce-scatter", 0},
      Case{"mi300x-8+t3", 2, Relation::gemm_needs_collective, {24576, 12288, 12288}, "all-gather", 0},
      Case{"mi355x-8", 2, Relation::gemm_needs_collective, {49152, 64, 2048}, "all-to-all", 0},
  };
  std::size_t compared = 0;
  for (const Case& one : cases) {
    OverlapProblem problem{.relation = one.relation,
                           .gemms = {one.gemm},
                           .collectives = {{.collective = one.collective}},
                           .ranks = one.ranks};
    if (one.relation == kIndependent) {
      problem.collectives.front().bytes = Bytes{one.bytes};
      problem.collectives.front().dtype = one.gemm.dtype;
    }
    ASSERT_NO_FATAL_FAILURE(compare(problem, load_machine(one.machine).value(), compared));
  }
}

/// Stores past the cache leave it to the operands, so the GEMM of T3 is often faster than the plain one.
TEST(OverlapBound, NorIsT3OnItsOwnMachines) {
  constexpr int kProblems = tried_problems(24);
  constexpr std::array kMachines{"t3-ring-8", "t3-ring-16", "mi300x-8+t3"};
  Random random(3);
  std::size_t compared = 0;
  for (int i = 0; i < kProblems; ++i) {
    const Machine machine = load_machine(kMachines[random.below(kMachines.size())]).value();
    OverlapProblem problem{.gemms = {{8 * drawn(random, 6, 10), drawn(random, 8, 13), drawn(random, 8, 12)}},
                           .collectives = {{.collective = "reduce-scatter"}},
                           .ranks = machine.gpus};
    problem.relation = Relation::collective_needs_gemm;
    problem.gemms.front().dtype = DType::f16;
    if (random.chance(4)) problem.collectives.front().collective = "all-reduce";
    ASSERT_NO_FATAL_FAILURE(compare(problem, machine, compared));
  }
  EXPECT_GE(compared, 4U * kProblems);
}

/// In stages, pieces and tiles may read the operands less often than the whole GEMM.
TEST(OverlapBound, NorWhatReadsLessInStages) {
  constexpr int kProblems = tried_problems(80);
  std::size_t compared = 0;
  Random random(11);
  for (int i = 0; i < kProblems; ++i) {
    const Machine machine = load_machine(random.chance(3) ? "t3-ring-16" : "t3-ring-8").value();
    OverlapProblem problem = random_problem(random);
    problem.ranks = 2;  // of a longer ring, only neighbours are linked
    problem.gemms.front().k *= 8;
    problem.gemms.front().dtype = DType::f16;
    problem.collectives.front().dtype = DType::f16;
    if (problem.relation == Relation::independent) continue;
    ASSERT_NO_FATAL_FAILURE(compare(problem, machine, compared));
  }
  const Machine machine = load_machine("t3-ring-8").value();
  for (const auto& [collective, shape] :
       {std::pair(Collective("reduce-scatter"), GemmShape{4096, 8192, 32768, DType::f16}),
        std::pair(Collective("all-gather"), GemmShape{512, 8192, 32768, DType::f16}),
        std::pair(Collective("all-gather"), GemmShape{12288, 6144, 49152, DType::f16})}) {
    OverlapProblem problem{.gemms = {shape}, .collectives = {{.collective = collective}}, .ranks = 2};
    const bool gathers = collective == "all-gather";
    problem.relation = gathers ? Relation::gemm_needs_collective : Relation::collective_needs_gemm;
    ASSERT_NO_FATAL_FAILURE(compare(problem, machine, compared));
  }
  EXPECT_GE(compared, 4U * kProblems / 2);
}

// Launches are all of it, and kernels that no library has are the fastest.
TEST(OverlapBound, SmallOnes) {
  std::size_t compared = 0;
  for (const char* const name : kMachinesOfProblems) {
    const Machine machine = load_machine(name).value();
    for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
      for (const std::uint64_t side : tried_values({64U, 128U, 512U}, 1)) {
        const OverlapProblem problem{.relation = Relation::gemm_needs_collective,
                                     .gemms = {{side, side, side}},
                                     .collectives = {{.collective = collective}}};
        ASSERT_NO_FATAL_FAILURE(compare(problem, machine, compared));
      }
    }
  }
}

}  // namespace bound_test
}  // namespace cortado::pipeline
