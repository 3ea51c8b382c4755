// Hints for names that nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cortado::plan {

/// "did you mean pcpy? known: pcpy, bcst", or without the question if nothing is near.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace cortado::plan
