#include "plan/layer.hpp"

#include <gtest/gtest.h>

#include "cortado/program.hpp"
#include "cortado/verify.hpp"

#include "plan/ficco.hpp"
#include "plan/overlap.hpp"

namespace cortado::plan::layer_test {
namespace {

const Machine& machine() {
  static const Machine loaded = load_machine("mi300x-8").value();
  return loaded;
}

constexpr LayerShape kSmall{
    .hidden = 32, .heads = 16, .kv_heads = 8, .head_dim = 4, .intermediate = 48, .vocabulary = 64};

PassRequest pass(std::uint32_t ranks, std::uint64_t rows = 16) {
  return {.shape = kSmall, .sequences = 4, .rows = rows, .capacity = 6, .ranks = ranks};
}

/// By FiCCO's composers; empty: serial.
PairPlanner pairs_by(const std::string& schedule) {
  if (schedule.empty()) return {};
  return [schedule](const OverlapProblem& problem) -> Result<Program> {
    FiccoSchedule way;
    if (schedule == "tiles") {
      way = {.grain = Grain::tiles, .chunks = 1, .exchange = ExchangeVariant::pcpy};
    } else {
      CORTADO_ASSIGN_OR_RETURN(way, find_schedule(schedule));
    }
    CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(dependent_request(problem), way, machine()));
    return std::move(plan.program);
  };
}

std::string errors_of(const Program& program) {
  const auto verified = verify(program, machine());
  std::string text;
  if (!verified) {
    for (const Diagnostic& error : verified.error()) text += to_string(error) + "\n";
  }
  return text;
}

class LayerOf : public ::testing::TestWithParam<std::tuple<std::uint32_t, std::string>> {};

TEST_P(LayerOf, IsProved) {
  const auto& [ranks, schedule] = GetParam();
  const auto layer = plan_layer(pass(ranks), machine(), pairs_by(schedule));
  ASSERT_TRUE(layer) << to_string(layer.error());
  EXPECT_EQ(errors_of(layer->program), "");
}

INSTANTIATE_TEST_SUITE_P(Strategies, LayerOf,
                         ::testing::Combine(::testing::Values(2U, 4U, 8U),
                                            ::testing::Values("", "serial-dma", "hetero-fused-1d/2",
                                                              "uniform-fused-2d/2", "tiles")),
                         [](const auto& parameter) {
                           std::string name =
                               std::to_string(std::get<0>(parameter.param)) + std::get<1>(parameter.param);
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

TEST(Layer, OfOneRankIsProved) {
  const auto layer = plan_layer(pass(1), machine());
  ASSERT_TRUE(layer) << to_string(layer.error());
  EXPECT_EQ(errors_of(layer->program), "");
}

}  // namespace
}  // namespace cortado::plan::layer_test
