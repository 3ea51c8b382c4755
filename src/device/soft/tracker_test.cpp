// Trackers: counts of bytes, first updates that store and later ones that add, raising, entries, faults.
#include "device/soft/tracker.hpp"

#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"
#include "device/soft/tracker_unit.hpp"

namespace cortado::device::soft {
namespace tracker_test {

using testing::HasSubstr;

std::vector<std::array<std::uint64_t, 3>> runs(const UpdateCounts& counts) {
  std::vector<std::array<std::uint64_t, 3>> found;
  counts.for_each_run(0, counts.bytes(), [&](std::uint64_t first, std::uint64_t bytes, std::uint64_t count) {
    found.push_back({first, bytes, count});
  });
  return found;
}

using Runs = std::vector<std::array<std::uint64_t, 3>>;

TEST(UpdateCounts, RunsSplitAndMelt) {
  UpdateCounts counts(100);
  EXPECT_EQ(runs(counts), (Runs{{0, 100, 0}}));
  counts.add(10, 20);
  EXPECT_EQ(runs(counts), (Runs{{0, 10, 0}, {10, 20, 1}, {30, 70, 0}}));
  counts.add(0, 10);
  EXPECT_EQ(runs(counts), (Runs{{0, 30, 1}, {30, 70, 0}}));
  counts.add(20, 80);
  EXPECT_EQ(runs(counts), (Runs{{0, 20, 1}, {20, 10, 2}, {30, 70, 1}}));
  counts.add(0, 20);
  EXPECT_EQ(runs(counts), (Runs{{0, 30, 2}, {30, 70, 1}}));
  counts.add(30, 70);
  EXPECT_EQ(runs(counts), (Runs{{0, 100, 2}}));
  EXPECT_EQ(counts.total(), 200u);
  counts.clear();
  EXPECT_EQ(runs(counts), (Runs{{0, 100, 0}}));
  EXPECT_EQ(counts.total(), 0u);
}

TEST(UpdateCounts, PartsOfRunsAreVisited) {
  UpdateCounts counts(100);
  counts.add(40, 20);
  Runs found;
  counts.for_each_run(30, 20, [&](auto first, auto bytes, auto count) { found.push_back({first, bytes, count}); });
  EXPECT_EQ(found, (Runs{{30, 10, 0}, {40, 10, 1}}));
}

/// Memory and a unit with 16 entries of 64 bytes on each of two GPUs.
class TrackerUnits : public testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 1024;

  TrackerUnits()
      : unit_(TrackerLimits{16, Bytes{64}}, 2, map_),
        data_(*map_.allocate({RankId{0}, {kBytes}, {4096}})),
        source_(*map_.allocate({RankId{0}, {kBytes}, {4096}})),
        words_(*map_.allocate({RankId{0}, {64}, {4096}})) {
    std::memset(data_.data, 0xee, kBytes);
  }

  std::uint64_t* word(std::size_t index = 0) { return reinterpret_cast<std::uint64_t*>(words_.data) + index; }
  float* floats(const Memory& memory) { return reinterpret_cast<float*>(memory.data); }
  TrackerRequest request(std::uint64_t offset, std::uint64_t bytes, std::uint64_t updates, std::size_t to = 0) {
    return {RankId{0}, {data_.data + offset, bytes, 1, 0}, updates, word(to), 1};
  }
  std::optional<PacketFault> add(std::uint64_t offset, std::uint64_t bytes) {
    return unit_.update({data_.data + offset, source_.data + offset, bytes, CopyOp::add, DType::f32},
                        TrackerUnit::Untracked::allowed);
  }
  std::optional<PacketFault> store(std::uint64_t offset, std::uint64_t bytes) {
    return unit_.update({data_.data + offset, source_.data + offset, bytes, CopyOp::store, DType::u8},
                        TrackerUnit::Untracked::allowed);
  }

  MemoryMap map_{Bytes{0}};
  TrackerUnit unit_;
  Memory data_, source_, words_;
};

TEST_F(TrackerUnits, TheFirstUpdateStoresLaterOnesAddAndTheLastRaises) {
  const TrackerHandle tracker = *unit_.create(request(0, 256, 3));
  for (int iteration = 1; iteration <= 2; ++iteration) {
    // Values that change from iteration to iteration: leftovers of the previous one would show.
    for (std::uint64_t i = 0; i < 64; ++i)
      floats(source_)[i] = static_cast<float>(iteration * 100 + static_cast<int>(i));
    ASSERT_FALSE(add(128, 128));
    ASSERT_FALSE(add(0, 256));  // the first of the lower half, the second of the upper
    ASSERT_FALSE(add(0, 100));
    ASSERT_FALSE(add(128, 128));
    ASSERT_FALSE(add(100, 28));
    const TrackerState state = unit_.state(tracker);
    EXPECT_EQ(state.bytes, 256u);
    EXPECT_EQ(state.complete_bytes, 128u);
    EXPECT_EQ(state.fewest, 2u);
    EXPECT_EQ(state.updates, 3u);
    EXPECT_EQ(*word(), static_cast<std::uint64_t>(iteration - 1));
    ASSERT_FALSE(add(0, 128));
    EXPECT_EQ(*word(), static_cast<std::uint64_t>(iteration));
    EXPECT_EQ(unit_.state(tracker).raises, static_cast<std::uint64_t>(iteration));
    EXPECT_EQ(unit_.state(tracker).fewest, 0u) << "it starts over";
    for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(floats(data_)[i], 3 * floats(source_)[i]) << i;
  }
}

TEST_F(TrackerUnits, StoresOfAnySizeInAnyOrderAreCountedByteByByte) {
  ASSERT_TRUE(unit_.create(request(0, 100, 1)));
  for (std::uint64_t i = 0; i < 100; ++i) source_.data[i] = TestBuffer::pattern(i);
  ASSERT_FALSE(store(99, 1));
  ASSERT_FALSE(store(0, 1));
  ASSERT_FALSE(store(50, 49));
  EXPECT_EQ(*word(), 0u);
  ASSERT_FALSE(store(1, 49));
  EXPECT_EQ(*word(), 1u);
  EXPECT_EQ(std::memcmp(data_.data, source_.data, 100), 0);
}

TEST_F(TrackerUnits, AnUpdateMaySpanTrackersAndMemoryWithout) {
  // Two rows of 32 bytes, 96 apart, and a range between them; bytes 128 .. 191 have no tracker.
  TrackerRequest rows = request(0, 32, 1, 0);
  rows.region.rows = 2;
  rows.region.pitch = 96;
  ASSERT_TRUE(unit_.create(rows));
  ASSERT_TRUE(unit_.create(request(32, 64, 1, 1)));
  for (std::uint64_t i = 0; i < 192; ++i) source_.data[i] = TestBuffer::pattern(i);
  ASSERT_FALSE(store(0, 112));
  EXPECT_EQ(*word(0), 0u) << "half of the second row is missing";
  EXPECT_EQ(*word(1), 1u);
  ASSERT_FALSE(store(112, 80));
  EXPECT_EQ(*word(0), 1u);
  EXPECT_EQ(std::memcmp(data_.data, source_.data, 192), 0);
}

TEST_F(TrackerUnits, MoreUpdatesThanProgrammedAreAFault) {
  ASSERT_TRUE(unit_.create(request(0, 64, 2)));
  ASSERT_FALSE(add(0, 32));
  ASSERT_FALSE(add(0, 32));
  const auto fault = add(16, 32);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::tracker);
  EXPECT_EQ(fault->address, data_.address() + 16);
  EXPECT_THAT(fault->message, HasSubstr("one update too many: byte 16 of the tracked region has had all 2"));
}

TEST_F(TrackerUnits, HalfAnElementIsAFault) {
  ASSERT_TRUE(unit_.create(request(0, 64, 2)));
  ASSERT_TRUE(unit_.create(request(102, 32, 2)));
  ASSERT_FALSE(store(0, 2));
  EXPECT_THAT(add(0, 64)->message, HasSubstr("different numbers of updates"));
  EXPECT_THAT(add(100, 32)->message, HasSubstr("a tracker for only some of its bytes"));
}

TEST_F(TrackerUnits, WritesThatAreNoUpdatesAreFaults) {
  ASSERT_TRUE(unit_.create(request(128, 64, 1)));
  const Span2D beside{data_.data, 64, 2, 192};  // bytes 0 .. 63 and 192 .. 255
  const Span2D across{data_.data, 64, 2, 120};  // bytes 0 .. 63 and 120 .. 183
  EXPECT_FALSE(unit_.check_plain_write(beside));
  const auto fault = unit_.check_plain_write(across);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->address, data_.address() + 128);
  EXPECT_THAT(fault->message, HasSubstr("not an update"));
  const auto untracked =
      unit_.update({data_.data, source_.data, 64, CopyOp::add, DType::f32}, TrackerUnit::Untracked::fault);
  ASSERT_TRUE(untracked);
  EXPECT_THAT(untracked->message, HasSubstr("without a tracker"));
}

TEST_F(TrackerUnits, EntriesAreHeldFromTheFirstUpdateToTheRaise) {
  const TrackerHandle small = *unit_.create(request(0, 65, 1));     // 2 entries
  const TrackerHandle large = *unit_.create(request(128, 512, 1));  // 8
  const TrackerHandle third = *unit_.create(request(704, 64, 1));   // 1
  EXPECT_EQ(unit_.use(RankId{0}).in_use, 0u) << "programmed ones hold nothing";
  ASSERT_FALSE(store(0, 1));
  EXPECT_EQ(unit_.use(RankId{0}).in_use, 2u);
  ASSERT_FALSE(store(128, 100));
  EXPECT_EQ(unit_.use(RankId{0}).in_use, 10u);
  ASSERT_FALSE(store(1, 64));
  EXPECT_EQ(unit_.use(RankId{0}).in_use, 8u);
  ASSERT_FALSE(store(704, 1));
  EXPECT_EQ(unit_.use(RankId{0}).in_use, 9u);
  EXPECT_EQ(unit_.use(RankId{0}).peak, 10u);
  EXPECT_EQ(unit_.use(RankId{1}).peak, 0u);
  for (const TrackerHandle tracker : {small, large, third}) unit_.destroy(tracker);
  EXPECT_TRUE(unit_.idle());
  EXPECT_EQ(unit_.use(RankId{0}).in_use, 0u) << "a tracker taken away gives its entries back";
  EXPECT_EQ(unit_.use(RankId{0}).peak, 10u);
  ASSERT_TRUE(unit_.create(request(0, 64, 1)));
  EXPECT_EQ(unit_.use(RankId{0}).peak, 0u);
}

TEST_F(TrackerUnits, WhatCannotBeTrackedIsRefused) {
  const auto refusal = [&](const TrackerRequest& wrong) {
    const auto created = unit_.create(wrong);
    EXPECT_FALSE(created);
    EXPECT_EQ(created.error().code, "device.tracker");
    return created.error().message;
  };
  ASSERT_TRUE(unit_.create(request(0, 1024 - 960, 1)));
  EXPECT_THAT(refusal(request(60, 8, 1)), HasSubstr("another tracker"));
  EXPECT_THAT(refusal(request(64, 0, 1)), HasSubstr("cannot be tracked"));
  EXPECT_THAT(refusal(request(64, 8, 0)), HasSubstr("0 updates"));
  EXPECT_THAT(refusal(request(1020, 8, 1)), HasSubstr("not inside an allocation"));
  TrackerRequest elsewhere = request(64, 8, 1);
  elsewhere.word = nullptr;
  EXPECT_THAT(refusal(elsewhere), HasSubstr("not inside an allocation"));
  elsewhere = request(64, 8, 1);
  elsewhere.gpu = RankId{2};
  EXPECT_THAT(refusal(elsewhere), HasSubstr("no GPU 2"));
  TrackerRequest many = request(64, 8, 1);
  many.region.rows = 200;  // 1600 bytes: 25 entries of 64
  many.region.pitch = 8;
  EXPECT_THAT(refusal(many), HasSubstr("needs 25 entries for 1600 bytes, GPU 0 has 16 of 64 bytes"));
  TrackerUnit without(std::nullopt, 2, map_);
  EXPECT_EQ(without.create(request(64, 8, 1)).error().code, "device.tracker");
}

TEST_F(TrackerUnits, ThreadsThatAddToTheSameBytesLoseNothing) {
  // 4 threads add 1, 2, 3 and 4 to all elements, in pieces of different sizes: 10 after each of 50 iterations, in which
  // a thread waits for the word.
  constexpr std::uint64_t kThreads = 4, kIterations = 50, kElements = kBytes / 4;
  ASSERT_TRUE(unit_.create(request(0, kBytes, kThreads)));
  std::atomic<std::uint64_t> wrong{0}, faults{0}, read{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> values(kElements, static_cast<float>(t + 1));
      const std::uint64_t piece = 4 * (t + 3);
      for (std::uint64_t iteration = 1; iteration <= kIterations; ++iteration) {
        for (std::uint64_t offset = 0; offset < kBytes; offset += piece) {
          const Update update{data_.data + offset, reinterpret_cast<const std::byte*>(values.data()),
                              std::min(piece, kBytes - offset), CopyOp::add, DType::f32};
          if (unit_.update(update, TrackerUnit::Untracked::fault)) ++faults;
        }
        while (read_word(word()) < iteration) std::this_thread::yield();
        for (std::uint64_t i = t; i < kElements; i += kThreads) wrong += floats(data_)[i] != 10.0f ? 1 : 0;
        ++read;
        while (read < iteration * kThreads) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(*word(), kIterations);
}

}  // namespace tracker_test
}  // namespace cortado::device::soft
