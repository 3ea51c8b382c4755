// Random overlap problems, for tests of what holds for all of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "cortado/plan.hpp"

#include "base/random.hpp"

namespace cortado::pipeline {

/// A power of two between those of the bits, or three times that.
inline std::uint64_t drawn(Random& random, std::uint64_t least_bits, std::uint64_t most_bits) {
  const std::uint64_t power = std::uint64_t{1} << (least_bits + random.below(most_bits - least_bits + 1));
  return random.chance(3) ? 3 * power : power;
}

/// Small GEMMs and collectives, beside which launches count, as often as large ones.
inline OverlapProblem random_problem(Random& random) {
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

/// An all-to-all whose receivers get different numbers of rows, next to a GEMM that depends on it.
inline OverlapProblem random_uneven_problem(Random& random) {
  OverlapProblem problem{
      .relation = random.chance(2) ? Relation::collective_needs_gemm : Relation::gemm_needs_collective,
      .gemms = {{8 * drawn(random, 3, 11), drawn(random, 6, 12), drawn(random, 6, 12)}},
      .collectives = {{.collective = "all-to-all"}},
      .ranks = static_cast<std::uint32_t>(2 << random.below(3))};
  constexpr std::array kShares{0, 1, 1, 2, 3, 8, 30};
  std::string shares = "1";
  for (std::uint32_t rank = 1; rank < problem.ranks; ++rank) {
    shares += ":" + std::to_string(kShares[random.below(kShares.size())]);
  }
  problem.tokens = tokens_by_shares(shares, problem.ranks * problem.gemm().m).value();
  return problem;
}

inline constexpr std::array kMachinesOfProblems{"mi300x-8", "h100-8", "mi355x-8", "b200-8", "mi300x-8+t3", "mi250x-8"};

}  // namespace cortado::pipeline
