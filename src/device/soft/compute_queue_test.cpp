// Compute queues of the embedded node: order, signals, kernels, tile signals, faults.
#include <array>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"

namespace cortado::device::soft {
namespace compute_queue_test {

using testing::HasSubstr;

class ComputeQueues : public testing::TestWithParam<std::optional<std::uint64_t>> {
 protected:
  ComputeQueues() : node_(open_test_node({0, GetParam(), {}})), queue_(*node_->create_compute_queue(RankId{1}, 0)) {}
  ~ComputeQueues() override { node_->destroy(queue_); }

  void submit(const std::vector<ComputeOp>& operations) { node_->submit(*queue_, operations); }

  std::unique_ptr<Driver> node_;
  ComputeQueue* queue_;
};

INSTANTIATE_TEST_SUITE_P(Orders, ComputeQueues, testing::Values(std::nullopt, 1, 2), [](const auto& test) {
  return test.param ? "Seed" + std::to_string(*test.param) : std::string("Plain");
});

Span2D row(const TestBuffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
  return {buffer.data() + offset, bytes, 1, 0};
}

TEST_P(ComputeQueues, OperationsRunInOrderBetweenWaitAndSignal) {
  TestBuffer words(*node_, 64);
  TestBuffer data(*node_, 64);
  data.fill_pattern(1);
  submit({WaitOp{words.word(0), 3, Compare::ge}, CopyKernelOp{row(data, 0, 16), row(data, 32, 16)},
          CopyKernelOp{row(data, 32, 16), row(data, 0, 16), CopyOp::add, DType::u8},
          SignalWriteOp{words.word(1), 5, SignalOp::add}, SignalWriteOp{words.word(2), 9, SignalOp::set},
          TimestampOp{words.word(3)}});
  for (int i = 0; i < 300; ++i) node_->assist();
  EXPECT_EQ(read_word(words.word(1)), 0u);
  EXPECT_THAT(node_->state(*queue_), HasSubstr(">= 3, reads 0"));
  add_to(words.word(0), 3);
  ASSERT_TRUE(assist_until(*node_, [&] { return read_word(words.word(3)) != 0; }));
  EXPECT_EQ(*words.word(1), 5u);
  EXPECT_EQ(*words.word(2), 9u);
  for (std::uint64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(data.data()[i], static_cast<std::byte>(2 * (i + 1)));
    EXPECT_EQ(data.data()[32 + i], static_cast<std::byte>(i + 1));
  }
  EXPECT_EQ(node_->state(*queue_), "idle");
}

TEST_P(ComputeQueues, WaitForEqualIsReleasedByEqualOnly) {
  TestBuffer words(*node_, 64);
  *words.word(0) = 4;
  submit({WaitOp{words.word(0), 3, Compare::eq}, SignalWriteOp{words.word(1), 1}});
  for (int i = 0; i < 300; ++i) node_->assist();
  EXPECT_EQ(read_word(words.word(1)), 0u);
  add_to(words.word(0), ~std::uint64_t{0});  // minus one
  ASSERT_TRUE(assist_until(*node_, [&] { return read_word(words.word(1)) == 1; }));
}

TEST_P(ComputeQueues, LargeReduceRunsInPiecesAndIsComplete) {
  constexpr std::uint64_t kFloats = 400'000;  // 1.6 MB: several pieces
  TestBuffer a(*node_, kFloats * 4), b(*node_, kFloats * 4), sum(*node_, kFloats * 4), words(*node_, 64);
  for (std::uint64_t i = 0; i < kFloats; ++i) {
    a.as<float>()[i] = static_cast<float>(i % 1000);
    b.as<float>()[i] = 0.5f;
  }
  submit({KernelLaunchOp{KernelOp::reduce,
                         {row(a, 0, kFloats * 4), row(b, 0, kFloats * 4)},
                         row(sum, 0, kFloats * 4),
                         DType::f32,
                         {}},
          SignalWriteOp{words.word(0), 1}});
  ASSERT_TRUE(assist_until(*node_, [&] { return read_word(words.word(0)) == 1; }));
  for (std::uint64_t i = 0; i < kFloats; ++i) ASSERT_EQ(sum.as<float>()[i], static_cast<float>(i % 1000) + 0.5f);
}

TEST_P(ComputeQueues, RowsAreGatheredAndScattered) {
  TestBuffer src(*node_, 4096), dst(*node_, 4096), back(*node_, 4096), words(*node_, 64);
  src.fill_pattern();
  std::vector<std::uint64_t> rows(64);
  std::iota(rows.rbegin(), rows.rend(), 0);  // 63, 62, ...
  const Span2D s{src.data(), 48, 64, 64}, d{dst.data(), 48, 64, 64}, b{back.data(), 48, 64, 64};
  submit({KernelLaunchOp{KernelOp::gather_rows, {s}, d, DType::u8, rows},
          KernelLaunchOp{KernelOp::scatter_rows, {d}, b, DType::u8, rows}, SignalWriteOp{words.word(0), 1}});
  ASSERT_TRUE(assist_until(*node_, [&] { return read_word(words.word(0)) == 1; }));
  for (std::uint64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(std::memcmp(dst.data() + i * 64, src.data() + (63 - i) * 64, 48), 0);
    EXPECT_EQ(std::memcmp(back.data() + i * 64, src.data() + i * 64, 48), 0);
  }
}

TEST_P(ComputeQueues, GemmRaisesSignalsAsTilesAreWritten) {
  // C = A * I with 4 x 3 tiles; a dma queue polls the first raise and copies the tiles that must be there by then.
  constexpr std::uint64_t kM = 8, kN = 6, kK = 6;
  TestBuffer a(*node_, kM * kK * 4), b(*node_, kK * kN * 4), c(*node_, kM * kN * 4), words(*node_, 64);
  TestBuffer copied(*node_, kM * kN * 4);
  for (std::uint64_t i = 0; i < kM * kK; ++i) a.as<float>()[i] = static_cast<float>(i + 1);
  for (std::uint64_t i = 0; i < kK; ++i) b.as<float>()[i * kN + i] = 1.0f;
  TestQueue dma(*node_, RankId{0}, EngineId{1});
  dma.push(poll_ge(words.at(), 2)).push(sdma::CopyLinear{4 * kN * 4, c.at(), copied.at()}).push(add64(words.at(8)));
  dma.ring();
  GemmLaunchOp gemm{{a.data(), kK * 4, kM, kK * 4},
                    {b.data(), kN * 4, kK, kN * 4},
                    {c.data(), kN * 4, kM, kN * 4},
                    kM,
                    kN,
                    kK,
                    DType::f32,
                    false,
                    4,
                    3,
                    {}};
  gemm.raises = {{1, words.word(0), 1}, {2, words.word(0), 1}, {4, words.word(2), 7}};
  submit({gemm});
  ASSERT_TRUE(assist_until(*node_, [&] { return read_word(words.word(1)) == 1 && read_word(words.word(2)) == 7; }));
  EXPECT_EQ(*words.word(0), 2u);
  for (std::uint64_t i = 0; i < kM * kN; ++i) EXPECT_EQ(c.as<float>()[i], a.as<float>()[i]);
  EXPECT_EQ(std::memcmp(copied.data(), a.data(), 4 * kN * 4), 0) << "two tiles are the first four rows";
}

TEST_P(ComputeQueues, WhatCannotRunStopsTheQueueWithAFault) {
  TestBuffer data(*node_, 4096), words(*node_, 64);
  const Span2D ok{data.data(), 64, 1, 0};
  const Span2D outside{data.data() + 4090, 64, 1, 0};
  const Span2D wraps{data.data(), 64, UINT64_MAX, UINT64_MAX};
  struct Case {
    ComputeOp op;
    FaultKind kind;
  };
  const std::vector<Case> cases{
      {WaitOp{nullptr, 1}, FaultKind::bad_address},
      {WaitOp{reinterpret_cast<std::uint64_t*>(data.data() + 4), 1}, FaultKind::misaligned},
      {SignalWriteOp{words.word(8), 1}, FaultKind::bad_address},
      {TimestampOp{words.word(8)}, FaultKind::bad_address},
      {CopyKernelOp{outside, ok}, FaultKind::bad_address},
      {CopyKernelOp{ok, wraps}, FaultKind::bad_address},
      {CopyKernelOp{ok, {data.data(), 65, 1, 0}}, FaultKind::unsupported},
      {KernelLaunchOp{KernelOp::reduce, {}, ok, DType::f32, {}}, FaultKind::unsupported},
      {KernelLaunchOp{KernelOp::reduce, {ok}, {data.data(), 63, 1, 0}, DType::f32, {}}, FaultKind::unsupported},
      {KernelLaunchOp{KernelOp::gather_rows, {{data.data(), 8, 4, 8}}, {data.data() + 64, 8, 1, 8}, DType::u8, {4}},
       FaultKind::bad_address},
      {KernelLaunchOp{KernelOp::scatter_rows, {ok}, ok, DType::u8, {0, 1}}, FaultKind::unsupported},
      {GemmLaunchOp{ok, ok, ok, 4, 4, 4, DType::i32, false, 4, 4, {}}, FaultKind::unsupported},
      {GemmLaunchOp{ok, ok, ok, 4, 4, 4, DType::f32, false, 4, 4, {}}, FaultKind::unsupported},
      {GemmLaunchOp{ok, ok, ok, 4, 4, 4, DType::f32, false, 0, 4, {}}, FaultKind::unsupported},
  };
  std::size_t expected = 0;
  for (const Case& c : cases) {
    ComputeQueue* queue = *node_->create_compute_queue(RankId{2}, 0);
    node_->submit(*queue,
                  std::array<ComputeOp, 3>{SignalWriteOp{words.word(1), 1}, c.op, SignalWriteOp{words.word(2), 1}});
    ++expected;
    ASSERT_TRUE(assist_until(*node_, [&] { return node_->faults().size() == expected; })) << expected;
    const EngineFault fault = node_->faults().back();
    EXPECT_EQ(fault.kind, c.kind) << expected << ": " << fault.message;
    EXPECT_EQ(fault.gpu, RankId{2});
    EXPECT_EQ(fault.queue, queue->id);
    EXPECT_EQ(fault.packet_index, 1u);
    EXPECT_THAT(node_->state(*queue), HasSubstr("stopped by a fault"));
    node_->destroy(queue);
  }
  EXPECT_EQ(*words.word(1), expected);
  EXPECT_EQ(*words.word(2), 0u);
}

TEST(ComputeQueue, CreationIsRefusedBeyondTheNode) {
  const auto node = open_test_node({0, {}, {}});
  EXPECT_EQ(node->create_compute_queue(RankId{4}, 0).error().code, "device.queue");
  std::vector<ComputeQueue*> queues;
  for (;;) {
    const auto queue = node->create_compute_queue(RankId{0}, 0);
    if (!queue) break;
    queues.push_back(*queue);
    ASSERT_LT(queues.size(), 10'000u);
  }
  EXPECT_GT(queues.size(), 1000U) << "one GPU may have most of them";
  EXPECT_EQ(node->create_compute_queue(RankId{1}, 0).error().code, "device.queue");
  node->destroy(queues.back());
  EXPECT_TRUE(node->create_compute_queue(RankId{0}, 0).has_value());
}

}  // namespace compute_queue_test
}  // namespace cortado::device::soft
