// A spec as a whole, before its first point is done.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/result.hpp"

#include "sweep/question.hpp"
#include "sweep/spec.hpp"

namespace cortado::sweep {

/// GEMMs of axes that are done without asking.
inline constexpr std::uint64_t kMostPoints = 1'000'000;

/// Refuses unknown names with the nearest known one (sweep.name), axes that nothing uses (sweep.axis), values that the
/// question or the machine does not take, each with the other axes at their first values, GEMMs above `most`
/// (sweep.points), filters that nothing passes (sweep.filter), and what check_kept refuses. Returns the number of
/// points.
Result<std::uint64_t> check_spec(const Spec& spec, const Question& question, std::uint64_t most = kMostPoints);

/// What some points of the sweep take, spread over it.
struct Sample {
  std::uint64_t points = 0;  ///< that were done
  double seconds = 0;        ///< of one point
  double bytes = 0;          ///< of one point in the database
  std::uint64_t failed = 0;
  std::string first_failure{};  ///< "the first, point 3: gemm.shape: ..."; empty: none
};

/// Does up to `most` points, for about two seconds.
Result<Sample> sample_points(const Spec& spec, const Question& question, std::uint64_t points, std::uint64_t most = 16);

}  // namespace cortado::sweep
