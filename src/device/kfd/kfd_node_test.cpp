#include "device/kfd/kfd_node.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/kfd/kfd.hpp"
#include "device/kfd/testing/fake_thunk.hpp"

namespace cortado::device {
namespace kfd_node_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Driver> open_fake(FakeThunk& fake) {
  auto node = open_kfd_node(fake.functions());
  if (!node) {
    ADD_FAILURE() << to_string(node.error());
    return nullptr;
  }
  return std::move(*node);
}

void expect_environment(const Diagnostic& error, const std::string& code, const std::string& message) {
  EXPECT_EQ(error.code, code);
  EXPECT_EQ(error.about, About::environment);
  EXPECT_THAT(error.message, HasSubstr(message));
}

// --- Opening ---------------------------------------------------------------------------------------------------------

TEST(KfdOpen, WithoutAGpuNamesTheDeviceFileAndTheCause) {
  FakeThunk fake;
  fake.failing["OpenKFD"] = {HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED, ENOENT};
  const auto node = open_kfd_node(fake.functions());
  ASSERT_FALSE(node.has_value());
  expect_environment(
      node.error(), "device.no_gpu",
      "hsaKmtOpenKFD of /dev/kfd: status 20 (kernel driver not opened), errno 2 (No such file or directory)");
  EXPECT_THAT(node.error().hint, HasSubstr("--on soft"));
  EXPECT_EQ(fake.closes, 0);
}

TEST(KfdOpen, WithoutPermissionTellsTheGroups) {
  FakeThunk fake;
  fake.failing["OpenKFD"] = {HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED, EACCES};
  const auto node = open_kfd_node(fake.functions());
  ASSERT_FALSE(node.has_value());
  expect_environment(node.error(), "device.no_gpu", "errno 13 (Permission denied)");
  EXPECT_THAT(node.error().hint, HasSubstr("render"));
}

TEST(KfdOpen, AnotherOpenerInTheProcessIsFine) {
  FakeThunk fake;
  fake.failing["OpenKFD"] = {HSAKMT_STATUS_KERNEL_ALREADY_OPENED, 0};
  EXPECT_TRUE(open_kfd_node(fake.functions()).has_value());
}

TEST(KfdOpen, NoGpuNodeIsAnEnvironmentError) {
  FakeThunk fake;
  fake.gpus = 0;
  const auto node = open_kfd_node(fake.functions());
  ASSERT_FALSE(node.has_value());
  expect_environment(node.error(), "device.no_gpu", "none of its 1 nodes is a GPU");
  EXPECT_EQ(fake.closes, 1);
  EXPECT_EQ(fake.releases, 1);
}

TEST(KfdOpen, FailedCallsAreNamedAndLeaveNothingOpen) {
  for (const std::string name :
       {"AcquireSystemProperties", "GetVersion", "GetNodeProperties", "GetNodeIoLinkProperties"}) {
    FakeThunk fake;
    fake.failing[name] = {HSAKMT_STATUS_KERNEL_COMMUNICATION_ERROR, 0};
    const auto node = open_kfd_node(fake.functions());
    ASSERT_FALSE(node.has_value()) << name;
    expect_environment(node.error(), "device.topology", "hsaKmt" + name);
    EXPECT_THAT(node.error().message, HasSubstr("status 21 (kernel driver does not answer)"));
    EXPECT_EQ(fake.closes, fake.opens) << name;
    EXPECT_EQ(fake.releases, name == "AcquireSystemProperties" ? 0 : 1) << name;
    EXPECT_TRUE(fake.events.empty()) << name;
  }
}

// On a computer with AMD GPUs this opens them; elsewhere it must be the clean error.
TEST(KfdOpen, ThisComputer) {
  const auto node = open_kfd_node();
  struct stat file {};
  if (node.has_value()) {
    EXPECT_FALSE((*node)->topology().gpus.empty());
  } else {
    EXPECT_EQ(node.error().about, About::environment);
    EXPECT_THAT(node.error().hint, HasSubstr("--on soft"));
    EXPECT_THAT(node.error().message, testing::AnyOf(HasSubstr("/dev/kfd"), HasSubstr("libhsakmt")));
  }
  EXPECT_FALSE(node.has_value() && stat("/dev/kfd", &file) != 0);
}

// --- Topology --------------------------------------------------------------------------------------------------------

TEST(KfdTopology, GpusEnginesAndRecommendedMasks) {
  FakeThunk fake;
  fake.gpus = 3;
  const auto node = open_fake(fake);
  const Topology& topology = node->topology();
  EXPECT_EQ(topology.node, "KFD 1.17: 3 GPUs (AMD Instinct MI300X), queues by engine");
  EXPECT_FALSE(topology.compute);
  EXPECT_FALSE(topology.near_memory_compute);
  ASSERT_EQ(topology.gpus.size(), 3U);
  for (const GpuInfo& gpu : topology.gpus) {
    EXPECT_EQ(gpu.queues_per_engine, 2U);
    ASSERT_EQ(gpu.engines.size(), 6U);
    for (std::uint32_t i = 0; i < 6; ++i) {
      EXPECT_EQ(gpu.engines[i].id, EngineId{i});
      EXPECT_EQ(gpu.engines[i].kind, i < 2 ? EngineClass::host : EngineClass::peer);
    }
  }
  for (std::uint32_t src = 0; src < 3; ++src) {
    for (std::uint32_t dst = 0; dst < 3; ++dst) {
      EXPECT_EQ(topology.recommended[src][dst], src == dst ? 0U : fake.mask(src, dst)) << src << " to " << dst;
    }
  }
}

TEST(KfdTopology, OldKernelOrLibraryRecommendsNothing) {
  for (const bool old_kernel : {true, false}) {
    FakeThunk fake;
    if (old_kernel) fake.version = {1, 16};
    fake.has_queue_ext = old_kernel;
    const auto node = open_fake(fake);
    EXPECT_THAT(node->topology().node, HasSubstr("engines chosen by the kernel"));
    EXPECT_THAT(node->topology().recommended, testing::Each(testing::Each(0U)));
  }
}

TEST(KfdTopology, InternalNameIfThereIsNoPublicOne) {
  FakeThunk fake;
  fake.name.clear();
  EXPECT_EQ(open_fake(fake)->topology().gpus[0].name, "ip discovery");
}

// --- Memory ----------------------------------------------------------------------------------------------------------

TEST(KfdMemory, IsOnItsNodeAndMappedToAllGpus) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const auto on_gpu = node->allocate({.home = RankId{1}, .bytes = Bytes{5000}});
  const auto on_host = node->allocate({.home = std::nullopt, .bytes = Bytes{64}});
  ASSERT_TRUE(on_gpu && on_host);
  EXPECT_EQ(on_gpu->bytes, Bytes{5000});
  const FakeThunk::Allocation& gpu = fake.allocations.at(on_gpu->data);
  EXPECT_EQ(gpu.node, FakeThunk::node_of(1));
  EXPECT_EQ(gpu.bytes, 8192U);  // whole pages
  const FakeThunk::Allocation& host = fake.allocations.at(on_host->data);
  EXPECT_EQ(host.node, 0U);
  EXPECT_EQ(gpu.flags.ui32.NoSubstitute, 1U);
  EXPECT_EQ(host.flags.ui32.NoSubstitute, 0U);
  for (const FakeThunk::Allocation* each : {&gpu, &host}) {
    EXPECT_THAT(each->mapped_to, ElementsAre(FakeThunk::node_of(0), FakeThunk::node_of(1)));
    EXPECT_EQ(each->flags.ui32.NonPaged, 1U);
    EXPECT_EQ(each->flags.ui32.HostAccess, 1U);
    EXPECT_EQ(each->flags.ui32.Uncached, 1U);
    EXPECT_EQ(each->flags.ui32.CoarseGrain, 0U);
    EXPECT_EQ(each->flags.ui32.ExecuteAccess, 0U);
  }
  node->release(*on_gpu);
  node->release(*on_host);
  EXPECT_TRUE(fake.allocations.empty());
}

TEST(KfdMemory, LargerAlignmentThanAPage) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const auto memory = node->allocate({.home = RankId{0}, .bytes = Bytes{4096}, .alignment = Bytes{65536}});
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->address() % 65536, 0U);
  // 4096 + (65536 - 4096): any page may be the aligned one.
  EXPECT_EQ(fake.allocations.begin()->second.bytes, 65536U);
  node->release(*memory);
  EXPECT_TRUE(fake.allocations.empty());
}

TEST(KfdMemory, BadRequestsAreUserErrors) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_EQ(node->allocate({.home = RankId{0}, .bytes = Bytes{0}}).error().code, "device.memory");
  EXPECT_EQ(node->allocate({.home = RankId{0}, .bytes = Bytes{huge}}).error().code, "device.memory");
  EXPECT_EQ(node->allocate({.home = RankId{2}, .bytes = Bytes{1}}).error().code, "device.gpus");
  EXPECT_EQ(node->allocate({.home = RankId{0}, .bytes = Bytes{1}, .alignment = Bytes{5000}}).error().code,
            "device.memory");
  EXPECT_TRUE(fake.allocations.empty());
}

TEST(KfdMemory, FailuresNameCallStatusAndPlace) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  fake.failing["AllocMemory"] = {HSAKMT_STATUS_NO_MEMORY, 0};
  expect_environment(node->allocate({.home = RankId{1}, .bytes = Bytes{4096}}).error(), "device.memory",
                     "hsaKmtAllocMemory of 4096 bytes on GPU 1 (node 2): status 6 (no memory)");
  fake.failing.clear();
  fake.failing["MapMemoryToGPUNodes"] = {HSAKMT_STATUS_ERROR, EINVAL};
  expect_environment(
      node->allocate({.home = RankId{1}, .bytes = Bytes{4096}}).error(), "device.memory",
      "hsaKmtMapMemoryToGPUNodes of 4096 bytes to 2 GPUs: status 1 (error), errno 22 (Invalid argument), "
      "memory on GPU 1");
  EXPECT_TRUE(fake.allocations.empty());  // nothing is left behind
}

TEST(KfdMemory, GpusThatSeeAnotherAddressAreRefused) {
  FakeThunk fake;
  fake.split_addresses = true;
  const auto node = open_fake(fake);
  expect_environment(node->allocate({.home = RankId{0}, .bytes = Bytes{4096}}).error(), "device.memory", "at 0x1000");
  EXPECT_TRUE(fake.allocations.empty());
}

// --- Queues ----------------------------------------------------------------------------------------------------------

TEST(KfdQueue, IsMadeOnTheEngineAskedFor) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const auto queue = node->create_sdma_queue({RankId{1}, EngineId{4}, Bytes{65536}});
  ASSERT_TRUE(queue) << to_string(queue.error());
  ASSERT_EQ(fake.queue_calls.size(), 1U);
  const FakeThunk::QueueCall& call = fake.queue_calls[0];
  EXPECT_EQ(call.node, FakeThunk::node_of(1));
  EXPECT_EQ(static_cast<int>(call.type), 6);
  EXPECT_EQ(call.engine, 4);
  EXPECT_EQ(call.percentage, 100U);
  EXPECT_EQ(call.priority, HSA_QUEUE_PRIORITY_MAXIMUM);
  EXPECT_EQ(call.ring, (*queue)->ring);
  EXPECT_EQ(call.ring_bytes, 65536U);
  const FakeThunk::Allocation& ring = fake.allocations.at((*queue)->ring);
  EXPECT_EQ(ring.bytes, 65536U);  // the kernel wants a mapping of exactly the ring
  EXPECT_EQ(ring.flags.ui32.ExecuteAccess, 1U);
  EXPECT_EQ(ring.flags.ui32.Uncached, 1U);
  EXPECT_EQ((*queue)->gpu, RankId{1});
  EXPECT_EQ((*queue)->engine, EngineId{4});
  node->destroy(*queue);
  EXPECT_TRUE(fake.queues.empty());
  EXPECT_TRUE(fake.allocations.empty());
}

TEST(KfdQueue, OldLibraryGetsQueuesOfTheEngineClass) {
  FakeThunk fake;
  fake.has_queue_ext = false;
  const auto node = open_fake(fake);
  ASSERT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{1}, Bytes{4096}}));
  ASSERT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{3}, Bytes{4096}}));
  EXPECT_EQ(fake.queue_calls[0].type, HSA_QUEUE_SDMA);
  EXPECT_EQ(fake.queue_calls[1].type, HSA_QUEUE_SDMA_XGMI);
  EXPECT_EQ(fake.queue_calls[1].engine, -1);
}

TEST(KfdQueue, SlotsOfAnEngineAreFinite) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const SdmaQueueRequest request{RankId{0}, EngineId{4}, Bytes{4096}};
  const auto first = node->create_sdma_queue(request);
  ASSERT_TRUE(first && node->create_sdma_queue(request));
  const auto third = node->create_sdma_queue(request);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, "device.queue");
  EXPECT_THAT(third.error().message, HasSubstr("no free queue slot on engine 4: all 2 are in use"));
  EXPECT_TRUE(node->create_sdma_queue({RankId{1}, EngineId{4}, Bytes{4096}}));  // another GPU
  EXPECT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{5}, Bytes{4096}}));  // another engine
  node->destroy(*first);
  EXPECT_TRUE(node->create_sdma_queue(request));
}

TEST(KfdQueue, WhereTheKernelChoosesTheClassSharesItsSlots) {
  FakeThunk fake;
  fake.has_queue_ext = false;
  const auto node = open_fake(fake);
  // Four engines for peers with two slots each: eight queues, whichever engine they name.
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{4096}})) << i;
  EXPECT_THAT(node->create_sdma_queue({RankId{0}, EngineId{5}, Bytes{4096}}).error().message, HasSubstr("all 8"));
  EXPECT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{0}, Bytes{4096}}));  // the other class
}

TEST(KfdQueue, SlotsHeldByOtherProcesses) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  fake.failing["CreateQueue"] = {HSAKMT_STATUS_ERROR, ENOMEM};
  const auto queue = node->create_sdma_queue({RankId{0}, EngineId{4}, Bytes{4096}});
  ASSERT_FALSE(queue);
  expect_environment(queue.error(), "device.queue",
                     "hsaKmtCreateQueueExt on engine 4 of GPU 0 (node 1): status 1 (error), errno 12");
  EXPECT_THAT(queue.error().hint, HasSubstr("other processes"));
  EXPECT_TRUE(fake.allocations.empty());  // the ring is gone again
}

TEST(KfdQueue, BadRequestsAreUserErrors) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const auto code = [&](std::uint32_t gpu, std::uint32_t engine, std::uint64_t bytes) {
    const auto queue = node->create_sdma_queue({RankId{gpu}, EngineId{engine}, Bytes{bytes}});
    return queue ? "none" : queue.error().code;
  };
  EXPECT_EQ(code(2, 0, 4096), "device.gpus");
  EXPECT_EQ(code(0, 6, 4096), "device.engine");
  EXPECT_EQ(code(0, 0, 0), "device.queue");
  EXPECT_EQ(code(0, 0, 2048), "device.queue");
  EXPECT_EQ(code(0, 0, 12288), "device.queue");
  EXPECT_EQ(code(0, 0, std::uint64_t{1} << 32), "device.queue");
  EXPECT_TRUE(fake.queue_calls.empty());
}

TEST(KfdQueue, DoorbellAnnouncesTheSameOffsetTwice) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  SdmaQueue& queue = **node->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{4096}});
  FakeThunk::Queue& behind = *fake.queues.begin()->second;
  EXPECT_EQ(node->state(queue).doing, "idle");
  node->ring_doorbell(queue, 0x1'0000'0040);  // monotonic 64-bit byte offset
  EXPECT_EQ(behind.write_pointer, 0x1'0000'0040U);
  EXPECT_EQ(behind.doorbell, 0x1'0000'0040U);
  behind.read_pointer = 0x1'0000'0020;
  const QueueState state = node->state(queue);
  EXPECT_EQ(state.read_offset, 0x1'0000'0020U);
  EXPECT_EQ(state.write_offset, 0x1'0000'0040U);
  EXPECT_EQ(state.doing, "32 bytes of packets not yet read");
}

// Packets written before the doorbell are there when another thread sees the doorbell.
TEST(KfdQueue, DoorbellPublishesThePackets) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  SdmaQueue& queue = **node->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{4096}});
  auto* const ring = reinterpret_cast<std::uint32_t*>(queue.ring);
  std::uint32_t seen = 0;
  std::thread engine([&] {
    while (std::atomic_ref(*queue.doorbell).load(std::memory_order_acquire) == 0) node->assist();
    seen = ring[0];
  });
  ring[0] = 0xcafe;
  node->ring_doorbell(queue, 4);
  engine.join();
  EXPECT_EQ(seen, 0xcafeU);
}

TEST(KfdQueue, ComputeQueuesAreRefused) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const auto queue = node->create_compute_queue(RankId{1}, 0);
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().code, "device.compute");
  EXPECT_THAT(queue.error().message, HasSubstr("no compute queue on GPU 1"));
  EXPECT_THAT(queue.error().hint, HasSubstr("--on soft"));
}

TEST(KfdQueue, TrackersAreRefused) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  EXPECT_FALSE(node->topology().tracker.has_value());
  const auto tracker = node->create_tracker({.gpu = RankId{1}, .region = {}});
  ASSERT_FALSE(tracker);
  EXPECT_EQ(tracker.error().code, "device.tracker");
  EXPECT_THAT(tracker.error().message, HasSubstr("no hardware exists that counts updates"));
}

// --- Events, faults, clock, closing ----------------------------------------------------------------------------------

TEST(KfdEvent, HasAnIdAndAMailboxAndWaitsInMilliseconds) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const auto event = node->create_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(fake.events.count(event->id), 1U);
  ASSERT_NE(event->mailbox, nullptr);
  EXPECT_TRUE(node->wait(*event, std::chrono::microseconds(1500)));
  fake.failing["WaitOnEvent"] = {HSAKMT_STATUS_WAIT_TIMEOUT, 0};
  EXPECT_FALSE(node->wait(*event, std::chrono::nanoseconds(0)));
  EXPECT_FALSE(node->wait(*event, std::chrono::hours(24 * 365)));
  EXPECT_THAT(fake.waits, ElementsAre(2U, 0U, 86'400'000U));  // rounded up; at most a day
  node->destroy(*event);
  EXPECT_EQ(fake.events.count(event->id), 0U);
}

TEST(KfdEvent, FailureIsAnEnvironmentError) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  fake.failing["CreateEvent"] = {HSAKMT_STATUS_OUT_OF_RESOURCES, 0};
  expect_environment(node->create_event().error(), "device.event", "hsaKmtCreateEvent: status 13 (out of resources)");
}

TEST(KfdFaults, AMemoryExceptionIsReportedOnce) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  EXPECT_TRUE(node->faults().empty());
  HsaMemoryAccessFault fault{};
  fault.NodeId = FakeThunk::node_of(1);
  fault.VirtualAddress = 0x7f0000001000;
  fault.Failure.NotPresent = 1;
  fake.memory_exceptions.push_back(fault);
  for (int i = 0; i < 2; ++i) {
    const auto faults = node->faults();
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults[0].kind, FaultKind::bad_address);
    EXPECT_EQ(faults[0].gpu, RankId{1});
    EXPECT_EQ(faults[0].address, 0x7f0000001000U);
    EXPECT_THAT(faults[0].message, HasSubstr("page not present"));
  }
}

TEST(KfdFaults, ADriverWithoutTheEventHasNone) {
  FakeThunk fake;
  fake.failing["CreateMemoryEvent"] = {HSAKMT_STATUS_NOT_SUPPORTED, 0};
  fake.memory_exceptions.emplace_back();
  EXPECT_TRUE(open_fake(fake)->faults().empty());
}

TEST(KfdClock, RateFollowsFromTheSystemClock) {
  FakeThunk fake;
  const auto node = open_fake(fake);
  const DeviceClock clock = node->clock();
  EXPECT_EQ(clock.ticks_per_second, 100'000'000U);
  // Second reading: 20 ms of system time are 2,000,000 ticks, on top of the fake's 5,000.
  EXPECT_EQ(clock.now, 2'005'000U);
}

TEST(KfdClock, WithoutCountersThereIsNoRate) {
  FakeThunk fake;
  fake.failing["GetClockCounters"] = {HSAKMT_STATUS_NOT_SUPPORTED, 0};
  EXPECT_EQ(open_fake(fake)->clock().ticks_per_second, 0U);
}

TEST(KfdClose, GivesEverythingBack) {
  FakeThunk fake;
  auto node = open_fake(fake);
  ASSERT_TRUE(node->allocate({.home = RankId{0}, .bytes = Bytes{4096}}));
  ASSERT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{4096}}));
  ASSERT_TRUE(node->create_event());
  node.reset();
  EXPECT_TRUE(fake.allocations.empty());
  EXPECT_TRUE(fake.queues.empty());
  EXPECT_TRUE(fake.events.empty());
  EXPECT_EQ(fake.releases, 1);
  EXPECT_EQ(fake.closes, 1);
}

}  // namespace kfd_node_test
}  // namespace cortado::device
