// Findings of ConCCL besides its averages, which goals_test.cpp compares.
#include <algorithm>

#include <gtest/gtest.h>

#include "reproduced.hpp"

namespace cortado {
namespace conccl_test {

const report::Reproduction& conccl() {
  return reproduced("conccl");
}

double figure(const std::string& name) {
  return figure_of(conccl(), name);
}

const report::Table& own(const std::string& name) {
  const report::Table* found = conccl().own_table(name);
  EXPECT_NE(found, nullptr) << name;
  static const report::Table none{};
  return found == nullptr ? none : *found;
}

std::string name_of(const report::Row& row) {
  return std::get<std::string>(row[0].value());
}

/// The cell of a row in a column.
double number(const report::Table& table, const report::Row& row, std::string_view column) {
  const report::Cell::Value& value = row[table.index_of(column)].value();
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

TEST(Conccl, PoliciesAreInThePublishedOrder) {
  const double better_kernels = std::min({figure("share c3-sp"), figure("share c3-rp"), figure("share c3-sp-rp")});
  const double best_kernels = std::max({figure("share c3-sp"), figure("share c3-rp"), figure("share c3-sp-rp")});
  EXPECT_LT(figure("share c3"), better_kernels);
  EXPECT_LT(best_kernels, figure("share conccl"));
  EXPECT_LT(figure("share conccl"), figure("share conccl-rp"));
}

/// Scenarios were fixed when collectives on compute units took a quarter longer; four of the equal ones still are.
TEST(Conccl, EveryClassHasFourScenarios) {
  const report::Table& averages = own("averages");
  for (const char* name : {"G-long", "C-long", "GC-equal"}) {
    const auto row = std::find_if(averages.rows.begin(), averages.rows.end(),
                                  [&](const auto& cells) { return name_of(cells) == name; });
    ASSERT_NE(row, averages.rows.end()) << name;
    EXPECT_GE(number(averages, *row, "number"), 4) << name;
  }
}

/// A share s of the ideal gain g - 1 is a speed-up of 1 + s (g - 1), and times are as the inverse of speed-ups.
TEST(Conccl, AutoIsNeverWorseThanTheBestPolicyByOnePercent) {
  const report::Table& scenarios = own("scenarios");
  ASSERT_EQ(scenarios.rows.size(), 30U);
  for (const auto& row : scenarios.rows) {
    const double gain = number(scenarios, row, "ideal x") - 1;
    const auto speedup = [&](std::string_view policy) { return 1 + number(scenarios, row, policy) / 100 * gain; };
    for (const char* policy : {"c3", "c3-sp", "c3-rp", "c3-sp-rp", "conccl", "conccl-rp"}) {
      EXPECT_LE(speedup(policy) / speedup("auto"), 1.01) << name_of(row) << " " << policy;
    }
    EXPECT_LE(1 / speedup("auto"), 1.01) << name_of(row) << " serial";
  }
}

TEST(Conccl, AutoIsAboveConcclWithPartition) {
  const report::Table& averages = own("averages");
  ASSERT_FALSE(averages.rows.empty());
  EXPECT_GE(number(averages, averages.rows[0], "auto"), figure("share conccl-rp") + 1.9);
}

}  // namespace conccl_test
}  // namespace cortado
