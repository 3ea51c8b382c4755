// Findings of FiCCO that do not hang on a number: whole shards are slow where every pair of GPUs has a link of its own,
// and not where a switch gives all of a GPU's bandwidth to one peer.
#include <gtest/gtest.h>

#include "cortado/pipeline/reproduce.hpp"

namespace cortado {
namespace {

report::Reproduction ficco(const std::string& machine) {
  const auto loaded = load_machine(machine);
  EXPECT_TRUE(loaded) << to_string(loaded.error());
  const auto result = pipeline::reproduce("ficco", *loaded, {.threads = 2});
  EXPECT_TRUE(result) << to_string(result.error().errors.front());
  return result ? *result : report::Reproduction{};
}

double figure(const report::Reproduction& ours, const std::string& name) {
  const report::ReproducedFigure* found = ours.figure(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? 0 : found->ours;
}

TEST(Ficco, ShardsAreSlowOnAMeshAndNotBehindASwitch) {
  EXPECT_GT(figure(ficco("mi300x-8"), "shard-p2p"), 3);
  EXPECT_LT(figure(ficco("h100-8"), "shard-p2p"), 1.05);
}

TEST(Ficco, OverlapGainsButNeverMoreThanIdeal) {
  const report::Reproduction ours = ficco("mi300x-8");
  EXPECT_GT(figure(ours, "best ficco"), 1.2);
  EXPECT_LT(figure(ours, "best ficco"), figure(ours, "ideal"));
  EXPECT_LE(figure(ours, "ideal"), 2);  // two that overlap entirely
}

}  // namespace
}  // namespace cortado
