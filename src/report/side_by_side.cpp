#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/json.hpp"

namespace cortado::report {
namespace {

double time_of(const Json& event) {
  const Json* const time = event.find("ts");
  return time == nullptr ? -1 : time->number();
}

}  // namespace

std::string side_by_side_trace(const Timeline& first, const Timeline& second, const Program& program) {
  Json about = Json::array();
  std::vector<Json> events;
  // Process, thread and arrow numbers of the second timeline continue after the greatest of the first.
  std::uint64_t shift = 0;
  std::uint64_t greatest = 0;
  for (const Timeline* timeline : std::array{&first, &second}) {
    Json trace = Json::parse(perfetto_trace(*timeline, program)).value();
    about.push_back(trace["otherData"]);
    for (Json& event : trace["traceEvents"]) {
      for (const char* number : {"pid", "tid", "id"}) {
        if (!event.contains(number)) continue;
        const std::uint64_t shifted = event[number].whole() + shift;
        greatest = std::max(greatest, shifted);
        event[number] = shifted;
      }
      if (event["name"].text() == "process_name") {
        Json& name = event["args"]["name"];
        name = fmt::format("{} {}", timeline->simulated ? "simulated" : "measured", name.text());
      }
      if (event["name"].text() == "process_sort_index") {
        Json& index = event["args"]["sort_index"];
        index = index.whole() + shift;
      }
      events.push_back(std::move(event));
    }
    shift = greatest + 1;
  }
  // Names have no time and come first.
  std::stable_sort(events.begin(), events.end(), [](const Json& a, const Json& b) { return time_of(a) < time_of(b); });
  const Json merged{{"displayTimeUnit", "ns"},
                    {"otherData", {{"times", "measured and simulated"}, {"timelines", about}}},
                    {"traceEvents", events}};
  return merged.dump() + "\n";
}

}  // namespace cortado::report
