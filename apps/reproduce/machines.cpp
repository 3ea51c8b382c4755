#include "reproduce/machines.hpp"

#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cortado/machine.hpp"

#include "reproduce/published/products.hpp"
#include "reproduce/published/published.hpp"
#include "reproduce/published/steps.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kHead = R"(
## What each machine is worth

Constants of machine files by where they come from, each once: borrowed from another machine (`as mi300x-8`), fitted to measured times, assumed,
derived by arithmetic (confidence D), and published or measured (A, B, C). `cortado show machine NAME` has every source. The last column
names the publications above that the machine is laid beside; a machine without any is a prediction that nothing has judged.

| machine | constants | published or measured | fitted | derived | borrowed | from | assumed | laid beside |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
)";

struct Origins {
  std::size_t published = 0;
  std::size_t fitted = 0;
  std::size_t derived = 0;
  std::size_t assumed = 0;
};

bool is_borrowed(const Provenance& entry, const std::string& machine) {
  Machine one;
  one.name = machine;
  one.provenance = {entry};
  return borrowed_constants(one).number > 0;
}

Origins origins_of(const Machine& machine) {
  Origins origins;
  for (const Provenance& entry : machine.provenance) {
    if (is_borrowed(entry, machine.name)) continue;
    std::size_t& kind = entry.source.find("fitted") != std::string::npos ? origins.fitted
                        : entry.confidence == "assumption"               ? origins.assumed
                        : entry.confidence == "D"                        ? origins.derived
                                                                         : origins.published;
    ++kind;
  }
  return origins;
}

/// Names of publications by machine.
Result<std::map<std::string, std::set<std::string>>> judged_by() {
  std::map<std::string, std::set<std::string>> names;
  for (const std::string& name : published::publication_names()) {
    CORTADO_ASSIGN_OR_RETURN(const auto publication, published::load_publication(name));
    for (const published::Table& table : publication.tables) names[machine_of_table(publication, table)].insert(name);
    if (name != "gemm" && name != "models") names[publication.machine].insert(name);
  }
  CORTADO_ASSIGN_OR_RETURN(const auto products, published::load_products());
  for (const published::ProductList& list : products) names[list.machine].insert("gemm");
  CORTADO_ASSIGN_OR_RETURN(const auto steps, published::load_steps("models"));
  for (const published::ModelStep& step : steps) names[step.machine].insert("models");
  return names;
}

}  // namespace

Result<std::string> machines_markdown() {
  CORTADO_ASSIGN_OR_RETURN(const auto judged, judged_by());
  std::string text = kHead;
  for (const std::string& name : machine_names()) {
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(name));
    const Origins origins = origins_of(machine);
    const BorrowedConstants borrowed = borrowed_constants(machine);
    const auto found = judged.find(name);
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |\n", name, machine.provenance.size(),
                    origins.published, origins.fitted, origins.derived, borrowed.number,
                    borrowed.from.empty() ? "-" : fmt::format("{}", fmt::join(borrowed.from, ", ")), origins.assumed,
                    found == judged.end() ? "-" : fmt::format("{}", fmt::join(found->second, ", ")));
  }
  return text;
}

}  // namespace cortado::pipeline
