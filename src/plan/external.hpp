// Planners outside of Cortado take part as variants and strategies called "planner:PATH" (docs/planners.md).
#pragma once

#include <string>
#include <string_view>

namespace cortado {

inline constexpr std::string_view kPlannerPrefix = "planner:";

inline bool is_external(std::string_view name) {
  return name.starts_with(kPlannerPrefix);
}

/// "planner:./mine": the variant or strategy of an executable.
inline std::string external_name(std::string_view path) {
  return std::string(kPlannerPrefix) + std::string(path);
}

}  // namespace cortado
