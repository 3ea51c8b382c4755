// Benchmark sweeps: variants x sizes x prelaunch of one collective on one device that is opened once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cortado/pipeline/choose.hpp"
#include "cortado/pipeline/run.hpp"
#include "cortado/report/bench_rows.hpp"

namespace cortado::pipeline {

struct BenchRequest {
  CollectiveRequest base;             ///< collective, ranks, dtype, root, ...; variant, bytes and prelaunch are swept
  std::vector<std::string> variants;  ///< empty = all of the collective; kAutoVariant = the one that is chosen
  std::vector<std::string> among{};   ///< variants that may be chosen; empty = all
  std::vector<Bytes> sizes;
  std::vector<bool> prelaunch{false, true};
  std::optional<bool> in_place{};  ///< none = default_in_place
  std::uint32_t warmup = 5;
  std::uint32_t iterations = 20;
};

/// One point, planned and proved.
struct BenchPoint {
  std::string label;  ///< the variant, or "auto:bcst" where it was chosen
  CollectiveRequest request;
  VerifiedProgram program;
};

struct BenchPlan {
  std::vector<BenchPoint> points;           ///< by size, then variant, then prelaunch
  std::vector<report::SkippedRow> skipped;  ///< points the planner refuses, with the reason
};

/// Asked before each point is planned: how many are done, of how many. False stops there.
using GoOn = std::function<bool(std::size_t done, std::size_t of)>;

/// Plans and verifies every point before anything runs. Fails if no point at all can be planned, and with
/// bench.interrupted if `go_on` said no. The chooser, of the same machine, is needed where variants are to be chosen.
Outcome<BenchPlan> plan_bench(const BenchRequest& request, const Machine& machine, const GoOn& go_on = {},
                              Chooser* chooser = nullptr);

/// Warms up, measures, checks the last iteration's bytes.
Outcome<report::BenchRow> run_point(const BenchPoint& point, device::Driver& driver, const BenchRequest& request,
                                    const device::RunOptions& options);

}  // namespace cortado::pipeline
