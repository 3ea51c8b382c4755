// A product and an independent collective, by one policy or by all: predicted or measured, and which to use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cortado/device/driver.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/failure.hpp"
#include "cortado/plan/c3.hpp"
#include "cortado/timeline/timeline.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::pipeline {

/// One policy.
struct OverlapRow {
  std::string policy;
  OverlapWay way;
  Nanoseconds time{};  ///< of both
  double speedup = 0;  ///< serial over time
  double share_of_ideal =
      0;               ///< (speedup - 1) / (ideal speedup - 1): may exceed 1 where the collective itself is faster
  Nanoseconds gemm{};  ///< begin to the end of the product
  Nanoseconds comm{};  ///< begin to the end of the collective
  double gemm_slowdown = 0;  ///< against the product alone
  double comm_slowdown = 0;  ///< against the collective alone, done as in `serial`
  std::uint32_t gemm_units = 0;
  std::uint32_t comm_units = 0;  ///< 0: on DMA engines
  double hbm_bytes = 0;          ///< read and written by all GPUs; 0 where it is measured
};

struct OverlapReport {
  OverlapRequest request;
  std::string where;  ///< "simulated mi300x-8", or the device
  Nanoseconds gemm_alone{};
  Nanoseconds comm_alone{};  ///< on compute units, as a library does it
  Nanoseconds serial{};
  Nanoseconds ideal{};   ///< the longer of the two alone
  std::string scenario;  ///< "G-long", "C-long" or "GC-equal", by the 15 % rule
  bool memory_bound = false;
  std::vector<OverlapRow> rows;
  std::string choice;  ///< the fastest policy of the rows
  std::string reason;  ///< one line
};

struct OverlapOptions {
  std::vector<std::string> policies{};  ///< empty: all
  std::uint32_t threads = 1;
};

/// Predicted on the machine.
Outcome<OverlapReport> simulate_overlap(const OverlapRequest& request, const Machine& machine,
                                        const OverlapOptions& options = {});

}  // namespace cortado::pipeline
