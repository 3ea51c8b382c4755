#include "report/skipped.hpp"

#include <fmt/format.h>

namespace cortado::report {

Table skipped_table(const std::vector<SkippedWay>& skipped, const std::string& kind) {
  Table table = table_of("skipped", "what cannot be done",
                         reason_fields<SkippedWay>({{{.key = kind, .meaning = "what was left out"}, &SkippedWay::name}},
                                                   &SkippedWay::reason),
                         skipped);
  table.data_only = true;
  return table;
}

std::vector<std::string> skipped_notes(const std::vector<SkippedWay>& skipped) {
  std::vector<std::string> notes;
  for (const SkippedWay& way : skipped)
    notes.push_back(fmt::format("{} left out: {}", way.name, to_string(way.reason)));
  return notes;
}

}  // namespace cortado::report
