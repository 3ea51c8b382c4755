// cortado show: one machine with the source of every number, or one program as a listing.
#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/target/target.hpp"

#include "command.hpp"
#include "json.hpp"

namespace cortado::cli {
namespace {

std::string engine_list(const Machine& machine, EngineClass kind) {
  std::vector<std::string> ids;
  for (const EngineId id : machine.present_engines(kind)) ids.push_back(fmt::format("{}", id.value));
  return ids.empty() ? "none" : join(ids, " ");
}

/// Rows: source GPU, columns: destination GPU, cells: engine.
std::string affinity_text(const Machine& machine) {
  std::vector<std::string> header{"src\\dst"};
  for (std::uint32_t dst = 0; dst < machine.gpus; ++dst) header.push_back(fmt::format("{}", dst));
  TextTable table(std::move(header));
  for (std::uint32_t src = 0; src < machine.gpus; ++src) {
    std::vector<std::string> cells{fmt::format("{}", src)};
    for (const auto& engine : machine.affinity[src]) cells.push_back(engine ? fmt::format("{}", engine->value) : "-");
    table.add_row(std::move(cells));
  }
  return table.to_string("  ");
}

/// What the limits of a policy must lie between, and which clocks it can set.
std::string power_text(const Power& power) {
  std::vector<std::string> clocked;
  for (const Component which : kComponents) {
    if (power.component(which) != nullptr) clocked.emplace_back(name_of(which));
  }
  return fmt::format("{:g} W at most, {:.0f} W idle; components with a clock: {}", power.cap_w, power.idle_w(),
                     clocked.empty() ? "none" : join(clocked, " "));
}

/// Long lists are cut in the table; --json has them whole.
std::string shortened(const std::string& value) {
  constexpr std::size_t kWidth = 40;
  return value.size() <= kWidth ? value : value.substr(0, kWidth - 3) + "...";
}

std::string machine_summary(const Machine& machine) {
  std::string text = fmt::format("{}: {}\n\n", machine.name, machine.title);
  text += fmt::format("  {} x {}, from {}\n", machine.gpus, machine.gpu, machine.file);
  text += fmt::format("  engines to peers: {}\n", engine_list(machine, EngineClass::peer));
  text += fmt::format("  engines to the host: {}\n", engine_list(machine, EngineClass::host));
  if (machine.power) text += fmt::format("  power of a GPU: {}\n", power_text(*machine.power));
  if (!machine.affinity.empty()) text += "\nBest engine from one GPU to another:\n" + affinity_text(machine);
  TextTable table({"key", "value", "confidence", "source"});
  for (const Provenance& fact : machine.provenance) {
    table.add_row({fact.key, shortened(fact.value), fact.confidence, fact.source});
  }
  text += "\nValues. Confidence: A vendor, B measured and published, C third party, D derived by arithmetic.\n";
  return text + table.to_string("  ");
}

Json machine_json(const Machine& machine) {
  Json facts = Json::array();
  for (const Provenance& fact : machine.provenance) {
    facts.push_back(
        {{"key", fact.key}, {"value", fact.value}, {"confidence", fact.confidence}, {"source", fact.source}});
  }
  Json engines = Json::array();
  for (const Engine& engine : machine.engines) {
    engines.push_back({{"id", engine.id.value},
                       {"class", engine.kind == EngineClass::peer ? "peer" : "host"},
                       {"present", engine.present}});
  }
  Json affinity = Json::array();
  for (const auto& row : machine.affinity) {
    Json cells = Json::array();
    for (const auto& engine : row) cells.push_back(engine ? Json(engine->value) : Json());
    affinity.push_back(std::move(cells));
  }
  Json power;
  if (machine.power) power = {{"cap_W", machine.power->cap_w}, {"idle_W", machine.power->idle_w()}};
  Json json = document("cortado.machine");
  json.update({{"name", machine.name},
               {"title", machine.title},
               {"file", machine.file},
               {"gpus", machine.gpus},
               {"gpu", machine.gpu},
               {"engines", std::move(engines)},
               {"affinity", std::move(affinity)},
               {"power", std::move(power)},
               {"values", std::move(facts)}});
  return json;
}

constexpr Example kShowExamples[] = {
    {"cortado show machine mi300x-8", "every value with its source and how sure it is"},
    {"cortado plan all-gather --bytes 1KiB --ranks 2 | cortado show program -", "a program, command by command"}};

Result<Exit> run_show(const Arguments& arguments, Console& console) {
  const std::string name = arguments.text("name");
  const bool json = arguments.given("--json");
  if (arguments.text("what") == "machine") {
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(name));
    console.out(json ? to_text(machine_json(machine)) : machine_summary(machine));
  } else {
    CORTADO_ASSIGN_OR_RETURN(const Program program, load_program(name));
    console.out(json ? to_json(program) : listing(program));
  }
  return Exit::ok;
}

}  // namespace

Subcommand show_command() {
  return {"show", "Show a machine with its sources, or a program as a listing", kShowExamples, run_show};
}

}  // namespace cortado::cli
