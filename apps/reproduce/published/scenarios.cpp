#include "reproduce/published/scenarios.hpp"

#include <algorithm>

#include "reproduce/published/embedded.hpp"
#include "reproduce/published/reader.hpp"

namespace cortado::published {
namespace {

Result<OverlapScenario> read_scenario(const toml::table& source, const std::string& file) {
  Reader in(source, fmt::format("{}: scenario {}", file, source["name"].value_or(std::string("without name"))));
  OverlapScenario scenario;
  scenario.name = in.text("name");
  scenario.m = in.count("m");
  scenario.n = in.count("n");
  scenario.k = in.count("k");
  scenario.dtype = in.text("dtype");
  scenario.collective = in.text("collective");
  scenario.bytes = {in.count("bytes")};
  if (in.error()) return fail(*in.error());
  return scenario;
}

}  // namespace

Result<std::vector<OverlapScenario>> parse_scenarios(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const toml::table root, parse_toml(text, file));
  const toml::array* all = root["scenarios"].as_array();
  if (all == nullptr || all->empty()) {
    return fail("published.value", fmt::format("{}: there is no [[scenarios]]", file), "add one");
  }
  std::vector<OverlapScenario> scenarios;
  for (const toml::node& node : *all) {
    if (!node.is_table()) return fail("published.value", fmt::format("{}: scenarios must be tables", file), "");
    CORTADO_ASSIGN_OR_RETURN(OverlapScenario scenario, read_scenario(*node.as_table(), file));
    const bool again = std::any_of(scenarios.begin(), scenarios.end(),
                                   [&](const OverlapScenario& other) { return other.name == scenario.name; });
    if (again) {
      return fail("published.value", fmt::format("{}: two scenarios are called {}", file, scenario.name), "rename one");
    }
    scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

Result<std::vector<OverlapScenario>> load_scenarios(const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& [name, text] : internal::embedded_scenarios()) {
    if (name == wanted) return parse_scenarios(std::string(text), fmt::format("published/scenarios/{}.toml", name));
    names.emplace_back(name);
  }
  return fail("published.unknown", fmt::format("there are no scenarios '{}'", wanted),
              fmt::format("there are {}", join(names)));
}

}  // namespace cortado::published
