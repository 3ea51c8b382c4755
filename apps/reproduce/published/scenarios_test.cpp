#include "reproduce/published/scenarios.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado::published {
namespace scenarios_test {

TEST(Scenarios, ThirtyStandForThoseOfConccl) {
  const auto scenarios = load_scenarios("conccl");
  ASSERT_TRUE(scenarios) << to_string(scenarios.error());
  ASSERT_EQ(scenarios->size(), 30U);
  const OverlapScenario& first = scenarios->front();
  EXPECT_EQ(first.name, "70b-qkv-8192-ag-1632");
  EXPECT_EQ(first.n, 10240U);
  EXPECT_EQ(first.dtype, "bf16");
  EXPECT_EQ(first.collective, "all-gather");
  // Two bytes for each weight of a layer of LLaMA-70B, hidden 8192: qkv 10240, o 8192, gate and up 57344, down 28672.
  EXPECT_EQ(first.bytes.value, 2ULL * 8192 * (10240 + 8192 + 57344 + 28672));
}

TEST(Scenarios, SixteenOfFicco) {
  const auto scenarios = load_scenarios("ficco");
  ASSERT_TRUE(scenarios) << to_string(scenarios.error());
  ASSERT_EQ(scenarios->size(), 16U);
  EXPECT_EQ(scenarios->front().k, 131072U);
  EXPECT_EQ(scenarios->back().collective, "all-to-all");
  for (const OverlapScenario& one : *scenarios) EXPECT_EQ(one.bytes.value, 2 * one.m * one.k) << one.name;
}

TEST(Scenarios, UnknownListsAreRefused) {
  const auto scenarios = load_scenarios("concl");
  ASSERT_FALSE(scenarios);
  EXPECT_EQ(scenarios.error().code, "published.unknown");
  EXPECT_THAT(scenarios.error().hint, testing::HasSubstr("conccl"));
}

TEST(Scenarios, MistakesNameTheScenarioAndTheKey) {
  const std::string one =
      "[[scenarios]]\nname = 'a'\nm = 1\nn = 2\nk = 3\ndtype = 'bf16'\ncollective = 'all-gather'\nbytes = 8\n";
  ASSERT_TRUE(parse_scenarios(one, "f.toml"));
  struct Case {
    std::string text;
    const char* code;
    const char* message;
  };
  for (const Case& c : {
           Case{"[[scenarios", "published.syntax", "f.toml:1"},
           Case{"", "published.value", "there is no [[scenarios]]"},
           Case{"scenarios = [1]\n", "published.value", "must be tables"},
           Case{one + one, "published.value", "two scenarios are called a"},
           Case{"[[scenarios]]\nname = 'b'\nm = 0\n", "published.value",
                "scenario b: m must be a whole number above zero"},
           Case{"[[scenarios]]\nname = 'b'\nm = 1\nn = 2\nk = 3\n", "published.value", "scenario b: dtype must be"},
       }) {
    const auto scenarios = parse_scenarios(c.text, "f.toml");
    ASSERT_FALSE(scenarios) << c.text;
    EXPECT_EQ(scenarios.error().code, c.code) << c.text;
    EXPECT_THAT(to_string(scenarios.error()), testing::HasSubstr(c.message)) << c.text;
  }
}

}  // namespace scenarios_test
}  // namespace cortado::published
