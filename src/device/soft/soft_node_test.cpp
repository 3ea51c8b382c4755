// The embedded node as a whole: creation, many queues, threads, release and destruction at any moment.
#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"

namespace cortado::device::soft {
namespace soft_node_test {

using testing::HasSubstr;

TEST(SoftNode, TopologyIsThatOfTheMachine) {
  Machine machine = test_machine();
  machine.affinity.assign(4, std::vector<std::optional<EngineId>>(4));
  machine.affinity[1][2] = EngineId{5};
  const auto node = open_test_node({1, {}, {}}, machine, 6);
  const Topology& topology = node->topology();
  EXPECT_EQ(topology.node, "embedded node: 6 GPUs of test-machine, 2 threads");
  ASSERT_EQ(topology.gpus.size(), 6u);
  EXPECT_EQ(topology.gpus[5].name, "embedded GPU 5");
  EXPECT_EQ(topology.gpus[5].engines.size(), 8u);
  EXPECT_EQ(topology.gpus[5].queues_per_engine, 2u);
  EXPECT_EQ(topology.recommended[1][2], 1u << 5);
  EXPECT_EQ(topology.recommended[2][1], 0u);
  EXPECT_TRUE(topology.near_memory_compute);
  EXPECT_TRUE(topology.compute);
}

TEST(SoftNode, TheRateOfProductsIsMeasuredForEveryType) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8}) {
    const double rate = soft_gemm_rate(dtype);
    EXPECT_TRUE(std::isfinite(rate) && rate > 0) << static_cast<int>(dtype) << " " << rate;
  }
}

TEST(SoftNode, RefusesNodesAndQueuesThatCannotBe) {
  EXPECT_EQ(open_soft_node(test_machine(), 0).error().code, "device.gpus");
  EXPECT_EQ(open_soft_node(test_machine(), 1'000'000).error().code, "device.gpus");
  const auto node = open_test_node({0, {}, {}});
  const auto code = [&](std::uint32_t gpu, std::uint32_t engine, std::uint64_t ring) {
    return node->create_sdma_queue({RankId{gpu}, EngineId{engine}, {ring}}).error().code;
  };
  EXPECT_EQ(code(4, 1, 4096), "device.queue") << "no such GPU";
  EXPECT_EQ(code(0, 8, 4096), "device.engine") << "no such engine";
  EXPECT_EQ(code(0, 7, 4096), "device.engine") << "not in silicon";
  for (const std::uint64_t ring : {0ULL, 3000ULL, 32ULL, 1ULL << 32}) EXPECT_EQ(code(0, 1, ring), "device.queue");
  EXPECT_FALSE(node->allocate({RankId{4}, {4096}, {4096}}).has_value());
}

TEST(SoftNode, AnEngineHasOnlySoManyQueues) {
  const auto node = open_test_node({0, {}, {}});
  TestQueue first(*node, RankId{0}, EngineId{1});
  TestQueue second(*node, RankId{0}, EngineId{1});
  EXPECT_NE(first.handle().id, second.handle().id);
  EXPECT_EQ(node->create_sdma_queue({RankId{0}, EngineId{1}, {4096}}).error().code, "device.queue");
  TestQueue other_engine(*node, RankId{0}, EngineId{2});
  second.destroy();
  TestQueue again(*node, RankId{0}, EngineId{1});
  node->destroy(static_cast<SdmaQueue*>(nullptr));
  node->destroy(static_cast<ComputeQueue*>(nullptr));
  node->release({});
}

/// Runs with only the callers' threads, and with an additional worker.
class SoftNodeThreads : public testing::TestWithParam<std::uint32_t> {
 protected:
  SoftNodeThreads() : node_(open_test_node({GetParam(), {}, {}})) {}
  std::unique_ptr<Driver> node_;
};

INSTANTIATE_TEST_SUITE_P(Workers, SoftNodeThreads, testing::Values(0, 1, 3),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(SoftNodeThreads, RingWrapsOverManyLapsWithTheReadPointerAsTheOnlyLimit) {
  TestBuffer words(*node_, 64);
  TestQueue queue(*node_, RankId{0}, EngineId{1}, 1024);
  // A COPY and an ATOMIC take 60 bytes, which does not divide 1024: packets cross the end at every place in turn.
  constexpr std::uint64_t kPackets = 3000;
  for (std::uint64_t i = 1; i <= kPackets; ++i) {
    ASSERT_TRUE(assist_until(*node_, [&] { return queue.written() + 60 - queue.read_offset() < 1024; }));
    queue.push(sdma::CopyLinear{8, words.at(), words.at(16)}).push(add64(words.at()));
    queue.ring();
  }
  ASSERT_TRUE(assist_until(*node_, [&] { return queue.finished(); }));
  EXPECT_EQ(*words.word(0), kPackets);
  EXPECT_EQ(*words.word(2), kPackets - 1) << "the last copy ran before the last add";
  EXPECT_GT(queue.written(), 150u * 1024);
}

TEST_P(SoftNodeThreads, PrelaunchedQueuesStartWithTheTrigger) {
  TestBuffer data(*node_, 4 * 256);
  TestBuffer words(*node_, 64);
  std::vector<std::unique_ptr<TestQueue>> queues;
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    queues.push_back(std::make_unique<TestQueue>(*node_, RankId{gpu}, EngineId{1}));
    queues.back()
        ->push(poll_ge(words.at(), 1))
        .push(sdma::ConstFill{data.at(gpu * 256), gpu + 1, 0, 256})
        .push(add64(words.at(8)));
    queues.back()->ring();
  }
  for (int i = 0; i < 1000; ++i) node_->assist();
  EXPECT_FALSE(node_->assist());
  EXPECT_EQ(read_word(words.word(1)), 0u);
  for (const auto& queue : queues) EXPECT_EQ(queue->read_offset(), 0u);
  add_to(words.word(0), 1);
  ASSERT_TRUE(assist_until(*node_, [&] { return read_word(words.word(1)) == 4; }));
  for (std::uint64_t i = 0; i < 1024; ++i) EXPECT_EQ(data.data()[i], static_cast<std::byte>(i / 256 + 1));
}

TEST_P(SoftNodeThreads, HostThreadsSubmitToTheirOwnQueuesAtTheSameTime) {
  constexpr std::uint64_t kRounds = 200;
  TestBuffer words(*node_, 4096);
  std::vector<std::thread> threads;
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    threads.emplace_back([&, gpu] {
      TestBuffer src(*node_, 512), dst(*node_, 512);
      TestQueue queue(*node_, RankId{gpu}, EngineId{2});
      const std::uint64_t next = (gpu + 1) % 4;
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        std::memset(src.data(), static_cast<int>(round % 256), 512);
        queue.push(sdma::CopyLinear{512, src.at(), dst.at()}).push(add64(words.at(gpu * 64)));
        queue.ring();
        // Each thread waits for its own copy and for its neighbour's: a ring of dependences through four threads.
        EXPECT_TRUE(assist_until(*node_, [&] {
          return read_word(words.word(gpu * 8)) >= round && read_word(words.word(next * 8)) >= round;
        }));
        EXPECT_EQ(dst.data()[511], static_cast<std::byte>(round % 256));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(SoftNodeThreads, MemoryIsReleasedAndQueuesDestroyedWhileEnginesRun) {
  constexpr std::uint64_t kBytes = 4 << 20;
  TestBuffer words(*node_, 64);
  for (int round = 0; round < 10; ++round) {
    const Memory src = *node_->allocate({RankId{0}, {kBytes}, {4096}});
    const Memory dst = *node_->allocate({RankId{1}, {kBytes}, {4096}});
    const Memory polled = *node_->allocate({RankId{1}, {64}, {4096}});
    TestQueue running(*node_, RankId{0}, EngineId{1});
    TestQueue polling(*node_, RankId{0}, EngineId{2});
    TestQueue polls_released(*node_, RankId{0}, EngineId{3});
    for (int i = 0; i < 8; ++i) running.push(sdma::CopyLinear{kBytes, src.address(), dst.address()});
    polling.push(poll_ge(words.at(), 1));
    polls_released.push(poll_ge(polled.address(), 1));
    running.ring();
    polling.ring();
    polls_released.ring();
    for (int i = 0; i < round; ++i) node_->assist();
    node_->release(src);
    node_->release(dst);
    node_->release(polled);
    const auto stopped = [](const TestQueue& queue) { return queue.state().doing.starts_with("stopped by a fault"); };
    ASSERT_TRUE(assist_until(*node_, [&] { return stopped(polls_released); }));
    ASSERT_TRUE(assist_until(*node_, [&] { return running.finished() || stopped(running); }));
    EXPECT_EQ(node_->faults().back().kind, FaultKind::bad_address);
  }
  // The node works again.
  TestQueue queue(*node_, RankId{0}, EngineId{1});
  queue.push(add64(words.at(8)));
  queue.ring();
  ASSERT_TRUE(assist_until(*node_, [&] { return queue.finished(); }));
}

TEST_P(SoftNodeThreads, NodeWithStuckQueuesCanBeClosed) {
  const Memory words = *node_->allocate({RankId{0}, {4096}, {4096}});
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    const SdmaQueue& queue = **node_->create_sdma_queue({RankId{gpu}, EngineId{1}, {4096}});
    sdma::encode(poll_ge(words.address(), 1), reinterpret_cast<std::uint32_t*>(queue.ring));
    node_->ring_doorbell(const_cast<SdmaQueue&>(queue), 24);
    ComputeQueue& compute = **node_->create_compute_queue(RankId{gpu}, 0);
    node_->submit(compute, std::array<ComputeOp, 1>{WaitOp{reinterpret_cast<std::uint64_t*>(words.data), 1}});
  }
  for (int i = 0; i < 100; ++i) node_->assist();
  node_.reset();
}

TEST(SoftNode, WorkersAloneFinishTheWorkAndWakeEventWaiters) {
  const auto node = open_test_node({1, {}, {}});
  TestBuffer src(*node, 8 << 20), dst(*node, 8 << 20);
  src.fill_pattern();
  const Event event = *node->create_event();
  TestQueue queue(*node, RankId{0}, EngineId{1});
  for (int round = 0; round < 3; ++round) {
    queue.push(sdma::CopyLinear{8 << 20, src.at(), dst.at()}).push(sdma::Trap{event.id});
    queue.ring();
    // Nobody assists: the worker, asleep or not, does it all.
    while (!queue.finished()) std::this_thread::sleep_for(std::chrono::microseconds(500));
    EXPECT_TRUE(node->wait(event, std::chrono::seconds(10)));
  }
  EXPECT_EQ(std::memcmp(src.data(), dst.data(), 8 << 20), 0);
  // A word that only the host writes releases a poll, without notifying the node.
  TestBuffer words(*node, 64);
  queue.push(poll_ge(words.at(), 1)).push(add64(words.at(8)));
  queue.ring();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  add_to(words.word(0), 1);
  while (!queue.finished()) std::this_thread::sleep_for(std::chrono::microseconds(500));
  EXPECT_EQ(read_word(words.word(1)), 1u);
  node->destroy(event);
}

/// All pairs of 64 GPUs, 63 queues per GPU, each waiting for a trigger, copying a block and raising a counter.
void run_all_pairs_of_64(const SoftOptions& options) {
  constexpr std::uint32_t kGpus = 64;
  constexpr std::uint64_t kBlock = 64;
  Machine machine = test_machine();
  machine.dma.queues_per_engine = 16;
  const auto node = open_test_node(options, machine, kGpus);
  std::vector<std::unique_ptr<TestBuffer>> send, receive;
  TestBuffer words(*node, 4096);
  for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
    send.push_back(std::make_unique<TestBuffer>(*node, kGpus * kBlock, RankId{gpu}));
    receive.push_back(std::make_unique<TestBuffer>(*node, kGpus * kBlock, RankId{gpu}));
    send.back()->fill_pattern(gpu * 1000);
  }
  std::vector<std::unique_ptr<TestQueue>> queues;
  for (std::uint32_t src = 0; src < kGpus; ++src) {
    for (std::uint32_t dst = 0; dst < kGpus; ++dst) {
      if (src == dst) continue;
      queues.push_back(std::make_unique<TestQueue>(*node, RankId{src}, EngineId{dst % 7}, 1024));
      queues.back()
          ->push(poll_ge(words.at(8), 1))
          .push(sdma::CopyLinear{kBlock, send[src]->at(dst * kBlock), receive[dst]->at(src * kBlock)})
          .push(add64(words.at()));
      queues.back()->ring();
    }
  }
  ASSERT_EQ(queues.size(), 4032u);
  for (int i = 0; i < 50; ++i) node->assist();
  add_to(words.word(1), 1);
  ASSERT_TRUE(assist_until(*node, [&] { return read_word(words.word(0)) == 4032; }));
  for (std::uint32_t src = 0; src < kGpus; ++src) {
    for (std::uint32_t dst = 0; dst < kGpus; ++dst) {
      if (src == dst) continue;
      ASSERT_EQ(std::memcmp(receive[dst]->data() + src * kBlock, send[src]->data() + dst * kBlock, kBlock), 0);
    }
  }
}

TEST(SoftNode, RunsFourThousandQueues) {
  run_all_pairs_of_64({0, {}, {}});
  run_all_pairs_of_64({1, {}, {}});
}

TEST(SoftNode, RunsFourThousandQueuesInRandomOrder) {
  run_all_pairs_of_64({0, 1, {}});
}

TEST(SoftNode, ManyNodesLiveInOneProcess) {
  std::vector<std::unique_ptr<Driver>> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(open_test_node({1, {}, {}}));
  TestBuffer first(*nodes[0], 64);
  TestQueue foreign(*nodes[1], RankId{0}, EngineId{1});
  foreign.push(add64(first.at()));  // memory of another node is not memory here
  foreign.ring();
  ASSERT_TRUE(assist_until(*nodes[1], [&] { return !nodes[1]->faults().empty(); }));
  EXPECT_EQ(nodes[1]->faults().front().kind, FaultKind::bad_address);
  EXPECT_TRUE(nodes[0]->faults().empty());
}

}  // namespace soft_node_test
}  // namespace cortado::device::soft
