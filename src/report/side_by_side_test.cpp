#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cortado/report.hpp"

namespace cortado::report {
namespace side_by_side_test {

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

TEST(SideBySideTrace, NumbersOfTheSecondFollowThoseOfTheFirstHoweverGreat) {
  Timeline measured;
  measured.tracks = {{"host", std::nullopt}, {"dma", RankId{0}}, {"dma", RankId{50'000'000}}};
  for (std::uint32_t track = 0; track < 3; ++track) {
    measured.spans.push_back({.track = track, .name = "copy", .start = {10}, .end = {20}});
  }
  measured.flows = {{0, 1}, {1, 2}};
  Timeline simulated = measured;
  simulated.simulated = true;
  const auto trace = nlohmann::json::parse(side_by_side_trace(measured, simulated, Program{}));
  std::vector<std::uint64_t> processes;
  std::vector<std::uint64_t> arrows;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.push_back(event["pid"].get<std::uint64_t>());
    if (event["ph"] == "s") arrows.push_back(event["id"].get<std::uint64_t>());
  }
  EXPECT_EQ(processes.size(), 6U);
  EXPECT_EQ(std::set<std::uint64_t>(processes.begin(), processes.end()).size(), 6U);
  EXPECT_EQ(arrows.size(), 4U);
  EXPECT_EQ(std::set<std::uint64_t>(arrows.begin(), arrows.end()).size(), 4U);
}

}  // namespace side_by_side_test
}  // namespace cortado::report
