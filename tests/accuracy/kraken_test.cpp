// All-gather and GEMM on H100 by tiles that wait, or by a GEMM for every shard: who wins, and by how much.
#include <string>

#include <gtest/gtest.h>

#include "reproduced.hpp"

namespace cortado {
namespace kraken_test {

TEST(Kraken, BestSpeedupHasTheRightSign) {
  int best = 0;
  for (const report::ReproducedFigure& figure : reproduced("kraken").figures) {
    const published::Figure& theirs = figure.published;
    if (!theirs.name.starts_with("best")) continue;
    ++best;
    EXPECT_EQ(figure.ours > 1, theirs.published > 1) << theirs.name << ": " << figure.ours;
  }
  EXPECT_EQ(best, 9);
}

}  // namespace kraken_test
}  // namespace cortado
