// A measured run beside the simulated one of the same program: the honest test of a machine file.
#pragma once

#include <optional>
#include <vector>

#include "cortado/target/target.hpp"
#include "cortado/timeline/timeline.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::pipeline {

struct Comparison {
  Nanoseconds measured;
  Nanoseconds simulated;
  std::uint64_t wrong_bytes = 0;      ///< of the measured run
  std::optional<EnergyUse> energy{};  ///< of the simulated one; none: a machine without power
  /// With options.trace: the last iteration of each, beginning at zero.
  std::optional<Timeline> measured_timeline{};
  std::optional<Timeline> simulated_timeline{};

  double ratio() const;  ///< simulated / measured
  double error() const;  ///< |ratio - 1|
};

/// Runs the program on the device and simulates it on the machine it was verified for; medians of iterations, both with
/// warm caches. Refuses machines without timing before anything runs.
Outcome<Comparison> compare_verified(const VerifiedProgram& program, Target& device, const RunOptions& options);

struct ErrorSummary {
  double median = 0;
  double worst = 0;
};
ErrorSummary summary_of(std::vector<double> errors);

/// The spans of the last iteration as iteration 0, with the first of them at zero.
Timeline last_iteration(const Timeline& timeline);

}  // namespace cortado::pipeline
