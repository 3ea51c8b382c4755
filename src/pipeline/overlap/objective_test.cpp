#include "pipeline/overlap/objective.hpp"

#include <gtest/gtest.h>

namespace cortado::pipeline {
namespace objective_test {

using report::Objective;

report::WayRow row(std::int64_t microseconds, double joules) {
  report::WayRow row;
  row.time = {microseconds * 1000};
  row.energy = EnergyUse{.energy = {}, .seconds = static_cast<double>(microseconds) * 1e-6, .gpus = 8};
  row.energy->energy[EnergyPart::hbm_bytes] = joules;
  return row;
}

TEST(Objective, CostsAreTimeEnergyAndTheirProduct) {
  const report::WayRow one = row(200, 3);
  EXPECT_EQ(cost_of(one, Objective::time), 200'000);
  EXPECT_EQ(cost_of(one, Objective::energy), 3);
  EXPECT_NEAR(cost_of(one, Objective::edp), 3 * 200e-6, 1e-15);
}

TEST(Objective, WithoutEnergyARowIsNeverBest) {
  report::WayRow one = row(200, 3);
  one.energy.reset();
  EXPECT_GT(cost_of(one, Objective::energy), cost_of(row(200, 1e9), Objective::energy));
  EXPECT_GT(cost_of(one, Objective::edp), cost_of(row(200, 1e9), Objective::edp));
  EXPECT_EQ(cost_of(one, Objective::time), 200'000);
}

// 1 J over 125 us on 8 GPUs are 1000 W each. The fast one: 100 of 125 us, 1.1 of 1 J. Serial: 150 of 125, 1.5 of 1.
TEST(Objective, TheReasonNamesTheFastestAndOneAfterTheOther) {
  const report::WayRow best = row(125, 1);
  const report::WayRow fast = row(100, 1.1);
  const report::WayRow serial = row(150, 1.5);
  const std::vector<NamedRow> rows{{"serial", &serial}, {"fast", &fast}, {"thrifty", &best}};
  EXPECT_EQ(
      energy_reason(rows, best, Objective::energy),
      "it takes the least energy, 1.000 J in 125.0 us, 1000.0 W a GPU; fast, the fastest, takes 20 % less time and "
      "10 % more energy; serial takes 20 % more time and 50 % more energy");
  // Of the products 1.25, 1.1 and 2.25 that of the fast one is the least.
  EXPECT_EQ(
      energy_reason(rows, fast, Objective::edp),
      "energy times time is least: 1.100 J in 100.0 us, 1375.0 W a GPU; nothing is faster; serial takes 50 % more "
      "time and 36 % more energy");
}

// 0.8 J in 100 us on 8 GPUs are 1000 W each.
TEST(Objective, WattsAboveTheCapAreNoted) {
  Machine machine = load_machine("mi300x-8").value();
  machine.power->cap_w = 1000.5;
  const report::WayRow one = row(100, 0.8);
  const std::vector<NamedRow> rows{{"one", &one}};
  report::OverlapBasis basis;
  basis.note = "first";
  add_cap_note(basis, rows, machine);
  EXPECT_EQ(basis.note, "first");
  machine.power->cap_w = 999.5;
  add_cap_note(basis, rows, machine);
  EXPECT_EQ(basis.note.find("first; what draws more than the 999.5 W of a board"), 0U) << basis.note;
  machine.power.reset();
  basis.note.clear();
  add_cap_note(basis, rows, machine);
  EXPECT_EQ(basis.note, "");
}

TEST(Objective, EnergyNeedsSomeoneWhoCountsIt) {
  Machine machine = load_machine("mi300x-8").value();
  machine.power.reset();
  EXPECT_TRUE(check_objective(Objective::time, machine, Times::simulated));
  EXPECT_TRUE(check_objective(Objective::time, machine, Times::measured));
  EXPECT_EQ(check_objective(Objective::energy, machine, Times::simulated).error().code, "power.machine");
  EXPECT_EQ(check_objective(Objective::edp, machine, Times::measured).error().code, "overlap.objective");
  machine.power.emplace();
  EXPECT_TRUE(check_objective(Objective::edp, machine, Times::simulated));
}

}  // namespace objective_test
}  // namespace cortado::pipeline
