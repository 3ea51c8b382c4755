// Pictures and words for the page of a characterisation.
#pragma once

#include <string>

#include "report/characterization.hpp"

namespace cortado::report {

std::string decomposition_picture(const Characterization& report);
std::string contention_pictures(const Characterization& report);

}  // namespace cortado::report
