// The presets and the names of axes.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plan/names.hpp"
#include "plan/t3/presets.hpp"

namespace cortado {
namespace {

constexpr std::array kAxisNames{"auto", "rows", "columns"};  // in the order of T3Axis

}  // namespace

std::vector<T3Preset> list_t3_presets() {
  return {
      {"reduce-scatter", "direct", "chunks are stored where they are added up", plan::direct_reduce_scatter},
      {"reduce-scatter", "engines", "chunks are stored at home, engines add their pieces up as they are made",
       plan::engines_reduce_scatter},
      {"reduce-scatter", "ring", "sums go from neighbour to neighbour", plan::ring_reduce_scatter},
      {"all-gather", "direct", "pieces go to all ranks as they are made", plan::direct_all_gather},
      {"all-gather", "ring", "pieces go from neighbour to neighbour as they are made", plan::ring_all_gather},
      {"all-to-all", "direct", "chunks are stored where they belong", plan::direct_all_to_all},
      {"all-to-all", "engines", "chunks are stored at home, engines take their pieces away as they are made",
       plan::engines_all_to_all},
  };
}

std::string name_of(T3Axis axis) {
  return kAxisNames[static_cast<std::size_t>(axis)];
}

Result<T3Axis> find_t3_axis(std::string_view name) {
  const auto found = std::find(kAxisNames.begin(), kAxisNames.end(), name);
  if (found != kAxisNames.end()) return static_cast<T3Axis>(found - kAxisNames.begin());
  return fail("t3.axis", fmt::format("unknown axis '{}'", name),
              plan::suggestion(name, {kAxisNames.begin(), kAxisNames.end()}));
}

}  // namespace cortado
