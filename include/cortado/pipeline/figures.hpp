// What reports say of one execution of a program, measured or simulated.
#pragma once

#include <optional>

#include "cortado/base/units.hpp"
#include "cortado/ir/visit.hpp"
#include "cortado/timeline/timeline.hpp"

namespace cortado::pipeline {

struct Figures {
  ProgramCounts counts;
  Nanoseconds time;  ///< median of the iterations
  Bytes bytes;       ///< of the whole buffer (report/bandwidth.hpp)
  double algbw_gbps = 0;
  double busbw_gbps = 0;
  std::optional<EnergyUse> energy{};  ///< of an iteration; none: nobody counted it
};

Figures figures_of(const Program& program, const Timeline& timeline);

}  // namespace cortado::pipeline
