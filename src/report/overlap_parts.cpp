#include "report/overlap_parts.hpp"

#include <fmt/format.h>

#include "cortado/report/energy.hpp"

namespace cortado::report {

using Json = nlohmann::ordered_json;

std::string skipped_text(const std::vector<SkippedWay>& skipped) {
  std::string text;
  for (const SkippedWay& way : skipped) text += fmt::format("# {} left out: {}\n", way.name, to_string(way.reason));
  return text;
}

Json skipped_list(const std::vector<SkippedWay>& skipped, std::string_view kind) {
  Json list = Json::array();
  for (const SkippedWay& way : skipped) {
    list.push_back({{std::string(kind), way.name},
                    {"code", way.reason.code},
                    {"message", way.reason.message},
                    {"hint", way.reason.hint}});
  }
  return list;
}

std::string to_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cortado::report
