// The simulator against measured times of NCCL and RCCL, with the tolerances of published/nccl.toml and rccl.toml.
#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"

namespace cortado {
namespace library_test {

void expect_goals(const char* publication) {
  const auto result = pipeline::reproduce(publication, {}, {.threads = 2});
  ASSERT_TRUE(result) << to_string(result.error().errors.front());
  for (const report::ReproducedTable& table : result->tables) {
    if (table.published.goal_mean) EXPECT_LE(table.mean_error(), *table.published.goal_mean) << table.published.title;
    if (table.published.goal_worst)
      EXPECT_LE(table.worst_error(), *table.published.goal_worst) << table.published.title;
  }
}

TEST(Nccl, TablesAreWithinTheirGoals) {
  expect_goals("nccl");
}

TEST(Rccl, TablesAreWithinTheirGoals) {
  expect_goals("rccl");
}

}  // namespace library_test
}  // namespace cortado
