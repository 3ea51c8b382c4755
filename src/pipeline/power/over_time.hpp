// Power over time from the counters of a simulation.
#pragma once

#include <vector>

#include "cortado/report.hpp"
#include "cortado/timeline.hpp"

namespace cortado::pipeline {

/// Of GPU 0, from the counters "gpu 0 xcd", "gpu 0 iod", ... of the timeline, in watts, which have their samples at the
/// same times. Empty if it has none of them.
std::vector<report::PowerSample> power_over_time(const Timeline& timeline);

}  // namespace cortado::pipeline
