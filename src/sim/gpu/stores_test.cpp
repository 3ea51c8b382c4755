// Stores of 2 x 3 tiles of 16 x 16 f16 (512 bytes each): the upper row of tiles goes to GPU 1, the lower one stays.
#include "sim/gpu/stores.hpp"

#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "gemm/gemm.hpp"

namespace cortado::sim {
namespace stores_test {

class Stores : public testing::Test {
 protected:
  Stores() {
    const Bytes row{48 * 2};
    gemm_ = gemm_command({.m = 32, .n = 48, .k = 16, .dtype = DType::f16}, {16, 16, 1}, {}, {}, {});
    for (std::uint32_t i = 0; i < 2; ++i) {
      const BufferId buffer = b_.buffer("c", RankId{1 - i}, row * 16, BufferRole::scratch);
      gemm_.outputs.push_back({16 * i, 0, 16, 48, {buffer, {}, row, 16, row}, CopyOp::add});
    }
  }

  void watch(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) {
    b_.tracker({"t", make_region({buffer}, {offset}, {bytes}), 1, SignalId{0}, 1});
  }

  ProgramBuilder b_{"stores", "t3-ring-8", 2};
  Gemm gemm_;
  Machine machine_ = load_machine("t3-ring-8").value();
};

TEST_F(Stores, OfDifferentGpusDrainSideBySideAndCountInOrder) {
  const Trackers trackers(b_.peek(), machine_);
  ProductStores stores(gemm_, b_.peek(), trackers);
  stores.add(0, 6);
  ASSERT_EQ(stores.lanes(), 2U);
  EXPECT_EQ(stores.to(0), RankId{1});
  EXPECT_EQ(stores.to(1), RankId{0});
  const auto remote = stores.start(0);
  const auto local = stores.start(1);
  ASSERT_TRUE(remote && local);
  EXPECT_EQ(stores.run(*remote).bytes, 3 * 512U);
  EXPECT_EQ(stores.run(*local).workgroups, 3U);
  EXPECT_FALSE(stores.start(0));   // one run of a lane at a time
  EXPECT_EQ(stores.drain(1), 0U);  // tiles before these are not written yet
  EXPECT_EQ(stores.drain(0), 6U);
}

TEST_F(Stores, AreCutAtTileSignalsAndBatches) {
  gemm_.raises = {{4, SignalId{0}, 1}};
  const Trackers trackers(b_.peek(), machine_);
  ProductStores stores(gemm_, b_.peek(), trackers);
  stores.add(0, 2);
  stores.add(2, 4);
  std::vector<std::uint32_t> runs;
  for (const std::uint32_t lane : {0U, 1U}) {
    while (const auto next = stores.start(lane)) {
      runs.push_back(stores.run(*next).workgroups);
      stores.drain(lane);
    }
  }
  EXPECT_EQ(runs, (std::vector<std::uint32_t>{2, 1, 1, 2}));
}

// Buffer 0 on GPU 1: its first 8 rows (768 bytes) and its last 8 have a tracker each, so each of its tiles, 16 rows of
// 32 bytes, has 256 bytes of both. Buffer 1 has one tracker for all.
TEST_F(Stores, UpdateEveryTrackerThatTheyTouch) {
  watch(0, 0, 768);
  watch(0, 768, 768);
  watch(1, 0, 1536);
  const Trackers trackers(b_.peek(), machine_);
  ProductStores stores(gemm_, b_.peek(), trackers);
  stores.add(0, 6);
  const ProductStores::Run remote = stores.run(*stores.start(0));
  ASSERT_EQ(stores.updates_of(remote).size(), 2U);
  EXPECT_EQ(stores.updates_of(remote)[0].bytes, 768U);
  EXPECT_EQ(stores.updates_of(remote)[1].bytes, 768U);
  ASSERT_EQ(stores.updates_by(0).size(), 2U);
  EXPECT_EQ(stores.updates_by(0)[1].bytes, 256U);
  const ProductStores::Run local = stores.run(*stores.start(1));
  ASSERT_EQ(stores.updates_of(local).size(), 1U);
  EXPECT_EQ(stores.updates_of(local)[0].tracker, 2U);
  EXPECT_EQ(stores.updates_of(local)[0].bytes, 1536U);
}

// Both workgroups of a tile store all of it with an output map. Without one they bring sums in f32 (2 bytes each for
// one of C) and take those of others, and half of the result each.
TEST_F(Stores, OfSplitProducts) {
  gemm_.split_k = 2;
  const Trackers trackers(b_.peek(), machine_);
  ProductStores mapped(gemm_, b_.peek(), trackers);
  mapped.add(0, 12);
  EXPECT_EQ(mapped.run(*mapped.start(0)).bytes, 6 * 512U);
  EXPECT_EQ(mapped.writes(), 1);
  EXPECT_EQ(mapped.reads(), 0);
  gemm_.c = gemm_.outputs[0].to;
  gemm_.outputs.clear();
  const ProductStores plain(gemm_, b_.peek(), trackers);
  EXPECT_DOUBLE_EQ(plain.writes(), 2.5);
  EXPECT_DOUBLE_EQ(plain.reads(), 2);
}

}  // namespace stores_test
}  // namespace cortado::sim
