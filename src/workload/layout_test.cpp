#include <gtest/gtest.h>

#include "cortado/model.hpp"

namespace cortado {
namespace layout_test {

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

Model model_named(const std::string& name) {
  return load_model(name).value();
}

std::string code_of(const Model& model, const Layout& layout, const Phase& phase) {
  const Status status = check_layout(model, layout, phase, mi300x());
  return status ? "" : status.error().code + ": " + status.error().message;
}

constexpr Phase kPrompt{.kind = PhaseKind::prefill, .tokens = 1024};

TEST(Layout, RefusesWhatDoesNotDivide) {
  const Model llama = model_named("llama-3.1-70b");
  EXPECT_EQ(code_of(llama, {.tp = 8}, kPrompt), "");
  EXPECT_EQ(code_of(llama, {.tp = 3}, kPrompt),
            "model.layout: 64 attention heads of llama-3.1-70b cannot be divided by --tp 3");
  EXPECT_EQ(code_of(llama, {.tp = 16}, kPrompt), "model.layout: --tp 16 does not divide the 8 GPUs of mi300x-8");
  EXPECT_EQ(code_of(llama, {.tp = 8, .ep = 8}, kPrompt),
            "model.layout: llama-3.1-70b has no experts to split by --ep 8");
  EXPECT_EQ(code_of(llama, {.sp = true}, kPrompt), "model.layout: --sp needs --tp 2 or more");
  const Model mixtral = model_named("mixtral-8x7b");
  EXPECT_EQ(code_of(mixtral, {.ep = 3, .dp = 3}, kPrompt),
            "model.layout: 8 experts of mixtral-8x7b cannot be divided by --ep 3");
  EXPECT_EQ(code_of(mixtral, {.ep = 8, .dp = 4}, kPrompt),
            "model.layout: --ep 8 does not fit with --tp 1 --fsdp 1 --dp 4");
  EXPECT_EQ(code_of(mixtral, {.tp = 8, .ep = 8}, kPrompt), "");
}

/// As Phi-3-medium: 40 heads, 10 of keys and values, feed-forward matrices of 17,920 columns.
TEST(Layout, HintsAreAccepted) {
  Model phi = model_named("llama-3.1-8b");
  phi.attention.heads = 40;
  phi.attention.kv_heads = 10;
  phi.intermediate = 17920;
  for (const std::uint32_t tp : {3U, 4U, 5U, 8U, 16U}) {
    const Status status = check_layout(phi, {.tp = tp}, kPrompt, mi300x());
    ASSERT_FALSE(status) << tp;
    EXPECT_EQ(status.error().hint, "use --tp 1, 2") << tp;
  }
  for (const std::uint32_t tp : {1U, 2U}) EXPECT_TRUE(check_layout(phi, {.tp = tp}, kPrompt, mi300x())) << tp;
}

TEST(Layout, RefusesNoTokensAndTooMany) {
  const Model llama = model_named("llama-3.1-8b");
  EXPECT_EQ(code_of(llama, {}, {.kind = PhaseKind::prefill, .tokens = 0}), "model.tokens: prefill of 0 tokens");
  EXPECT_EQ(code_of(llama, {}, {.kind = PhaseKind::decode, .batch = 0}), "model.tokens: a batch of 0 sequences");
  EXPECT_EQ(code_of(llama, {}, {.kind = PhaseKind::decode, .context = 131072}),
            "model.tokens: 131073 tokens are more than the context of llama-3.1-8b, 131072");
}

TEST(Layout, RefusesWhatDoesNotFitWithTheSizes) {
  // 70.55e9 parameters of 16 bytes are 1129 GB, over 4 GPUs 282 GB each.
  const Model llama = model_named("llama-3.1-70b");
  const Phase train{.kind = PhaseKind::train, .tokens = 4096, .recompute = Recompute::full};
  const std::string refused = code_of(llama, {.fsdp = 4}, train);
  EXPECT_NE(refused.find("model.memory: a GPU needs"), std::string::npos) << refused;
  EXPECT_NE(refused.find("optimizer 197.1"), std::string::npos) << refused;  // 70.55e9 x 12 / 4 bytes
  EXPECT_EQ(code_of(llama, {.fsdp = 8}, train), "");
}

TEST(Memory, WeightsAndCache) {
  const Model llama = model_named("llama-3.1-70b");
  const Phase decode{.kind = PhaseKind::decode, .batch = 16, .context = 4096, .dtype = DType::bf16};
  const MemoryNeed need = memory_need(llama, {.tp = 8}, decode);
  EXPECT_NEAR(static_cast<double>(need.weights.value), 2 * 70.55e9 / 8, 0.002 * 2 * 70.55e9 / 8);
  EXPECT_EQ(need.cache.value, 327680ULL / 8 * 16 * 4096);  // of all layers, over 8 heads of keys and values
  Phase narrow = decode;
  narrow.kv_dtype = DType::f8;
  EXPECT_EQ(memory_need(llama, {.tp = 8}, narrow).cache.value, need.cache.value / 2);
  // Latents are the same on every rank.
  const Model deepseek = model_named("deepseek-v3");
  EXPECT_EQ(memory_need(deepseek, {.tp = 8}, decode).cache.value, memory_need(deepseek, {.tp = 1}, decode).cache.value);
}

TEST(Memory, RecomputationKeepsLess) {
  const Model llama = model_named("llama-3.1-8b");
  Phase phase{.kind = PhaseKind::train, .tokens = 8192};
  const auto activations = [&](Recompute recompute) {
    phase.recompute = recompute;
    return memory_need(llama, {.fsdp = 8}, phase).activations;
  };
  EXPECT_GT(activations(Recompute::none), activations(Recompute::selective));
  EXPECT_GT(activations(Recompute::selective), activations(Recompute::full));
}

TEST(Layout, BubbleOfPipelines) {
  Layout layout{.pp = 8, .micro_batches = 32};
  EXPECT_DOUBLE_EQ(layout.bubble(), 7);
  layout.schedule = PipelineSchedule::interleaved;
  EXPECT_DOUBLE_EQ(layout.bubble(), 3.5);
}

TEST(Experts, PopularOnesMakeAGpuBusier) {
  const Experts experts{.count = 8, .per_token = 2};
  EXPECT_DOUBLE_EQ(expert_imbalance(experts, 8, 0), 1);
  // Shares 1, 1/2, ..., 1/8 of 2.718: the first GPU has 1 / 2.718 in place of 1 / 8.
  EXPECT_NEAR(expert_imbalance(experts, 8, 1), 8 / 2.7178571, 1e-6);
  EXPECT_LT(expert_imbalance(experts, 4, 1), expert_imbalance(experts, 8, 1));
}

}  // namespace layout_test
}  // namespace cortado
