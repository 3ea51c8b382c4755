// The published tables of DMA-Latte; goals_test.cpp compares their numbers.
#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"
#include "reproduced.hpp"

namespace cortado {
namespace dma_latte_test {

const report::ReproducedTable& table(std::string_view name) {
  for (const report::ReproducedTable& one : reproduced("dma-latte").tables) {
    if (one.published.name == name) return one;
  }
  ADD_FAILURE() << "no table " << name;
  static const report::ReproducedTable none{};
  return none;
}

TEST(DmaLatte, TablesAreWhole) {
  EXPECT_EQ(table("copy-phases").rows().size(), 17U * 4U);
  EXPECT_EQ(table("all-gather").rows().size(), 22U * 6U - 1U);  // one odd point is left out
  EXPECT_EQ(table("all-to-all").rows().size(), 22U * 3U - 1U);
  EXPECT_EQ(reproduced("dma-latte").figures.size(), 8U + 3U);
}

TEST(DmaLatte, DoesNotDependOnTheNumberOfThreads) {
  const auto one = pipeline::reproduce("dma-latte", {}, {.threads = 1});
  ASSERT_TRUE(one);
  EXPECT_EQ(report::reproduction_json({*one}), report::reproduction_json({reproduced("dma-latte")}));
}

}  // namespace dma_latte_test
}  // namespace cortado
