#include "reproduce/published/scenarios.hpp"

#include <set>

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
  CORTADO_ASSIGN_OR_RETURN(std::vector<OverlapScenario> scenarios,
                           need_tables<OverlapScenario>(root, "scenarios", file, read_scenario));
  std::set<std::string> names;
  for (const OverlapScenario& scenario : scenarios) {
    if (names.insert(scenario.name).second) continue;
    return fail("published.value", fmt::format("{}: two scenarios are called {}", file, scenario.name), "rename one");
  }
  return scenarios;
}

Result<std::vector<OverlapScenario>> load_scenarios(const std::string& wanted) {
  return load_from(internal::embedded_scenarios(), "scenarios/", "are not scenarios", wanted, parse_scenarios);
}

}  // namespace cortado::published
