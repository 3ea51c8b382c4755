// What the text and the page of a map have in common.
#pragma once

#include <string>

#include "report/schedule_map.hpp"

namespace cortado::report {

std::string map_title(const ScheduleMap& map);
std::string map_number(std::uint64_t value);  ///< 131072 -> "128Ki"

}  // namespace cortado::report
