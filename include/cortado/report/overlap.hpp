// A product and an independent collective by several policies: as a table for people and as JSON for scripts.
// overlap_basis.hpp defines speed-up, ideal and share of ideal. A share above 100 % is possible: where a policy does
// the collective faster than the library does it alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/report/overlap_basis.hpp"

namespace cortado::report {

/// One policy.
struct OverlapRow : WayRow {
  std::string policy;
  std::string variant;           ///< of the collective: "pcpy", "bcst prelaunch", "cores-simple"
  double gemm_slowdown = 0;      ///< against the product alone
  double comm_slowdown = 0;      ///< against the collective alone, done as one after the other does it
  std::uint32_t gemm_units = 0;  ///< that the product may occupy
  std::uint32_t comm_units = 0;  ///< 0: on DMA engines
  std::string why;               ///< what the policy decided, in one line
};

struct OverlapReport : OverlapBasis {
  std::vector<OverlapRow> rows;

  const OverlapRow* row(std::string_view policy) const;  ///< nullptr if there is none
};

std::string overlap_text(const OverlapReport& report);

/// "schema": "cortado.overlap"; rows carry policy, time_us, speedup, share_of_ideal, gemm_us, comm_us, gemm_slowdown,
/// comm_slowdown, hbm_bytes (null if measured), gemm_units, comm_units, variant, why, wrong (null if simulated).
std::string overlap_json(const OverlapReport& report);

}  // namespace cortado::report
