// Lists of scenarios that publications measured, or stand-ins if the list is not public
// (published/scenarios/*.toml; the rule of each list is written in its file).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::published {

/// A matrix product and a collective on every GPU, independent of each other or not, as the list says.
struct OverlapScenario {
  std::string name;
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  std::string dtype;
  std::string collective;
  Bytes bytes;  ///< of the collective's whole buffer
};

Result<std::vector<OverlapScenario>> load_scenarios(const std::string& name);

/// Refuses files with mistakes (published.syntax, published.value), with two scenarios of one name, or with none.
Result<std::vector<OverlapScenario>> parse_scenarios(const std::string& text, const std::string& file);

}  // namespace cortado::published
