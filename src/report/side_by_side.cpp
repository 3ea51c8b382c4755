#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cortado/report.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string side_by_side_trace(const Timeline& first, const Timeline& second, const Program& program) {
  Json about = Json::array();
  std::vector<Json> events;
  // Process, thread and arrow numbers of the second timeline follow the greatest of the first.
  std::uint64_t shift = 0;
  std::uint64_t greatest = 0;
  for (const Timeline* timeline : std::array{&first, &second}) {
    Json trace = Json::parse(perfetto_trace(*timeline, program));
    about.push_back(trace["otherData"]);
    for (Json& event : trace["traceEvents"]) {
      for (const char* number : {"pid", "tid", "id"}) {
        if (!event.contains(number)) continue;
        const std::uint64_t shifted = event[number].get<std::uint64_t>() + shift;
        greatest = std::max(greatest, shifted);
        event[number] = shifted;
      }
      if (event["name"] == "process_name") {
        Json& name = event["args"]["name"];
        name = fmt::format("{} {}", timeline->simulated ? "simulated" : "measured", name.get<std::string>());
      }
      if (event["name"] == "process_sort_index") {
        Json& index = event["args"]["sort_index"];
        index = index.get<std::uint64_t>() + shift;
      }
      events.push_back(std::move(event));
    }
    shift = greatest + 1;
  }
  // Names have no time and come first.
  std::stable_sort(events.begin(), events.end(),
                   [](const Json& a, const Json& b) { return a.value("ts", -1.0) < b.value("ts", -1.0); });
  const Json merged{{"displayTimeUnit", "ns"},
                    {"otherData", {{"times", "measured and simulated"}, {"timelines", about}}},
                    {"traceEvents", events}};
  return merged.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cortado::report
