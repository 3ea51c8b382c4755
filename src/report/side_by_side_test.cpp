#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cortado/report/trace.hpp"

namespace cortado::report {
namespace {

TEST(SideBySideTrace, HasBothTimelinesInProcessesOfTheirOwn) {
  Program program;
  program.name = "test";
  Timeline measured;
  measured.tracks = {{"host", std::nullopt}, {"dma", RankId{0}}};
  measured.spans.push_back({.track = 1, .name = "copy", .start = {10}, .end = {20}});
  Timeline simulated = measured;
  simulated.simulated = true;
  const auto trace = nlohmann::json::parse(side_by_side_trace(measured, simulated, program));
  std::set<std::string> names;
  std::set<std::uint64_t> processes_of_copies;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") names.insert(event["args"]["name"].get<std::string>());
    if (event["name"] == "copy") processes_of_copies.insert(event["pid"].get<std::uint64_t>());
  }
  EXPECT_EQ(names, (std::set<std::string>{"measured host", "measured rank 0", "simulated host", "simulated rank 0"}));
  EXPECT_EQ(processes_of_copies.size(), 2U);
}

}  // namespace
}  // namespace cortado::report
