// The simulator against the published numbers of DMA-Latte, with the tolerances of published/dma-latte.toml.
#include <cmath>

#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"

namespace cortado {
namespace dma_latte_test {

const report::Reproduction& dma_latte() {
  static const report::Reproduction once = [] {
    const auto result = pipeline::reproduce("dma-latte", {}, {.threads = 2});
    EXPECT_TRUE(result) << to_string(result.error().errors.front());
    return result ? *result : report::Reproduction{};
  }();
  return once;
}

const report::ReproducedTable& table(std::string_view name) {
  for (const report::ReproducedTable& one : dma_latte().tables) {
    if (one.published.name == name) return one;
  }
  ADD_FAILURE() << "no table " << name;
  static const report::ReproducedTable none{};
  return none;
}

TEST(DmaLatte, PhasesOfOneCopyAreWithinThreePoints) {
  EXPECT_EQ(table("copy-phases").rows().size(), 17U * 4U);
  EXPECT_LE(table("copy-phases").mean_error(), 3);
}

TEST(DmaLatte, AllGatherVariantsAreWithinEightPercent) {
  EXPECT_EQ(table("all-gather").rows().size(), 22U * 6U - 1U);  // one odd point is left out
  EXPECT_LE(table("all-gather").mean_error(), 8);
  EXPECT_LE(table("all-gather").worst_error(), 25);
}

TEST(DmaLatte, AllToAllVariantsAreWithinTwelvePercent) {
  EXPECT_EQ(table("all-to-all").rows().size(), 22U * 3U - 1U);
  EXPECT_LE(table("all-to-all").mean_error(), 12);
}

/// Those of power are in power_test.cpp.
TEST(DmaLatte, EveryFigureIsWithinItsGoal) {
  EXPECT_EQ(dma_latte().figures.size(), 8U + 3U);
  for (const report::ReproducedFigure& figure : dma_latte().figures) {
    if (figure.published.name.starts_with("power")) continue;
    ASSERT_TRUE(figure.published.goal) << figure.published.title;
    EXPECT_LE(std::abs(figure.row().error), *figure.published.goal)
        << figure.published.title << ": published " << figure.published.published << ", ours " << figure.ours;
  }
}

TEST(DmaLatte, DoesNotDependOnTheNumberOfThreads) {
  const auto one = pipeline::reproduce("dma-latte", {}, {.threads = 1});
  const auto three = pipeline::reproduce("dma-latte", {}, {.threads = 3});
  ASSERT_TRUE(one && three);
  EXPECT_EQ(report::reproduction_json({*one}), report::reproduction_json({*three}));
}

}  // namespace dma_latte_test
}  // namespace cortado
