#include "pipeline/model/block_program.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "pipeline/model/stand_ins.hpp"

namespace cortado::pipeline {
namespace block_program_test {

struct Case {
  std::string name;
  std::string model;
  Layout layout;
  Phase phase;
  std::string system;
  double error = 0.04;
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.name;
}

class BlockProgramError : public testing::TestWithParam<Case> {};

// The composition adds up what every operator takes alone and what studies of pairs leave exposed; the program has all
// of it at once, with the contention of all kernels. docs/models.md states the error.
TEST_P(BlockProgramError, OfTheCompositionIsSmall) {
  const Machine machine = load_machine("mi300x-8").value();
  ModelCosts costs(machine);
  const Case& one = GetParam();
  const Model model = load_model(one.model).value();
  const Step step = step_of(model, one.layout, one.phase);
  for (const Block& block : step.blocks) {
    if (block.name.find("layer") == std::string::npos) continue;
    const auto costed = cost_block(block, one.layout, !one.phase.trains(), costs);
    ASSERT_TRUE(costed) << to_string(costed.error().errors.front());
    const auto program = plan_block(*costed, one.system, one.layout, costs);
    ASSERT_TRUE(program) << to_string(program.error().errors.front());
    // Several layers in sequence; the last one is in a steady state.
    const auto run = simulate_block(*program, costs.roomy(), {.iterations = 3, .sim = {.energy = false}});
    ASSERT_TRUE(run) << to_string(run.error().errors.front());
    const double simulated = to_seconds(run->timeline.iteration_times.back()) + program->gaps;
    const double composed = block_time(*costed, one.system).seconds;
    RecordProperty(block.name, std::to_string(composed / simulated));
    EXPECT_NEAR(composed / simulated, 1, one.error) << block.name << ": " << composed << " and " << simulated;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, BlockProgramError,
    testing::Values(
        Case{"fsdp_c3", "llama-3.1-8b", {.fsdp = 8}, {.kind = PhaseKind::train, .batch = 2, .tokens = 4096}, "c3"},
        Case{"fsdp_conccl",
             "llama-3.1-8b",
             {.fsdp = 8},
             {.kind = PhaseKind::train, .batch = 2, .tokens = 4096},
             "conccl"},
        Case{"fsdp_serial",
             "llama-3.1-8b",
             {.fsdp = 8},
             {.kind = PhaseKind::train, .batch = 2, .tokens = 4096},
             "serial"},
        Case{"tp_serial", "llama-3.1-70b", {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 8192}, "serial"},
        Case{"tp_auto", "llama-3.1-70b", {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 8192}, "auto"},
        Case{"sp_auto", "llama-3.1-70b", {.tp = 8, .sp = true}, {.kind = PhaseKind::train, .tokens = 8192}, "auto"},
        // The host launches every piece here; serving engines replay graphs.
        Case{"decode",
             "llama-3.1-70b",
             {.tp = 8},
             {.kind = PhaseKind::decode, .context = 2048, .dtype = DType::f8},
             "auto",
             0.12},
        Case{"experts", "mixtral-8x7b", {.ep = 8, .dp = 8}, {.kind = PhaseKind::prefill, .tokens = 4096}, "auto"}),
    [](const testing::TestParamInfo<Case>& tested) { return tested.param.name; });

TEST(BlockProgram, RefusesGroupsOfDifferentSizesAndNodes) {
  const Machine machine = load_machine("mi300x-8").value();
  ModelCosts costs(machine);
  const Model model = load_model("llama-3.1-8b").value();
  const Phase phase{.kind = PhaseKind::train, .tokens = 1024};
  for (const Layout& layout : {Layout{.tp = 2, .fsdp = 4}, Layout{.fsdp = 16}}) {
    const Step step = step_of(model, layout, phase);
    const auto costed = cost_block(step.blocks[1], layout, false, costs);
    ASSERT_TRUE(costed);
    const auto program = plan_block(*costed, "c3", layout, costs);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().errors.front().code, "model.program");
  }
}

TEST(StandIns, TakeAsLongAsWhatTheyStandFor) {
  const Machine machine = load_machine("mi300x-8").value();
  for (const double seconds : {100e-6, 1e-3, 12e-3}) {
    const auto shape = gemm_as_long_as(seconds, machine);
    ASSERT_TRUE(shape);
    const Tiling tiling = choose_tiling(*shape, machine, machine.compute_units);
    EXPECT_NEAR(estimate_gemm(*shape, tiling, machine, machine.compute_units).seconds / seconds, 1, 0.05);
  }
  EXPECT_FALSE(gemm_as_long_as(1e-9, machine));
}

}  // namespace block_program_test
}  // namespace cortado::pipeline
