// What FiCCO found over its sixteen products. Nothing of ours was fitted to it.
#include "plan/ficco.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"

namespace cortado {
namespace ficco_test {

report::Reproduction ficco(const std::string& machine) {
  const auto loaded = load_machine(machine);
  EXPECT_TRUE(loaded) << to_string(loaded.error());
  const auto result = pipeline::reproduce("ficco", *loaded, {.threads = 2});
  EXPECT_TRUE(result) << to_string(result.error().errors.front());
  return result ? *result : report::Reproduction{};
}

double figure(const report::Reproduction& ours, const std::string& name) {
  const report::ReproducedFigure* found = ours.figure(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? 0 : found->ours;
}

TEST(Ficco, GreatestValuesAreThoseOfThePaper) {
  const report::Reproduction ours = ficco("mi300x-8");
  EXPECT_GT(figure(ours, "ideal"), 1.6);
  EXPECT_LT(figure(ours, "ideal"), 1.85);
  EXPECT_GT(figure(ours, "best ficco"), 1.5);
  EXPECT_LT(figure(ours, "best ficco"), 1.7);
  EXPECT_GT(figure(ours, "shard-p2p"), 3.3);
  EXPECT_LT(figure(ours, "shard-p2p"), 4.5);
}

TEST(Ficco, WholeShardsAreNotSlowBehindASwitch) {
  EXPECT_LT(figure(ficco("h100-8"), "shard-p2p"), 1.05);
}

TEST(Ficco, EveryPublishedScheduleIsWithinTwoPercentOfTheBestOfTheFourSomewhere) {
  const report::Reproduction ours = ficco("mi300x-8");
  ASSERT_EQ(ours.own.size(), 1U);
  const report::Table& table = ours.own.front();
  std::set<std::string> winners;
  for (const auto& row : table.rows) {
    std::map<std::string, double> speedups;
    for (const FiccoScheduleInfo& info : list_schedules()) {
      if (info.published) speedups[info.name] = std::get<double>(row[table.index_of(info.name)].value());
    }
    const double best = std::ranges::max(std::views::values(speedups));
    for (const auto& [name, speedup] : speedups) {
      if (speedup >= best / 1.02) winners.insert(name);
    }
  }
  EXPECT_EQ(winners.size(), 4U);
}

}  // namespace ficco_test
}  // namespace cortado
