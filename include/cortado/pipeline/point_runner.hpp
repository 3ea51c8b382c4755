// Where the rows of a sweep come from: a device that is measured, or a modelled machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cortado/base/result.hpp"
#include "cortado/device/driver.hpp"
#include "cortado/device/executor.hpp"
#include "cortado/pipeline/bench.hpp"
#include "cortado/report/bench_rows.hpp"

namespace cortado::pipeline {

class PointRunner {
 public:
  PointRunner() = default;
  PointRunner(const PointRunner&) = delete;
  PointRunner& operator=(const PointRunner&) = delete;
  virtual ~PointRunner() = default;

  virtual bool simulated() const = 0;
  virtual std::string where() const = 0;  ///< the node or the modelled machine

  /// The row of a point of the plan. Points are asked for in their order, each once at most.
  virtual Outcome<report::BenchRow> run(std::size_t point) = 0;
};

/// Measures one point after the other. The plan must outlive the runner.
std::unique_ptr<PointRunner> measure_points(const BenchPlan& plan, const BenchRequest& request,
                                            std::unique_ptr<device::Driver> driver, const device::RunOptions& options);

/// Simulates points on up to `threads` threads, which work ahead of the caller; rows do not depend on their number.
/// The plan, which has a point at least, must outlive the runner. Refuses machines without timing (sim.timing).
Result<std::unique_ptr<PointRunner>> simulate_points(const BenchPlan& plan, const BenchRequest& request,
                                                     std::uint32_t threads);

}  // namespace cortado::pipeline
