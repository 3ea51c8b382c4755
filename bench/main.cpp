// cortado_bench [GROUP ...]: a table of measured values next to their targets.
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "measure.hpp"

namespace cortado::bench {
namespace {

std::string number(double value) {
  return fmt::format("{:.3g}", value);
}

void print(const std::vector<Row>& rows) {
  TextTable table({"what", "measured", "unit", "target", "measured/target", "met"});
  for (const Row& row : rows) {
    if (!row.target) {
      table.add_row({row.what, number(row.measured), row.unit, "", "", ""});
      continue;
    }
    const bool lower = row.better == Better::lower;
    const bool met = lower ? row.measured <= *row.target : row.measured >= *row.target;
    table.add_row({row.what, number(row.measured), row.unit, (lower ? "<= " : ">= ") + number(*row.target),
                   number(row.measured / *row.target), met ? "yes" : "no"});
  }
  std::fputs(table.to_string().c_str(), stdout);
}

int run(const std::vector<std::string>& wanted) {
  const std::vector<std::pair<std::string, std::function<std::vector<Row>()>>> groups{
      {"submit", submit_rows},   {"collective", collective_rows},
      {"plan", plan_rows},       {"compare", compare_rows},
      {"overlap", overlap_rows}, {"schedules", schedule_rows},
      {"t3", t3_rows},           {"model", model_rows},
      {"serve", serve_rows},     {"kv", kv_rows},
      {"node", node_rows},       {"runtime", runtime_rows},
      {"command", command_rows}, {"sweep", sweep_rows}};
  for (const std::string& name : wanted) {
    const auto known = [&](const auto& group) { return group.first == name; };
    if (std::any_of(groups.begin(), groups.end(), known)) continue;
    std::string known_groups;
    for (const auto& group : groups) known_groups += " " + group.first;
    fmt::print(stderr, "cortado_bench: unknown group {}; there are{}\n", name, known_groups);
    return 2;
  }
  std::vector<Row> rows;
  for (const auto& [name, measure] : groups) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    for (Row& row : measure()) rows.push_back(std::move(row));
  }
  print(rows);
  return 0;
}

}  // namespace
}  // namespace cortado::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == cortado::bench::kInsideNode) {
    return cortado::bench::measure_inside_node(argv[2]);
  }
  return cortado::bench::run({argv + 1, argv + argc});
}
