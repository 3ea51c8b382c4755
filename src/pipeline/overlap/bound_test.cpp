// Ideals are bounds: no strategy is faster, whatever the problem.
#include <gtest/gtest.h>

#include "cortado/study.hpp"

#include "base/random.hpp"
#include "gemm/gemm.hpp"
#include "pipeline/overlap/random_problem.hpp"

namespace cortado::pipeline {
namespace bound_test {

/// A GEMM that shares its CUs for a while may fill its last wave better than it does on any number of them alone.
constexpr double kWaves = 0.002;

TEST(OverlapBound, NoStrategyIsFasterThanIdeal) {
  constexpr int kProblems = 40;
  Random random(14);
  std::size_t compared = 0;
  for (int i = 0; i < kProblems; ++i) {
    const Machine machine = load_machine(kMachinesOfProblems[random.below(kMachinesOfProblems.size())]).value();
    OverlapProblem problem = random_problem(random);
    if (machine.name == "mi250x-8") problem.ranks = 8;
    const auto report = study_overlap(problem, machine);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    const bool independent = problem.relation == Relation::independent;
    for (const OverlapRow& row : report->rows) {
      ++compared;
      EXPECT_GE(microseconds(row.time), (independent ? 1 - kWaves : 1) * microseconds(report->ideal))
          << machine.name << " " << problem.ranks << " ranks, " << to_string(problem.gemm()) << " "
          << name_of(problem.relation) << " " << problem.collective().collective.name() << " of "
          << problem.collective().bytes.value << ": " << row.strategy;
    }
  }
  EXPECT_GE(compared, 6U * kProblems);
}

// Launches are all of it, and kernels that no library has are the fastest.
TEST(OverlapBound, SmallOnes) {
  for (const char* const name : kMachinesOfProblems) {
    const Machine machine = load_machine(name).value();
    for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
      for (const std::uint64_t side : {64, 128, 512}) {
        const OverlapProblem problem{.relation = Relation::gemm_needs_collective,
                                     .gemms = {{side, side, side}},
                                     .collectives = {{.collective = collective}}};
        const auto report = study_overlap(problem, machine);
        ASSERT_TRUE(report) << to_string(report.error().errors.front());
        for (const OverlapRow& row : report->rows) {
          EXPECT_GE(row.time, report->ideal) << name << " " << collective.name() << " " << side << ": " << row.strategy;
        }
      }
    }
  }
}

}  // namespace bound_test
}  // namespace cortado::pipeline
