#include "report/energy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/energy_testing.hpp"

namespace cortado::report {
namespace energy_test {

EnergyUse of(double joules) {
  EnergyUse use{.energy = {}, .seconds = 1, .gpus = 1};
  use.energy[EnergyPart::rest_idle] = joules;
  return use;
}

TEST(Energy, TextHasFourDigits) {
  EXPECT_EQ(joules_text(of(0.0123456)), "0.01235");
  EXPECT_EQ(joules_text(of(12.3)), "12.30");
  EXPECT_EQ(joules_text(of(999.96)), "1000");
  EXPECT_EQ(joules_text(of(12345.6)), "12346");
  EXPECT_EQ(joules_text(std::nullopt), "-");
  EXPECT_EQ(watts_text(small_energy_use()), "500.0");
  EXPECT_EQ(watts_text(std::nullopt), "-");
}

// 0.12, 0.09, 0.06 and 0.03 of 0.3 J.
TEST(Energy, ComponentsHaveShares) {
  EXPECT_EQ(components_text(small_energy_use()),
            "xcd 0.1200 J (40.0 %), iod 0.09000 J (30.0 %), hbm 0.06000 J (20.0 %), rest 0.03000 J (10.0 %)");
}

TEST(Energy, ThereIsACellForEveryColumn) {
  const Row cells = energy_cells(small_energy_use());
  const std::vector<Column> columns = energy_columns();
  ASSERT_EQ(cells.size(), columns.size());
  std::vector<std::string> names;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    names.push_back(columns[i].csv.empty() ? columns[i].key : columns[i].csv);
    texts.push_back(cells[i].text(columns[i]));
  }
  EXPECT_THAT(names, testing::ElementsAre("energy_J", "power_W", "xcd_J", "iod_J", "hbm_J", "rest_J"));
  EXPECT_THAT(texts, testing::ElementsAre("0.3000", "500.0", "0.1200", "0.09000", "0.06000", "0.03000"));
  for (const Cell& cell : energy_cells(std::nullopt)) EXPECT_TRUE(cell.empty());
}

TEST(Energy, JsonIsNullWhereNobodyCounted) {
  nlohmann::json row;
  add_energy(std::optional(small_energy_use()), row);
  EXPECT_NEAR(row["energy_J"].get<double>(), 0.3, 1e-12);
  EXPECT_NEAR(row["power_W"].get<double>(), 500, 1e-9);
  EXPECT_EQ(row["energy_by_component"].size(), 4U);
  EXPECT_NEAR(row["energy_by_component"]["iod"].get<double>(), 0.09, 1e-12);
  const auto none = with_energy(nlohmann::json{{"a", 1}}, std::nullopt);
  EXPECT_EQ(none["a"], 1);
  for (const char* key : {"energy_J", "power_W", "energy_by_component"}) {
    ASSERT_TRUE(none.contains(key));
    EXPECT_TRUE(none[key].is_null());
  }
}

}  // namespace energy_test
}  // namespace cortado::report
