#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"

namespace cortado {

Result<Collective> find_collective(std::string_view name) {
  const auto* found = std::ranges::find(kCollectives, name, &Collective::name);
  if (found != kCollectives.end()) return *found;
  return fail("plan.unknown_collective", fmt::format("unknown collective '{}'", name),
              suggestion(name, {Collective::kNames.begin(), Collective::kNames.end()}));
}

}  // namespace cortado
