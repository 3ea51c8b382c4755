// When the GEMMs and the collective of a program ended, by the roles of its queues.
#pragma once

#include "cortado/base/units.hpp"
#include "cortado/ir/program.hpp"
#include "cortado/timeline/timeline.hpp"

namespace cortado {

/// Counted from "begin".
struct RoleTimes {
  Nanoseconds gemm{};
  Nanoseconds collective{};
  Nanoseconds sent{};  ///< of the collective without what streams of GEMMs do for it: sums, and copies of own rows
};

/// Medians of the traced iterations. Waits in streams of GEMMs count as neither.
RoleTimes times_by_role(const Timeline& timeline, const Program& program);

}  // namespace cortado
