#include "device/vkfd/aql_queue.hpp"

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/vkfd/process_testing.hpp"
#include "device/vkfd/race_checker.hpp"

namespace cortado::device::vkfd {
namespace aql_queue_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A program with one compute queue, and signals of which the first is the completion signal of its packets.
class Program {
 public:
  explicit Program(VirtualKfdOptions options = {}) : process_("mi250x-8", refusing(std::move(options))) {
    auto request = TestProcess::queue_request(ring_, pointers_, 0, kfd::QueueType::compute_aql, 0);
    EXPECT_EQ(process_.call(kfd::Call::create_queue, request), 0);
    const std::uint64_t page = request.doorbell_offset & ~(kfd::kDoorbellPage - 1);
    void* const mapped = ::mmap(nullptr, kfd::kDoorbellPage, PROT_READ | PROT_WRITE, MAP_SHARED,
                                process_.driver().kfd_file().descriptor(), static_cast<off_t>(page));
    doorbell_ = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(mapped) + (request.doorbell_offset - page));
    for (std::size_t i = 0; i < 8; ++i) set(i, 1);
  }

  TestProcess& process() { return process_; }
  std::uint64_t signal(std::size_t i) const { return signals_.va + i * sizeof(aql::Signal); }
  aql::Signal& at(std::size_t i) const { return reinterpret_cast<aql::Signal*>(signals_.host)[i]; }
  void set(std::size_t i, std::int64_t value) const { std::atomic_ref(at(i).value).store(value); }
  std::int64_t value(std::size_t i) const { return std::atomic_ref(at(i).value).load(); }

  template <class Packet>
  void submit(Packet packet, aql::PacketType type) {
    std::byte* const place = ring_.host + written_ * aql::kPacketBytes;
    packet.completion = signal(0);
    packet.header = static_cast<std::uint16_t>(aql::PacketType::invalid);
    std::memcpy(place, static_cast<const void*>(&packet), sizeof(packet));
    std::atomic_ref(*reinterpret_cast<std::uint16_t*>(place)).store(static_cast<std::uint16_t>(type));
    std::atomic_ref(*pointers_.word(8)).store(written_ + 1);
    std::atomic_ref(*doorbell_).store(written_++);  // the index of the packet
  }
  [[nodiscard]] bool finishes() {
    return TestProcess::wait_until([&] { return pointers_.load(0) == written_; });
  }
  /// While another queue does something, which takes longer than a look at the doorbells.
  [[nodiscard]] bool holds() {
    auto other = process_.make_queue(1, 0);
    TestProcess::submit(other, {sdma::Nop{}});
    EXPECT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(other); }));
    return pointers_.load(0) < written_ && value(0) == 1;
  }

  std::vector<std::string> refusals() {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }

 private:
  VirtualKfdOptions refusing(VirtualKfdOptions options) {
    options.refuse = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      refusals_.push_back(line);
    };
    return options;
  }

  std::mutex mutex_;
  std::vector<std::string> refusals_;
  TestProcess process_;
  TestProcess::Block ring_ = process_.allocate_mapped(4096);
  TestProcess::Block pointers_ = process_.allocate_mapped(4096);
  TestProcess::Block signals_ = process_.allocate_mapped(4096);
  std::uint64_t* doorbell_ = nullptr;
  std::uint64_t written_ = 0;
};

TEST(AqlQueue, ABarrierWaitsForAllItsSignals) {
  Program program;
  program.submit(aql::Barrier{.dependencies = {program.signal(1), 0, program.signal(2)}}, aql::PacketType::barrier_and);
  EXPECT_TRUE(program.holds());
  program.set(2, 0);
  EXPECT_TRUE(program.holds());
  program.set(1, 0);
  ASSERT_TRUE(program.finishes());
  EXPECT_EQ(program.value(0), 0);
  EXPECT_LE(program.at(0).begin, program.at(0).end);
}

TEST(AqlQueue, OrOneOfThem) {
  Program program;
  program.submit(aql::Barrier{.dependencies = {program.signal(1), program.signal(2)}}, aql::PacketType::barrier_or);
  EXPECT_TRUE(program.holds());
  program.set(2, 0);
  ASSERT_TRUE(program.finishes());
  program.submit(aql::Barrier{}, aql::PacketType::barrier_or);  // for nothing
  ASSERT_TRUE(program.finishes());
  EXPECT_EQ(program.value(0), -1);
}

TEST(AqlQueue, OrForAValue) {
  Program program;
  aql::BarrierValue barrier{.format = static_cast<std::uint8_t>(aql::VendorFormat::barrier_value),
                            .signal = program.signal(1),
                            .value = 0x100,
                            .mask = 0xff00,
                            .condition = static_cast<std::uint32_t>(aql::Condition::ge)};
  program.submit(barrier, aql::PacketType::vendor);
  EXPECT_TRUE(program.holds());
  program.set(1, 0x2ff);
  ASSERT_TRUE(program.finishes());
}

TEST(AqlQueue, WhoeverSleepsOnTheSignalIsWoken) {
  Program program;
  kfd::CreateEvent created;
  ASSERT_EQ(program.process().call(kfd::Call::create_event, created), 0);
  program.at(0).mailbox = program.signal(7);
  program.at(0).event_id = created.event_id;
  program.submit(aql::Barrier{}, aql::PacketType::barrier_and);
  kfd::EventData data;
  data.event_id = created.event_id;
  kfd::WaitEvents request{reinterpret_cast<std::uintptr_t>(&data), 1, 1, 30'000, 9};
  EXPECT_EQ(program.process().call(kfd::Call::wait_events, request), 0);
  EXPECT_EQ(static_cast<kfd::WaitResult>(request.result), kfd::WaitResult::complete);
  EXPECT_EQ(program.value(0), 0);
  EXPECT_EQ(static_cast<std::uint32_t>(program.at(7).kind), created.event_id);
}

TEST(AqlQueue, KernelsAreRefusedAndNeverCounted) {
  Program program;
  const auto code = program.process().allocate_mapped(4096);
  program.submit(aql::KernelDispatch{.grid_size = {64, 2, 1}, .kernel = code.va, .arguments = code.va},
                 aql::PacketType::kernel_dispatch);
  ASSERT_TRUE(TestProcess::wait_until([&] { return !program.refusals().empty(); }));
  EXPECT_THAT(program.refusals(), ElementsAre(AllOf(HasSubstr("GPU 0 compute queue 0: packet 0 is a kernel"),
                                                    HasSubstr("128 work-items"), HasSubstr("no compute units"))));
  program.submit(aql::Barrier{}, aql::PacketType::barrier_and);
  EXPECT_TRUE(program.holds());
}

TEST(AqlQueue, OtherPacketsAreRefused) {
  for (const unsigned type : {4U, 9U}) {
    Program program;
    program.submit(aql::Barrier{}, static_cast<aql::PacketType>(type));
    ASSERT_TRUE(TestProcess::wait_until([&] { return !program.refusals().empty(); }));
    EXPECT_TRUE(program.holds());
  }
}

TEST(AqlQueue, CommandsThatOnlyInvalidateCachesArePassed) {
  for (const std::uint32_t operation : {aql::kPm4AcquireMem, 0x37U /* WRITE_DATA */}) {
    Program program;
    const auto commands = program.process().allocate_mapped(4096);
    auto* const words = reinterpret_cast<std::uint32_t*>(commands.host);
    words[0] = 3U << 30 | 1U << 16 | operation << 8;
    words[3] = 3U << 30 | 0U << 16 | aql::kPm4Nop << 8;
    program.submit(aql::Pm4{.format = static_cast<std::uint8_t>(aql::VendorFormat::pm4),
                            .base_low = static_cast<std::uint32_t>(commands.va),
                            .base_high = static_cast<std::uint32_t>(commands.va >> 32),
                            .dwords = 5},
                   aql::PacketType::vendor);
    if (operation == aql::kPm4AcquireMem) {
      EXPECT_TRUE(program.finishes());
      EXPECT_THAT(program.refusals(), IsEmpty());
    } else {
      EXPECT_TRUE(TestProcess::wait_until([&] { return !program.refusals().empty(); }));
      EXPECT_EQ(program.value(0), 1);
    }
  }
}

TEST(AqlQueue, SignalsThatAreNotMappedAreExceptions) {
  Program program;
  program.submit(aql::Barrier{.dependencies = {0x700000001000}}, aql::PacketType::barrier_and);
  ASSERT_TRUE(TestProcess::wait_until([&] { return !program.process().log().empty(); }));
  EXPECT_THAT(program.process().log(),
              ElementsAre(HasSubstr("GPU 0 compute queue 0: packet 0: 0x700000001000 is not inside one allocation")));
}

TEST(AqlQueue, RandomOrderKeepsThePacketsInOrder) {
  VirtualKfdOptions options;
  options.runner.seed = 7;
  Program program(std::move(options));
  for (int i = 0; i < 40; ++i) program.submit(aql::Barrier{}, aql::PacketType::barrier_and);
  ASSERT_TRUE(program.finishes());
  EXPECT_EQ(program.value(0), 1 - 40);
}

TEST(AqlQueue, ATooManiethQueueIsRefused) {
  QueueSlots slots(2, 14, 8);
  for (std::uint32_t i = 0; i < QueueSlots::kMostComputeQueues; ++i) {
    ASSERT_TRUE(slots.take(kfd::QueueType::compute_aql, 0));
  }
  EXPECT_FALSE(slots.take(kfd::QueueType::compute_aql, 0));
  EXPECT_TRUE(slots.take(kfd::QueueType::sdma, 0));
}

TEST(AqlQueue, BarriersOrderCopiesForTheRaceChecker) {
  std::vector<std::string> found;
  RaceChecker checker([&](const std::string& race) { found.push_back(race); });
  const auto run = [&](std::uint32_t queue, const sdma::Packet& packet, std::uint64_t index) {
    const SdmaQueue handle{RankId{queue}, EngineId{queue}, queue};
    checker.fetched(handle, packet, {16 * index, index});
    checker.finished(handle, packet, {16 * index, index});
  };
  run(1, sdma::CopyLinear{4096, 0x10000, 0x20000}, 0);
  run(1, sdma::Fence{0x50000, 0}, 1);
  checker.barrier(3, {0x50000}, 0x60000);
  run(2, sdma::PollRegmem{.address = 0x60000, .reference = 0}, 0);
  run(2, sdma::CopyLinear{4096, 0x20000, 0x30000}, 1);
  EXPECT_THAT(found, IsEmpty());
}

}  // namespace aql_queue_test
}  // namespace cortado::device::vkfd
