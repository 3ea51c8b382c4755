// Does the points of a database that wait.
#pragma once

#include <cstdint>
#include <functional>

#include "cortado/result.hpp"

#include "sweep/crew.hpp"
#include "sweep/store.hpp"

namespace cortado::sweep {

struct Progress {
  PointCounts counts;
  double points_per_second = 0;  ///< of this run
  double seconds_left = 0;       ///< 0: not known yet
};

struct RunOptions {
  /// Called several times a second; false stops after the points that are under way.
  std::function<bool(const Progress&)> progress{};
};

/// Hands out points, so many at a time as are expected to take a twentieth of a second, and writes what comes back.
/// Commits five times a second: whatever ends the process, that and the points under way are all that is lost.
/// Returns whether all points are done or failed.
Result<bool> run_sweep(Store& store, Crew& crew, const RunOptions& options = {});

/// As many points as are expected to take `seconds`, of so many that are left for so many workers.
std::size_t handful(double seconds, double seconds_of_point, std::int64_t left, std::size_t workers);

}  // namespace cortado::sweep
