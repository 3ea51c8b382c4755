// What FiCCO found over its sixteen GEMMs. Nothing of ours was fitted to it.
#include "plan/ficco.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"
#include "reproduced.hpp"

namespace cortado {
namespace ficco_test {

TEST(Ficco, WholeShardsAreNotSlowBehindASwitch) {
  const auto ours = pipeline::reproduce("ficco", load_machine("h100-8").value(), {.threads = 2});
  ASSERT_TRUE(ours) << to_string(ours.error().errors.front());
  EXPECT_LT(figure_of(*ours, "shard-p2p"), 1.05);
}

TEST(Ficco, EveryPublishedScheduleIsWithinTwoPercentOfTheBestOfTheFourSomewhere) {
  const report::Reproduction& ours = reproduced("ficco");
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
