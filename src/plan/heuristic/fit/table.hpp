// A table of simulated times: one row a GEMM, one column a candidate.
//
//   collective,direction,dtype,m,n,k,serial,shard-p2p,uniform-fused-1d/4,...
//
// `direction` is what comes first, `collective` or `product`. Times are whole nanoseconds; `-` stands for what cannot
// be planned. A number behind a schedule is its number of chunks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cost.hpp"
#include "plan/ficco.hpp"
#include "plan/heuristic/fit/shapes.hpp"

namespace cortado::schedules {

struct TimedShape {
  DependentRequest request;
  std::vector<std::optional<Nanoseconds>> times;  ///< of the candidates, in their order
};

struct Table {
  std::vector<std::string> candidates;  ///< as in the header
  std::vector<TimedShape> rows;
};

/// Training: what the heuristic chooses from. Unseen: all that a search looks at (schedule_candidates).
std::vector<FiccoSchedule> candidates(ShapeSet set, const Machine& machine);

/// "serial", "hetero-fused-1d/8"
std::string column_name(FiccoSchedule candidate);

/// None if the candidate cannot do the GEMM (too little memory, too few rows, panels that no copy brings).
Result<std::optional<Nanoseconds>> simulated_time(const DependentRequest& request, const FiccoSchedule& candidate,
                                                  const CostModel& cost);

/// Fills the times of a row.
Status simulate_row(TimedShape& row, const std::vector<FiccoSchedule>& candidates, const CostModel& cost);

std::string csv_line(const TimedShape& row);
std::string csv_text(const std::vector<TimedShape>& rows, const std::vector<FiccoSchedule>& candidates,
                     const Machine& machine);

/// Lines that begin with `#` are comments (table.csv says what else is wrong, with the line).
Result<Table> parse_table(std::string_view text, std::string_view file);
Result<Table> read_table(const std::string& path);

}  // namespace cortado::schedules
