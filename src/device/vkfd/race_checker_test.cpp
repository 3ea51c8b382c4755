#include "device/vkfd/race_checker.hpp"

#include <atomic>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/vkfd/process_testing.hpp"

namespace cortado::device::vkfd {
namespace race_checker_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

/// Packets of queues 1, 2, .. in the order in which the test gives them.
class Races : public testing::Test {
 protected:
  void run(std::uint32_t queue, const sdma::Packet& packet) {
    const SdmaQueue handle{RankId{queue}, EngineId{queue}, queue};
    const soft::PacketPlace place{std::uint64_t{16} * next_[queue], next_[queue]};
    ++next_[queue];
    checker_.fetched(handle, packet, place);
    checker_.finished(handle, packet, place);
  }
  void ring(std::uint32_t queue) { checker_.rang({RankId{queue}, EngineId{queue}, queue}); }

  static sdma::Packet copy(std::uint64_t src, std::uint64_t dst) { return sdma::CopyLinear{4096, src, dst}; }
  static sdma::Packet poll(std::uint64_t word) { return sdma::PollRegmem{.address = word, .reference = 1}; }

  std::vector<std::string> found_;
  RaceChecker checker_{[this](const std::string& race) { found_.push_back(race); }};
  std::map<std::uint32_t, std::uint64_t> next_;
};

TEST_F(Races, AReadThatDoesNotWaitForTheWriteNamesBothPackets) {
  run(1, sdma::Nop{});
  run(1, copy(0x10000, 0x20000));
  run(2, copy(0x20800, 0x30000));
  ASSERT_THAT(found_, SizeIs(1));
  EXPECT_THAT(found_[0], AllOf(HasSubstr("GPU 1 engine 1 queue 1 packet 1 at ring offset 0x10 (COPY linear 4096 B"),
                               HasSubstr("GPU 2 engine 2 queue 2 packet 0 at ring offset 0x0"),
                               HasSubstr("bytes 0x20800 .. +2048")));
}

TEST_F(Races, ReadsOfTheSameBytesAreNone) {
  run(1, copy(0x10000, 0x20000));
  run(2, copy(0x10000, 0x30000));
  EXPECT_THAT(found_, SizeIs(0));
}

TEST_F(Races, AWriteMustWaitForReads) {
  run(1, copy(0x10000, 0x20000));
  run(2, copy(0x10000, 0x30000));
  run(3, copy(0x40000, 0x10000));
  EXPECT_THAT(found_, SizeIs(2));
}

TEST_F(Races, FencesAndPollsOrder) {
  run(1, copy(0x10000, 0x20000));
  run(1, sdma::Fence{0x50000, 1});
  run(2, poll(0x50000));
  run(2, copy(0x20000, 0x30000));
  run(2, sdma::Atomic{sdma::kAtomicAdd64, false, 0x50040, 1, 0, 0});
  run(3, poll(0x50040));
  run(3, copy(0x40000, 0x10000));  // ordered through queue 2
  EXPECT_THAT(found_, SizeIs(0));
}

TEST_F(Races, APollOfAnotherWordDoesNotOrder) {
  run(1, copy(0x10000, 0x20000));
  run(1, sdma::Fence{0x50000, 1});
  run(2, poll(0x50040));
  run(2, copy(0x20000, 0x30000));
  EXPECT_THAT(found_, SizeIs(1));
}

TEST_F(Races, WhatCameAfterTheFenceIsNotOrdered) {
  run(1, sdma::Fence{0x50000, 1});
  run(1, copy(0x10000, 0x20000));
  run(2, poll(0x50000));
  run(2, copy(0x20000, 0x30000));
  EXPECT_THAT(found_, SizeIs(1));
}

TEST_F(Races, ACopyCanBeTheSignal) {
  run(1, copy(0x10000, 0x20000));
  run(1, sdma::WriteLinear{0x50000, {1}});
  run(2, poll(0x50000));
  run(2, copy(0x20000, 0x30000));
  EXPECT_THAT(found_, SizeIs(0));
}

TEST_F(Races, AHostThatRingsAfterwardsMayHaveWaited) {
  ring(2);
  run(1, copy(0x10000, 0x20000));
  ring(2);
  run(2, copy(0x20000, 0x30000));
  EXPECT_THAT(found_, SizeIs(0));
  run(1, copy(0x10000, 0x20000));
  run(2, copy(0x20000, 0x30000));  // rung before
  EXPECT_FALSE(found_.empty());
}

TEST_F(Races, MemoryThatIsGivenBackIsForgotten) {
  run(1, copy(0x10000, 0x20000));
  checker_.memory_gone({0x20000, 0x21000});
  run(2, copy(0x20000, 0x30000));
  EXPECT_THAT(found_, SizeIs(0));
}

/// Two engines in an order that the seed decides; the second reads what the first writes, with or without a wait.
std::size_t races_of(std::uint64_t seed, bool ordered, std::uint64_t doorbell_delay) {
  std::atomic<std::size_t> races{0};
  VirtualKfdOptions options;
  options.runner.seed = seed;
  options.runner.doorbell_delay = doorbell_delay;
  options.observer = std::make_unique<RaceChecker>([&](const std::string&) { ++races; });
  TestProcess process("mi300x-8", std::move(options));
  const auto memory = process.allocate_mapped(3 * 4096);
  const auto words = process.allocate_mapped(4096);
  auto writer = process.make_queue(0, 2);
  auto reader = process.make_queue(1, 3);
  std::vector<sdma::Packet> reads;
  if (ordered) reads.push_back(sdma::PollRegmem{.address = words.va, .reference = 1});
  reads.push_back(sdma::CopyLinear{4096, memory.va + 4096, memory.va + 8192});
  reads.push_back(sdma::Nop{});
  TestProcess::submit(writer, {sdma::CopyLinear{4096, memory.va, memory.va + 4096}, sdma::Fence{words.va, 1}});
  TestProcess::submit(reader, reads);
  EXPECT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(writer) && TestProcess::finished(reader); }));
  process.driver().stop_engines();
  return races.load();
}

TEST(RacesOfSeeds, AWaitMakesEverySeedClean) {
#ifdef CORTADO_SANITIZED
  constexpr std::uint64_t kSeeds = 50;
#else
  constexpr std::uint64_t kSeeds = 1000;
#endif
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) ASSERT_EQ(races_of(seed, true, 0), 0U) << seed;
}

TEST(RacesOfSeeds, AMissingWaitIsFound) {
  std::size_t found = 0;
  constexpr std::uint64_t kDelay = 20'000'000;  // nanoseconds: the second doorbell is rung long before
  for (std::uint64_t seed = 0; seed < 5; ++seed) found += races_of(seed, false, kDelay);
  EXPECT_GE(found, 1U);  // all, unless this computer stops between two doorbells
}

}  // namespace race_checker_test
}  // namespace cortado::device::vkfd
