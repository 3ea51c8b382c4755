#include "gemm/kernels.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace kernels_test {

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

/// Batch 2, 8192 tokens, heads of this many values, 2048 in total; not causal.
double tflops(std::uint64_t head_dim) {
  const double heads = 2048.0 / static_cast<double>(head_dim);
  const AttentionShape shape{
      .scores = 2 * heads * 8192.0 * 8192.0, .key_dim = head_dim, .value_dim = head_dim, .bytes = 1e6};
  return flops(shape) / attention_seconds(shape, mi300x()) * 1e-12;
}

TEST(Attention, HasTheMeasuredRateAndMoreWithWiderHeads) {
  EXPECT_NEAR(tflops(64), 329, 1);   // what softmax_per_clock was derived from
  EXPECT_NEAR(tflops(128), 457, 5);  // softmax of a score is the same for all heads
}

TEST(Attention, DecodingIsBoundByTheCache) {
  // 64 sequences of 4096 tokens with 8 heads of keys and values of 128: 1.07 GB at 0.8 of 4.1 TB/s.
  const AttentionShape shape{.scores = 64.0 * 64 * 4096, .key_dim = 128, .value_dim = 128, .bytes = 64.0 * 4096 * 4096};
  EXPECT_NEAR(attention_seconds(shape, mi300x()), shape.bytes / (0.8 * 4.1e12), 1e-9);
}

TEST(Attention, BackwardTakesLongerAndUnfusedAddsMemory) {
  AttentionShape shape{.scores = 1e11, .key_dim = 128, .value_dim = 128, .bytes = 1e9};
  const double forward = attention_seconds(shape, mi300x());
  shape.backward = true;
  EXPECT_GT(attention_seconds(shape, mi300x()), 2.5 * forward);
  shape.backward = false;
  shape.fused = false;
  shape.bytes += 13 * shape.scores;
  EXPECT_GT(attention_seconds(shape, mi300x()), forward);
}

TEST(Kernels, MachinesWithoutThemAreRefused) {
  const Machine machine = load_machine("mi308x-8").value();
  EXPECT_EQ(check_kernels(machine).error().code, "model.machine");
  EXPECT_TRUE(check_kernels(mi300x()));
}

TEST(Kernels, DrawNoMoreThanTheCap) {
  const AttentionShape shape{.scores = 1e11, .key_dim = 128, .value_dim = 128, .bytes = 1e9};
  EXPECT_LE(attention_watts(shape, mi300x()), mi300x().power->cap_w);
  EXPECT_GT(stream_watts(1e9, mi300x()), mi300x().power->idle_w());
}

}  // namespace kernels_test
}  // namespace cortado
