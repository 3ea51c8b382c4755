// Trackers behind the driver seam: packets and GEMMs update them, and queues that poll are released.
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"

namespace cortado::device::soft {
namespace tracked_queue_test {

using testing::HasSubstr;

Machine tracking_machine() {
  Machine machine = test_machine();
  machine.features.tracker = TrackerLimits{64, Bytes{256}};
  return machine;
}

class TrackedQueues : public testing::TestWithParam<std::optional<std::uint64_t>> {
 protected:
  static SoftOptions options() {
    SoftOptions options;
    options.workers = 2;
    options.adversarial_seed = GetParam();
    return options;
  }

  TrackerHandle track(const Span2D& region, std::uint64_t updates, std::uint64_t* word, std::uint64_t value = 1) {
    const auto tracker = node_->create_tracker({RankId{0}, region, updates, word, value});
    EXPECT_TRUE(tracker) << (tracker ? "" : tracker.error().message);
    return tracker.value_or(TrackerHandle{});
  }
  bool runs_until(const std::uint64_t* word, std::uint64_t value) {
    return assist_until(*node_, [&] { return read_word(word) >= value || !node_->faults().empty(); }) &&
           node_->faults().empty();
  }

  std::unique_ptr<Driver> node_ = open_test_node(options(), tracking_machine());
};

INSTANTIATE_TEST_SUITE_P(Orders, TrackedQueues, testing::Values(std::nullopt, 1, 2, 3, 4, 5), [](const auto& test) {
  return test.param ? "Seed" + std::to_string(*test.param) : std::string("Plain");
});

TEST_P(TrackedQueues, AddsOfSeveralEnginesReleaseAWaitingQueue) {
  // Three engines add 1, 2 and 3 to the same 256 integers; a fourth waits for the tracker and copies the sums.
  constexpr std::uint64_t kElements = 256, kBytes = kElements * 4, kIterations = 5;
  TestBuffer sum(*node_, kBytes), out(*node_, kBytes), words(*node_, 64);
  std::memset(sum.data(), 0xee, kBytes);
  track({sum.data(), kBytes, 1, 0}, 3, words.word(0), 2);
  std::vector<std::unique_ptr<TestBuffer>> sources;
  std::vector<std::unique_ptr<TestQueue>> queues;
  for (std::uint32_t engine = 1; engine <= 3; ++engine) {
    sources.push_back(std::make_unique<TestBuffer>(*node_, kBytes, RankId{engine}));
    for (std::uint64_t i = 0; i < kElements; ++i) sources.back()->as<std::int32_t>()[i] = static_cast<int>(engine);
    queues.push_back(std::make_unique<TestQueue>(*node_, RankId{engine}, EngineId{engine}));
  }
  TestQueue waiting(*node_, RankId{0}, EngineId{4});
  for (std::uint32_t iteration = 1; iteration <= kIterations; ++iteration) {
    waiting.push(poll_ge(words.at(), 2 * iteration)).push(sdma::CopyLinear{kBytes, sum.at(), out.at()});
    waiting.push(add64(words.at(8)));
    waiting.ring();
    for (std::size_t i = 0; i < queues.size(); ++i) {
      queues[i]->push(sdma::CopyAdd{DType::i32, kBytes, sources[i]->at(), sum.at()});
      queues[i]->ring();
    }
    ASSERT_TRUE(runs_until(words.word(1), iteration));
    for (std::uint64_t i = 0; i < kElements; ++i) ASSERT_EQ(out.as<std::int32_t>()[i], 6) << i;
    EXPECT_EQ(*words.word(0), 2 * iteration);
  }
  EXPECT_EQ(node_->tracker_use(RankId{0}).peak, 4u) << "1024 bytes of 256 an entry";
  EXPECT_EQ(node_->tracker_use(RankId{0}).in_use, 0u);
}

TEST_P(TrackedQueues, CopiesThatStoreAreUpdatesOfTheBytesTheyWrite) {
  // A linear copy and a window of 8 rows of 32 bytes, 64 apart, together cover every byte of 8 rows of 64.
  TestBuffer from(*node_, 1024), to(*node_, 512), words(*node_, 64);
  from.fill_pattern(3);
  const TrackerHandle left = track({to.data(), 32, 8, 64}, 1, words.word(0));
  const TrackerHandle right = track({to.data() + 32, 32, 8, 64}, 2, words.word(1));
  TestQueue queue(*node_, RankId{1}, EngineId{1});
  sdma::CopyWindow window;
  window.width = 32;
  window.height = 8;
  window.src.base = from.at(32);
  window.dst.base = to.at(32);
  window.src.pitch = window.dst.pitch = 64;
  queue.push(sdma::CopyLinear{512, from.at(), to.at()}).push(add64(words.at(16)));
  queue.ring();
  ASSERT_TRUE(runs_until(words.word(2), 1));
  EXPECT_EQ(read_word(words.word(0)), 1u);
  EXPECT_EQ(read_word(words.word(1)), 0u);
  EXPECT_EQ(node_->state(left).raises, 1u);
  EXPECT_EQ(node_->state(right).fewest, 1u);
  queue.push(window);
  queue.ring();
  ASSERT_TRUE(runs_until(words.word(1), 1));
  EXPECT_EQ(std::memcmp(to.data(), from.data(), 512), 0);
}

TEST_P(TrackedQueues, FaultsStopTheWriter) {
  TestBuffer data(*node_, 4096), other(*node_, 4096), words(*node_, 64);
  track({data.data(), 1024, 1, 0}, 1, words.word(0));
  const std::vector<std::pair<sdma::Packet, const char*>> cases{
      {sdma::CopyBroadcast{64, other.at(), other.at(64), data.at(64)}, "not an update"},
      {sdma::CopySwap{64, data.at(), other.at()}, "not an update"},
      {sdma::ConstFill{data.at(1020), 0, 2, 4}, "not an update"},
      {sdma::WriteLinear{data.at(4), {1, 2}}, "not an update"},
      {sdma::CopyAdd{DType::f32, 64, other.at(), data.at(1022)}, "only some of its bytes"},
  };
  std::size_t expected = 0;
  for (const auto& [packet, message] : cases) {
    TestQueue queue(*node_, RankId{1}, EngineId{1});
    queue.push(packet);
    queue.ring();
    ++expected;
    ASSERT_TRUE(assist_until(*node_, [&] { return node_->faults().size() == expected; })) << expected;
    EXPECT_EQ(node_->faults().back().kind, FaultKind::tracker);
    EXPECT_THAT(node_->faults().back().message, HasSubstr(message));
  }
  // Half of the bytes twice.
  TestQueue queue(*node_, RankId{1}, EngineId{1});
  queue.push(sdma::CopyLinear{512, other.at(), data.at()}).push(sdma::Nop{});
  queue.push(sdma::CopyLinear{512, other.at(), data.at()});
  queue.ring();
  ASSERT_TRUE(assist_until(*node_, [&] { return node_->faults().size() == expected + 1; }));
  EXPECT_THAT(node_->faults().back().message, HasSubstr("one update too many"));
  EXPECT_EQ(node_->faults().back().packet_index, 2u);
}

TEST_P(TrackedQueues, KernelsMustNotWriteTrackedBytes) {
  TestBuffer data(*node_, 4096), other(*node_, 4096), words(*node_, 64);
  track({data.data(), 64, 1, 0}, 1, words.word(0));
  const Span2D tracked{data.data(), 64, 1, 0}, plain{other.data(), 64, 1, 0};
  const Span2D matrix{other.data(), 16, 4, 16}, tracked_matrix{data.data(), 16, 4, 16};
  GemmLaunchOp without_map{matrix, matrix, tracked_matrix, 4, 4, 4, DType::f32, false, 4, 4, {}};
  GemmLaunchOp untracked = without_map;
  untracked.outputs = {{0, 0, 4, 4, {other.data() + 64, 16, 4, 16}, CopyOp::add}};
  const std::vector<ComputeOp> cases{CopyKernelOp{plain, tracked},
                                     KernelLaunchOp{KernelOp::reduce, {plain}, tracked, DType::u8, {}}, without_map,
                                     untracked};
  std::size_t expected = 0;
  for (const ComputeOp& op : cases) {
    ComputeQueue* queue = *node_->create_compute_queue(RankId{1}, 0);
    node_->submit(*queue, std::array{op});
    ++expected;
    ASSERT_TRUE(assist_until(*node_, [&] { return node_->faults().size() == expected; })) << expected;
    EXPECT_EQ(node_->faults().back().kind, FaultKind::tracker) << node_->faults().back().message;
    node_->destroy(queue);
  }
}

/// A GEMM of 12 x 10 with tiles of 4 x 4, in four blocks of different shape: integers, so that every order is exact.
struct MappedProduct {
  static constexpr std::uint64_t kM = 12, kN = 10, kK = 7;

  explicit MappedProduct(Driver& node) : a(node, kM * kK * 4), b(node, kK * kN * 4), out(node, 4096), words(node, 256) {
    for (std::uint64_t i = 0; i < kM * kK; ++i) a.as<float>()[i] = static_cast<float>(i % 5);
    for (std::uint64_t i = 0; i < kK * kN; ++i) b.as<float>()[i] = static_cast<float>(i % 7);
    std::memset(out.data(), 0xee, out.size());
    op = {{a.data(), kK * 4, kM, kK * 4}, {b.data(), kN * 4, kK, kN * 4}, {}, kM, kN, kK, DType::f32, false, 4, 4, {}};
  }

  float exact(std::uint64_t i, std::uint64_t j) const {
    float sum = 0;
    for (std::uint64_t t = 0; t < kK; ++t) sum += a.as<float>()[i * kK + t] * b.as<float>()[t * kN + j];
    return sum;
  }
  void add_block(std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns,
                 std::uint64_t offset, CopyOp block_op) {
    op.outputs.push_back({row, column, rows, columns, {out.data() + offset, columns * 4, rows, columns * 4}, block_op});
  }
  void expect_block(const OutputSpan& block, float times) const {
    const auto* values = reinterpret_cast<const float*>(block.to.data);
    for (std::uint64_t i = 0; i < block.rows; ++i) {
      for (std::uint64_t j = 0; j < block.columns; ++j) {
        EXPECT_EQ(values[i * block.columns + j], times * exact(block.row + i, block.column + j)) << i << ", " << j;
      }
    }
  }

  TestBuffer a, b, out, words;
  GemmLaunchOp op;
};

TEST_P(TrackedQueues, AMappedProductUpdatesItsBlocksOnceAPartOfK) {
  MappedProduct product(*node_);
  product.add_block(6, 0, 6, 10, 0, CopyOp::add);
  product.add_block(0, 5, 6, 5, 1024, CopyOp::store);
  product.add_block(0, 0, 6, 5, 2048, CopyOp::add);
  product.op.split_k = 3;
  // Tiles: 2 x 3, then 2 x 2 twice. The raise follows the first block.
  product.op.raises = {{6, product.words.word(3), 1}, {14, product.words.word(3), 1}};
  std::vector<TrackerHandle> trackers;
  for (std::size_t i = 0; i < 3; ++i) trackers.push_back(track(product.op.outputs[i].to, 3, product.words.word(i)));
  ComputeQueue* queue = *node_->create_compute_queue(RankId{0}, 0);
  for (std::uint64_t iteration = 1; iteration <= 3; ++iteration) {
    node_->submit(*queue, std::vector<ComputeOp>{product.op, SignalWriteOp{product.words.word(4), 1}});
    ASSERT_TRUE(runs_until(product.words.word(4), iteration));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(*product.words.word(i), iteration);
    EXPECT_EQ(*product.words.word(3), 2 * iteration);
    for (const OutputSpan& block : product.op.outputs) product.expect_block(block, 1);
  }
  node_->destroy(queue);
}

TEST_P(TrackedQueues, ProductsAndCopiesAddUpInOneMemory) {
  // Two GEMMs add into the same tracked block, and so does a copy of what a third stored elsewhere.
  MappedProduct product(*node_);
  product.add_block(0, 0, 12, 10, 0, CopyOp::add);
  constexpr std::uint64_t kBytes = 12 * 10 * 4;
  GemmLaunchOp elsewhere = product.op;
  elsewhere.outputs[0].to.data = product.out.data() + 2048;
  elsewhere.outputs[0].op = CopyOp::store;
  GemmLaunchOp halves = product.op;
  halves.split_k = 2;
  track(product.op.outputs[0].to, 4, product.words.word(0));
  std::vector<ComputeQueue*> queues;
  for (std::uint32_t gpu = 0; gpu < 3; ++gpu) queues.push_back(*node_->create_compute_queue(RankId{gpu}, 0));
  TestQueue dma(*node_, RankId{2}, EngineId{1});
  for (std::uint32_t iteration = 1; iteration <= 3; ++iteration) {
    dma.push(poll_ge(product.words.at(8), iteration));
    dma.push(sdma::CopyAdd{DType::f32, kBytes, product.out.at(2048), product.out.at()});
    dma.ring();
    node_->submit(*queues[0], std::vector<ComputeOp>{product.op});
    node_->submit(*queues[1], std::vector<ComputeOp>{halves});
    node_->submit(*queues[2], std::vector<ComputeOp>{elsewhere, SignalWriteOp{product.words.word(1), 1}});
    ASSERT_TRUE(runs_until(product.words.word(0), iteration));
    product.expect_block(product.op.outputs[0], 3);
  }
  for (ComputeQueue* queue : queues) node_->destroy(queue);
}

TEST_P(TrackedQueues, AMapThatDoesNotFitIsAFault) {
  MappedProduct product(*node_);
  const OutputSpan good{0, 0, 12, 10, {product.out.data(), 40, 12, 40}, CopyOp::store};
  std::vector<GemmLaunchOp> cases(4, product.op);
  for (GemmLaunchOp& op : cases) op.outputs = {good};
  cases[0].outputs[0].row = 1;
  cases[1].outputs[0].columns = 9;
  cases[2].accumulate = true;
  cases[3].split_k = 0;
  std::size_t expected = 0;
  for (const GemmLaunchOp& op : cases) {
    ComputeQueue* queue = *node_->create_compute_queue(RankId{1}, 0);
    node_->submit(*queue, std::vector<ComputeOp>{op});
    ++expected;
    ASSERT_TRUE(assist_until(*node_, [&] { return node_->faults().size() == expected; })) << expected;
    EXPECT_EQ(node_->faults().back().kind, FaultKind::unsupported);
    node_->destroy(queue);
  }
}

TEST(TrackedQueue, AdversarialProductsFinishTilesOutOfOrder) {
  // Two blocks with a tracker each: for some seeds the second one is complete first.
  bool second_first = false, first_first = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SoftOptions options;
    options.adversarial_seed = seed;
    const auto node = open_test_node(options, tracking_machine());
    MappedProduct product(*node);
    product.add_block(0, 0, 4, 4, 0, CopyOp::add);
    product.add_block(0, 4, 4, 4, 1024, CopyOp::add);
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(node->create_tracker({RankId{0}, product.op.outputs[i].to, 1, product.words.word(i), 1}));
    }
    ComputeQueue* queue = *node->create_compute_queue(RankId{0}, 0);
    node->submit(*queue, std::vector<ComputeOp>{product.op});
    while (*product.words.word(0) + *product.words.word(1) == 0) node->assist();
    (*product.words.word(0) == 0 ? second_first : first_first) = true;
    ASSERT_TRUE(assist_until(*node, [&] { return *product.words.word(0) + *product.words.word(1) == 2; }));
    node->destroy(queue);
  }
  EXPECT_TRUE(second_first);
  EXPECT_TRUE(first_first);
}

}  // namespace tracked_queue_test
}  // namespace cortado::device::soft
