// Benchmark sweeps: variants x sizes x prelaunch of one collective on one device that is opened once.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cortado/target.hpp"

#include "base/platform.hpp"
#include "pipeline/choose.hpp"
#include "report/bench_rows.hpp"

namespace cortado::pipeline {

struct BenchRequest {
  CollectiveRequest base;             ///< collective, ranks, dtype, root, ...; variant, bytes and prelaunch are swept
  std::vector<std::string> variants;  ///< empty = all of the collective; kAutoVariant = the one that is chosen
  std::string planner{};              ///< in addition to the variants; empty: none
  std::vector<std::string> among{};   ///< variants that may be chosen; empty = all
  std::vector<Bytes> sizes;
  std::vector<bool> prelaunch{false, true};
  std::optional<bool> in_place{};  ///< none = default_in_place
  std::uint32_t warmup = 5;
  std::uint32_t iterations = 20;
};

/// One point, planned and proved.
struct BenchPoint {
  std::string label;  ///< the variant, or "auto:bcst" if it was chosen
  CollectiveRequest request;
  VerifiedProgram program;
};

struct BenchPlan {
  std::vector<BenchPoint> points;           ///< by size, then variant, then prelaunch
  std::vector<report::SkippedRow> skipped;  ///< points that the planner refuses, with the reason
};

/// Called before each point is planned, with the points done and their total number. False stops.
using GoOn = std::function<bool(std::size_t done, std::size_t of)>;

/// Plans and verifies every point before anything runs. Fails if no point can be planned, and with
/// bench.interrupted if `go_on` returned false. The chooser, for the same machine, is needed to choose variants.
Outcome<BenchPlan> plan_bench(const BenchRequest& request, const Machine& machine, const GoOn& go_on = {},
                              Chooser* chooser = nullptr);

/// Runs the points of a plan on a target. A target that predicts works ahead of the caller on up to `threads` threads;
/// rows do not depend on their number. Devices warm up, measure, and check the bytes of the last iteration. The plan
/// and the target must outlive it.
class PointRunner {
 public:
  PointRunner(const BenchPlan& plan, const BenchRequest& request, Target& target, const device::RunOptions& options,
              std::uint32_t threads);
  PointRunner(const PointRunner&) = delete;
  PointRunner& operator=(const PointRunner&) = delete;

  /// The row of a point. Points are requested in order, each at most once.
  Outcome<report::BenchRow> run(std::size_t point);

 private:
  Outcome<report::BenchRow> row_of(const BenchPoint& point) const;

  const BenchPlan& plan_;
  Target& target_;
  RunOptions options_;
#if CORTADO_HOSTED
  std::vector<std::promise<Outcome<report::BenchRow>>> rows_;  // by point; only of a target that predicts
  std::jthread ahead_;                                         // last: it ends before what it uses
#endif
};

}  // namespace cortado::pipeline
