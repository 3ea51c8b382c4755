// Steps of whole models against published ones, with the goals of published/models.toml. docs/accuracy.md shows all.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"

namespace cortado {
namespace models_accuracy_test {

/// Goals that are missed; docs/models.md, "Where whole models are wrong", gives the reasons.
const std::set<std::string> kMissed{"train 8b fp8 mi300x batch 2", "train 8b fp8 mi300x batch 4",
                                    "train 8b bf16 tp h100", "dma 8b zero-3", "dma qwen3-32b zero-3"};

TEST(Models, EveryGoalIsReachedButForThoseThatAreExplained) {
  const auto result = pipeline::reproduce("models", {}, {.threads = 2});
  ASSERT_TRUE(result) << to_string(result.error().errors.front());
  for (const report::ReproducedFigure& one : result->figures) {
    if (kMissed.contains(one.published.name)) continue;
    EXPECT_NE(one.goal(), report::Goal::missed)
        << one.published.title << ": ours " << one.ours << ", published " << one.published.published;
  }
}

}  // namespace models_accuracy_test
}  // namespace cortado
