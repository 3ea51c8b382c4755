// Pictures for the page of a report on power.
#pragma once

#include <string>

#include "cortado/report.hpp"

namespace cortado::report {

std::string power_pictures(const PowerReport& report);

}  // namespace cortado::report
