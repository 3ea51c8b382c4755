#include "pipeline/explain.hpp"

#include <map>

#include <gtest/gtest.h>

namespace cortado::pipeline {
namespace explain_test {

ChoiceRequest on_virtual(Bytes bytes) {
  return {.base = {.collective = "all-gather", .bytes = bytes, .ranks = 8}, .among = {"pcpy", "b2b"}};
}

/// Phases.TheLastOfManyQueuesEndsThePath derives the phases: b2b of 16 KiB takes 7200 + 5000 + 41 + 1020, pcpy
/// 33600 + 2000 + 41 + 1020.
TEST(Explain, NumbersAreThoseOfTheSimulator) {
  const Machine machine = load_machine("virtual-64").value();
  Chooser chooser(machine, {});
  const auto explanation = explain(on_virtual(16_KiB), machine, chooser, {1_KiB, 16_KiB, 1_GiB});
  ASSERT_TRUE(explanation) << to_string(explanation.error());
  EXPECT_EQ(explanation->row.best().time.value, 13'261);
  EXPECT_EQ(explanation->phases, (PathPhases{{7200}, {5000}, {41}, {1020}}));
  EXPECT_EQ(explanation->runner_up, (PathPhases{{33'600}, {2000}, {41}, {1020}}));
  const auto text = sentences(*explanation);
  EXPECT_EQ(text[0],
            "For all-gather of 16KiB on 8 ranks of virtual-64, b2b is the fastest of 2 candidates by simulation, at "
            "13.26 us.");
  // 7200 of 13261; 33.6 us of host control instead of 7.2 outweigh the 3 us that b2b spends more on scheduling.
  EXPECT_EQ(
      text[1],
      "The largest part of that is host control, 54.3 % of the critical path (scheduling 37.7 %, moving bytes 0.3 %, "
      "synchronisation 7.7 %), and its advantage over pcpy is mostly host control: 7.20 us instead of 33.60 us.");
  // 1 GiB: b2b moves 7 blocks through one engine, pcpy through seven. (36661 - 13261) / 13261 = 176.5 %.
  EXPECT_EQ(text[2],
            "pcpy comes second at 36.66 us, 176.5 % more; for larger sizes the choice changes to pcpy, first at 1GiB; "
            "down to 1KiB it stays the same.");
}

TEST(Explain, OneCandidateHasNothingBesideIt) {
  const Machine machine = load_machine("virtual-64").value();
  Chooser chooser(machine, {});
  ChoiceRequest request = on_virtual(16_KiB);
  request.among = {"b2b"};
  const auto explanation = explain(request, machine, chooser, {16_KiB});
  ASSERT_TRUE(explanation) << to_string(explanation.error());
  EXPECT_FALSE(explanation->runner_up);
  const auto text = sentences(*explanation);
  EXPECT_NE(text[0].find("b2b is the only candidate that fits, and it takes 13.26 us"), std::string::npos) << text[0];
  EXPECT_EQ(text[1].find("saves"), std::string::npos) << text[1];
  EXPECT_EQ(text[2], "There is no other candidate; other sizes were not considered.");
}

TEST(Explain, TheTimeIsTheSumOfThePhasesOnEveryMachine) {
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name).value();
    Chooser chooser(machine, {});
    ChoiceRequest request{.base = {.collective = "all-gather", .bytes = 1_MiB, .ranks = 3, .prelaunch = true}};
    const auto explanation = explain(request, machine, chooser, {1_KiB});
    if (!explanation) {
      // Not every pair of GPUs has a link, or the machine has no timing.
      const std::map<std::string, std::string> expected{{"mi250x-8", "plan.auto"},
                                                        {"t3-ring-8", "plan.auto"},
                                                        {"t3-ring-16", "plan.auto"},
                                                        {"t3-ring-32", "plan.auto"},
                                                        {"mi308x-8", "sim.timing"}};
      ASSERT_TRUE(expected.contains(name)) << name << ": " << to_string(explanation.error());
      EXPECT_EQ(explanation.error().code, expected.at(name));
      continue;
    }
    EXPECT_EQ(explanation->phases.total(), explanation->row.best().time) << name;
    ASSERT_TRUE(explanation->runner_up) << name;
    EXPECT_EQ(explanation->runner_up->total(), explanation->row.fitting[1].time) << name;
  }
}

}  // namespace explain_test
}  // namespace cortado::pipeline
