// A product and the collective that takes away what it makes, by the systems that Cortado knows: as a table for people
// and as JSON for scripts. overlap_basis.hpp defines speed-up, ideal and share of ideal; one after the other is
// `sequential`, the collective on compute units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/report/overlap_basis.hpp"
#include "cortado/timeline/dram_traffic.hpp"

namespace cortado::report {

/// One way.
struct FusedRow : WayRow {
  std::string way;  ///< "t3-mca", "hetero-fused-1d/16"
  std::string how;  ///< what was planned, in a few words
  bool bound =
      false;  ///< an ideal of what is known alone: it has no program. T3, whose product reads less, may beat it
  Nanoseconds exposed{};                                ///< time - product alone, not below 0
  std::optional<DramTraffic> dram{};                    ///< none: measured, or a bound
  std::optional<std::uint32_t> tracker_entries_peak{};  ///< of the GPU that needed most; none: no trackers, or measured
  std::optional<Nanoseconds> tracker_wait{};            ///< that writers waited for entries, over all GPUs
};

struct FusedReport : OverlapBasis {
  std::vector<FusedRow> rows;

  const FusedRow* row(std::string_view way) const;  ///< nullptr if there is none
};

std::string fused_text(const FusedReport& report);

/// "schema": "cortado.fused"; docs/json.md lists the fields.
std::string fused_json(const FusedReport& report);

}  // namespace cortado::report
