// Ideals are bounds: no strategy is faster, whatever the problem.
#include <array>

#include <gtest/gtest.h>

#include "cortado/study.hpp"

#include "base/random.hpp"
#include "gemm/gemm.hpp"

namespace cortado::pipeline {
namespace bound_test {

std::uint64_t drawn(Random& random, std::uint64_t least_bits, std::uint64_t most_bits) {
  const std::uint64_t power = std::uint64_t{1} << (least_bits + random.below(most_bits - least_bits + 1));
  return random.chance(3) ? 3 * power : power;
}

/// Small GEMMs and collectives, beside which launches count, as often as large ones.
OverlapProblem problem_of(Random& random) {
  constexpr std::array<Collective, 4> kCollectives{"all-gather", "reduce-scatter", "all-reduce", "all-to-all"};
  const Collective collective = kCollectives[random.below(kCollectives.size())];
  const bool reduces = collective == "reduce-scatter" || collective == "all-reduce";
  OverlapProblem problem{.gemms = {{8 * drawn(random, 3, 12), drawn(random, 5, 12), drawn(random, 5, 12)}},
                         .collectives = {{.collective = collective}},
                         .ranks = static_cast<std::uint32_t>(2 << random.below(3))};
  if (random.chance(2)) {
    problem.relation = Relation::independent;
    problem.collectives.front().bytes = Bytes{drawn(random, 10, 26)};
    problem.collectives.front().in_place = collective == "all-gather";
    problem.collectives.front().dtype = problem.gemm().dtype;
  } else {
    const bool behind = reduces || (collective == "all-to-all" && random.chance(2));
    problem.relation = behind ? Relation::collective_needs_gemm : Relation::gemm_needs_collective;
  }
  return problem;
}

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
  constexpr std::array kMachines{"mi300x-8", "h100-8", "mi355x-8", "b200-8", "mi300x-8+t3", "mi250x-8"};
  Random random(14);
  std::size_t compared = 0;
  for (int i = 0; i < kProblems; ++i) {
    const Machine machine = load_machine(kMachines[random.below(kMachines.size())]).value();
    OverlapProblem problem = problem_of(random);
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

}  // namespace bound_test
}  // namespace cortado::pipeline
