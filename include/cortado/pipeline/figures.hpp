// What reports say of one execution of a program, measured or simulated.
#pragma once

#include <optional>

#include "cortado/base/units.hpp"
#include "cortado/ir/visit.hpp"
#include "cortado/report/bandwidth.hpp"
#include "cortado/timeline/timeline.hpp"

namespace cortado::pipeline {

struct Figures {
  ProgramCounts counts;
  Nanoseconds time;  ///< median of the iterations
  Bytes bytes;       ///< of the whole buffer (report/bandwidth.hpp)
  /// None of a program with matrix products: its time is not that of moving bytes.
  std::optional<report::Bandwidths> bandwidths{};
  std::optional<EnergyUse> energy{};  ///< of an iteration; none: nobody counted it
};

Figures figures_of(const Program& program, const Timeline& timeline);

}  // namespace cortado::pipeline
