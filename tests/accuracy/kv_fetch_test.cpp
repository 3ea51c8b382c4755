// Fetching KV blocks from host memory against computing them again: who wins on MI300X.
#include <string>

#include <gtest/gtest.h>

#include "reproduced.hpp"

namespace cortado {
namespace kv_fetch_test {

double value_of(const report::Table& table, std::size_t row, const std::string& column) {
  return std::get<double>(table.at(row, column).value());
}

/// With one call for every fragment fetching is slower than computing for most models; back to back, or with blocks in
/// one piece, it is faster for all of them.
TEST(KvFetch, IsSlowerThanComputingUnlessCallsAreSpared) {
  const report::Table* table = reproduced("kv-fetch").own_table("token costs");
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->rows.size(), 5U);
  int slower = 0;
  for (std::size_t row = 0; row < table->rows.size(); ++row) {
    const double computed = value_of(*table, row, "recompute");
    slower += value_of(*table, row, "loop") > computed ? 1 : 0;
    EXPECT_LT(value_of(*table, row, "b2b"), computed) << row;
    EXPECT_LE(value_of(*table, row, "link"), value_of(*table, row, "b2b") * 1.001) << row;
    if (table->at(row, "loop cross-layer").empty()) continue;  // latents
    EXPECT_LT(value_of(*table, row, "loop cross-layer"), computed) << row;
    EXPECT_LT(value_of(*table, row, "b2b cross-layer"), value_of(*table, row, "loop cross-layer")) << row;
  }
  EXPECT_GE(slower, 3);
}

}  // namespace kv_fetch_test
}  // namespace cortado
