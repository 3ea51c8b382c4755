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
  EXPECT_EQ(reproduced("dma-latte").figures.size(), 8U + 3U + 4U);
}

/// The published maxima lie between a baseline of one call for each fragment and one of large batches or none: removing
/// the cost of calls never loses, and gains more over the loop.
TEST(DmaLatte, InferenceGainsBracketThePublishedOnes) {
  const report::Reproduction& ours = reproduced("dma-latte");
  const report::Table* table = ours.own_table("inference");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows.size(), 4U * 3U * 2U + 3U);
  EXPECT_GT(figure_of(ours, "inference latency over loop"), 1.65);
  EXPECT_GT(figure_of(ours, "inference throughput over loop"), 1.9);
  for (std::size_t row = 0; row < table->rows.size(); ++row) {
    for (const char* gain : {"latency over loop", "latency over batch"}) {
      EXPECT_GE(std::get<double>(table->at(row, gain).value()), 0.99) << gain << " in row " << row;
    }
  }
}

TEST(DmaLatte, DoesNotDependOnTheNumberOfThreads) {
  const auto one = pipeline::reproduce("dma-latte", {}, {.threads = 1});
  ASSERT_TRUE(one);
  EXPECT_EQ(report::reproduction_json({*one}), report::reproduction_json({reproduced("dma-latte")}));
}

}  // namespace dma_latte_test
}  // namespace cortado
