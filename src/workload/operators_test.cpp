#include "workload/operators.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/layers.hpp"

namespace cortado {
namespace operators_test {

Model model_named(const std::string& name) {
  return load_model(name).value();
}

const Block& block_named(const Step& step, const std::string& name) {
  const auto found = std::ranges::find(step.blocks, name, &Block::name);
  EXPECT_NE(found, step.blocks.end()) << name;
  return *found;
}

const Operator& operator_named(const Block& block, const std::string& name) {
  const auto found = std::ranges::find(block.operators, name, &Operator::name);
  EXPECT_NE(found, block.operators.end()) << name;
  return *found;
}

std::string gemm(const Block& block, const std::string& name) {
  return to_string(operator_named(block, name).gemm()->shape);
}

double flops_of(const Step& step) {
  return step.flops;
}

TEST(Operators, GemmsOfATensorParallelLayer) {
  const Step step = step_of(model_named("llama-3.1-70b"), {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 8192});
  const Block& layer = block_named(step, "layer");
  EXPECT_EQ(layer.times, 80);
  EXPECT_EQ(gemm(layer, "qkv"), "8192x1280x8192 bf16");  // (64 + 2 x 8) heads of 128, over 8
  EXPECT_EQ(gemm(layer, "output"), "8192x8192x1024 bf16");
  EXPECT_EQ(gemm(layer, "gate, up"), "8192x7168x8192 bf16");
  EXPECT_EQ(gemm(layer, "down"), "8192x8192x3584 bf16");
  const CollectiveWork& sum = *operator_named(layer, "sum parts").collective();
  EXPECT_EQ(sum.collective, Collective("all-reduce"));
  EXPECT_EQ(sum.bytes.value, 2ULL * 8192 * 8192);
  EXPECT_EQ(gemm(block_named(step, "last matrix"), "logits"), "1x16032x8192 bf16");
}

TEST(Operators, SequenceParallelGathersAndScatters) {
  const Step step =
      step_of(model_named("llama-3.1-70b"), {.tp = 8, .sp = true}, {.kind = PhaseKind::train, .tokens = 8192});
  const auto count = [](const Block& block, Collective what) {
    return std::ranges::count_if(block.operators, [&](const Operator& op) {
      return op.collective() != nullptr && op.collective()->collective == what;
    });
  };
  const Block& forward = block_named(step, "layer");
  EXPECT_EQ(count(forward, "all-gather"), 2);
  EXPECT_EQ(count(forward, "reduce-scatter"), 2);
  const Block& backward = block_named(step, "backward of a layer");
  EXPECT_EQ(count(backward, "all-gather"), 2);
  EXPECT_EQ(count(backward, "reduce-scatter"), 2);
}

TEST(Operators, OperationsFollowFromParameters) {
  // Forward two operations a parameter and token, training six; embeddings count once, attention on top.
  const Model llama = model_named("llama-3.1-8b");
  const double parameters = static_cast<double>(count_parameters(llama).total - 128256ULL * 4096);
  const double tokens = 4096;
  const double attention = 2.0 * 32 * 32 * 128 * tokens * tokens;  // layers, heads, head_dim; causal
  const Step train = step_of(llama, {.fsdp = 8}, {.kind = PhaseKind::train, .tokens = 4096});
  EXPECT_NEAR(flops_of(train), 6 * parameters * tokens + 3 * attention, 0.002 * flops_of(train));
  const Step again =
      step_of(llama, {.fsdp = 8}, {.kind = PhaseKind::train, .tokens = 4096, .recompute = Recompute::full});
  EXPECT_DOUBLE_EQ(flops_of(again), flops_of(train));
  EXPECT_EQ(again.blocks.size(), train.blocks.size() + 1);
}

TEST(Operators, WeightsAreGatheredBesideLayers) {
  const Model llama = model_named("llama-3.1-8b");
  const Step step = step_of(llama, {.fsdp = 8}, {.kind = PhaseKind::train, .tokens = 4096});
  const Block& forward = block_named(step, "layer");
  ASSERT_EQ(forward.beside.size(), 1U);
  // 218.1 million parameters of a layer, two bytes each.
  EXPECT_NEAR(static_cast<double>(forward.beside[0].bytes.value), 436.2e6, 0.1e6);
  EXPECT_EQ(block_named(step, "backward of a layer").beside.size(), 2U);
}

TEST(Operators, PerOpCheckpointsMultiplyEverySecondMatrixAgain) {
  const Model model = load_model("llama-3.1-8b").value();
  const Layout layout{.tp = 2, .sp = true};
  Phase phase{.kind = PhaseKind::train, .tokens = 4096};
  const Step kept = step_of(model, layout, phase);
  phase.recompute = Recompute::ops;
  const Step again = step_of(model, layout, phase);
  const Block& layer = block_named(again, "backward of a layer");
  EXPECT_EQ(gemm(layer, "k again"), "4096x512x4096 bf16");  // 8 heads of 128, over 2
  EXPECT_EQ(gemm(layer, "output again"), "4096x4096x2048 bf16");
  EXPECT_EQ(gemm(layer, "up again"), "4096x7168x4096 bf16");
  const auto gathers = [](const Block& block) {
    return std::ranges::count(block.operators, "gather tokens", &Operator::name);
  };
  EXPECT_EQ(gathers(layer), gathers(block_named(kept, "backward of a layer")) + 2);
  EXPECT_EQ(again.flops, kept.flops) << "what is done twice is not needed twice";
}

TEST(Operators, WeightsAreGatheredInLineWhereNothingIsGatheredAhead) {
  const Model model = load_model("llama-3.1-8b").value();
  const Phase phase{.kind = PhaseKind::train, .tokens = 1024};
  const Step step = step_of(model, {.fsdp = 8, .prefetch = 0}, phase);
  EXPECT_TRUE(block_named(step, "layer").beside.empty());
  EXPECT_EQ(block_named(step, "layer").operators.back().name, "gather weights");
  EXPECT_EQ(block_named(step, "backward of a layer").beside.size(), 1U);  // gradients
}

/// bf16 in, f8 out: 3 bytes per value of the input, in a kernel of its own. Training casts instead.
TEST(Operators, InputsOfSmallerTypesAreConverted) {
  const Model model = load_model("llama-3.1-8b").value();
  const auto streams = [&](const Phase& phase) {
    std::vector<std::string> found;
    const Step step = step_of(model, {.tp = 2}, phase);
    for (const Operator& op : block_named(step, "layer").operators) {
      const auto* work = std::get_if<StreamWork>(&op.work);
      if (work != nullptr && op.name.find(" for ") != std::string::npos) {
        found.push_back(fmt::format("{} {}", op.name, work->bytes));
      }
    }
    return found;
  };
  Phase phase{.kind = PhaseKind::decode, .batch = 10, .context = 100, .dtype = DType::f8};
  EXPECT_THAT(streams(phase), testing::ElementsAre("quantise for qkv 122880", "quantise for output 61440",
                                                   "quantise for gate, up 122880", "quantise for down 215040"));
  phase.dtype = DType::bf16;
  EXPECT_TRUE(streams(phase).empty());
  const auto trained = streams({.kind = PhaseKind::train, .tokens = 16, .dtype = DType::f8});
  EXPECT_EQ(trained.size(), 4U);
  for (const std::string& name : trained) EXPECT_TRUE(name.starts_with("cast for ")) << name;
}

TEST(Operators, ExpertsOfOneGpu) {
  const Model mixtral = model_named("mixtral-8x7b");
  const Step sent = step_of(mixtral, {.ep = 8, .dp = 8}, {.kind = PhaseKind::prefill, .tokens = 4096});
  const Block& layer = block_named(sent, "layer with experts");
  const Operator& experts = operator_named(layer, "experts gate, up");
  EXPECT_EQ(experts.gemm()->groups, 1U);                                // one of eight
  EXPECT_EQ(to_string(experts.gemm()->shape), "8192x28672x4096 bf16");  // 8 x 4096 x 2 / 8 rows
  EXPECT_EQ(operator_named(layer, "dispatch").collective()->bytes.value, 2ULL * 2 * 4096 * 4096);
  // One token touches two experts of this GPU's eight, whose width is an eighth.
  const Step decode = step_of(mixtral, {.tp = 8}, {.kind = PhaseKind::decode, .context = 100});
  const Operator& few = operator_named(block_named(decode, "layer with experts"), "experts gate, up");
  EXPECT_EQ(few.gemm()->groups, 2U);
  EXPECT_EQ(to_string(few.gemm()->shape), "1x3584x4096 bf16");
}

TEST(Operators, LatentAttentionReadsTheNarrowCache) {
  const Model deepseek = model_named("deepseek-v3");
  const Step step = step_of(deepseek, {.tp = 8}, {.kind = PhaseKind::decode, .batch = 4, .context = 1023});
  const auto& attention = std::get<AttentionShape>(operator_named(block_named(step, "layer"), "attention").work);
  EXPECT_EQ(attention.key_dim, 576U);
  EXPECT_EQ(attention.value_dim, 512U);
  EXPECT_DOUBLE_EQ(attention.scores, 4.0 * 16 * 1024);
  const double cache = 4.0 * 1024 * 576 * 2;
  EXPECT_NEAR(attention.bytes, cache, 0.05 * cache);  // not divided by tp
}

TEST(Operators, WindowsBoundWhatQueriesSee) {
  using workload::visible_pairs;
  EXPECT_DOUBLE_EQ(visible_pairs(4, 0, {}), 10);  // 1 + 2 + 3 + 4
  EXPECT_DOUBLE_EQ(visible_pairs(4, 10, {}), 50);
  EXPECT_DOUBLE_EQ(visible_pairs(4, 0, 2), 7);  // 1 + 2 + 2 + 2
  EXPECT_DOUBLE_EQ(visible_pairs(1, 1000, 128), 128);
}

}  // namespace operators_test
}  // namespace cortado
