// A measured run next to the simulated run of the same program: the honest test of a machine file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

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

/// A program and its comparison.
struct ComparedRow {
  std::string what;  ///< name of a program, or variant of a collective
  Bytes bytes;
  std::optional<bool> prelaunch;  ///< of a collective
  Comparison times;
};

struct ComparedReport {
  std::string what;     ///< program file or collective
  std::string node;     ///< where it was measured
  std::string machine;  ///< that was simulated
  std::uint32_t iterations = 0;
  bool interrupted = false;
  std::vector<ComparedRow> rows;
};

/// "cortado.compare". The lines of its table may be shown before all rows are known.
report::Document compare_document(const ComparedReport& report);

/// The spans of the last iteration as iteration 0, with the first of them at zero.
Timeline last_iteration(const Timeline& timeline);

}  // namespace cortado::pipeline
