// Ideals are bounds: no strategy is faster, whatever the problem.
#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "cortado/study.hpp"

#include "base/random.hpp"
#include "gemm/gemm.hpp"
#include "pipeline/overlap/random_problem.hpp"

namespace cortado::pipeline {
namespace bound_test {

/// A GEMM that shares its CUs for a while may fill its last wave better than it does on any number of them alone.
constexpr double kWaves = 0.002;

void compare(const OverlapProblem& problem, const Machine& machine, std::size_t& compared) {
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

TEST(OverlapBound, NoStrategyIsFasterThanIdeal) {
  constexpr int kProblems = 40;
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

/// Stores past the cache leave it to the operands, so the GEMM of T3 is often faster than the plain one.
TEST(OverlapBound, NorIsT3OnItsOwnMachines) {
  constexpr int kProblems = 24;
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

// Launches are all of it, and kernels that no library has are the fastest.
TEST(OverlapBound, SmallOnes) {
  std::size_t compared = 0;
  for (const char* const name : kMachinesOfProblems) {
    const Machine machine = load_machine(name).value();
    for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
      for (const std::uint64_t side : {64U, 128U, 512U}) {
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
