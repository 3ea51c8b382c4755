#include "plan/names.hpp"

#include <fmt/format.h>

#include "cortado/base/text.hpp"

namespace cortado::plan {

std::string suggestion(std::string_view wrong, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(wrong, known);
  return nearest.empty() ? fmt::format("known: {}", join(known))
                         : fmt::format("did you mean {}? known: {}", nearest, join(known));
}

}  // namespace cortado::plan
