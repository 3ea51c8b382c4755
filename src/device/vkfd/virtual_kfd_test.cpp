#include "device/vkfd/virtual_kfd.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/abi/drm_abi.hpp"
#include "device/vkfd/process_testing.hpp"

namespace cortado::device::vkfd {
namespace virtual_kfd_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(VirtualKfd, UnknownCallsAreRefusedAndSaidOnce) {
  TestProcess process("mi300x-8");
  std::uint64_t nothing = 0;
  EXPECT_EQ(process.driver().ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', 0x77, 8), &nothing), ENOTTY);
  EXPECT_THAT(process.log(), ElementsAre("ioctl 0x77 of /dev/kfd is not supported here: ENOTTY"));
  EXPECT_EQ(process.driver().render_ioctl(0, _IOC(_IOC_READ, 'd', 0x2d, 8), &nothing), ENOTTY);
}

TEST(VirtualKfd, ArgumentsOfOlderAndNewerProgramsAreTakenByTheirSize) {
  TestProcess process("mi300x-8");
  const auto ring = process.allocate_mapped(4096);
  const auto pointers = process.allocate_mapped(4096);
  // Before 1.17 the struct ended with 88 bytes; what follows in the caller's memory is not ours.
  struct {
    kfd::CreateQueue request;
    std::uint64_t behind = 0x1234;
  } old{TestProcess::queue_request(ring, pointers, 0, kfd::QueueType::sdma_xgmi, 0xffffffff)};
  EXPECT_EQ(process.driver().ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', 0x02, 88), &old.request), 0);
  EXPECT_EQ(old.request.sdma_engine_id, 0xffffffffU);
  EXPECT_EQ(old.behind, 0x1234U);
  std::array<std::uint64_t, 4> longer{1, 2, 3, 4};
  EXPECT_EQ(process.driver().ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', 0x01, 32), longer.data()), 0);
  EXPECT_THAT(longer, ElementsAre(1 | std::uint64_t{17} << 32, 2, 3, 4));
}

TEST(VirtualKfd, AddressesThatAreNotMappedAreErrorsOfTheCall) {
  TestProcess process("mi300x-8");
  const auto memory = process.allocate(4096);
  const std::uintptr_t nowhere = 0x1000;
  for (const std::uintptr_t address : {std::uintptr_t{0}, nowhere, ~std::uintptr_t{0} - 3}) {
    EXPECT_EQ(
        process.driver().ioctl(kfd::request<kfd::GetVersion>(kfd::Call::get_version), reinterpret_cast<void*>(address)),
        EFAULT);
    EXPECT_EQ(process.driver().render_ioctl(0, _IOC(_IOC_READ | _IOC_WRITE, 'd', drm::kVersionCall, 64),
                                            reinterpret_cast<void*>(address)),
              EFAULT);
  }
  // Addresses within arguments.
  kfd::GetApertures apertures{nowhere, 8, 0};
  EXPECT_EQ(process.call(kfd::Call::get_apertures, apertures), EFAULT);
  kfd::MapMemory mapping{memory.handle, nowhere, 1, 0};
  EXPECT_EQ(process.call(kfd::Call::map_memory, mapping), EFAULT);
  kfd::WaitEvents waiting{nowhere, 1, 0, 0, 0};
  EXPECT_EQ(process.call(kfd::Call::wait_events, waiting), EFAULT);
  drm::Info info{reinterpret_cast<void*>(nowhere), 4, static_cast<std::uint32_t>(drm::Query::accel_working)};
  EXPECT_EQ(process.driver().render_ioctl(0, _IOC(_IOC_WRITE, 'd', drm::kInfoCall, 32), &info), EFAULT);
  // An argument on two pages, the second of which is missing, and one that cannot be written.
  auto* const pages =
      static_cast<std::byte*>(::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::munmap(pages + kPage, kPage), 0);
  const unsigned long version = kfd::request<kfd::GetVersion>(kfd::Call::get_version);
  EXPECT_EQ(process.driver().ioctl(version, pages + kPage - 4), EFAULT);
  EXPECT_EQ(process.driver().ioctl(version, pages + kPage - 8), 0);
  std::memset(pages, 0, kPage);
  ASSERT_EQ(::mprotect(pages, kPage, PROT_READ), 0);
  EXPECT_EQ(process.driver().ioctl(version, pages), EFAULT);
  ::munmap(pages, kPage);
}

TEST(VirtualKfd, MachinesWithoutAnAmdDriverAreRefused) {
  const auto driver = VirtualKfd::create(load_machine("h100-8").value(), {});
  ASSERT_FALSE(driver.has_value());
  EXPECT_EQ(driver.error().code, "vkfd.machine");
}

// --- Memory ----------------------------------------------------------------------------------------------------------

TEST(VirtualKfdMemory, EnginesReachWhatIsMappedToTheirGpuOnly) {
  TestProcess process("mi300x-8");
  const auto src = process.allocate(4096);
  const auto dst = process.allocate(4096, 1);
  ASSERT_EQ(process.map(src, {0, 1}), 0);
  ASSERT_EQ(process.map(dst, {0}), 0);
  ASSERT_EQ(process.map(dst, {0}), 0);  // twice is fine
  std::memset(src.host, 5, 4096);
  auto first = process.make_queue(0, 14);
  TestProcess::submit(first, {sdma::CopyLinear{4096, src.va, dst.va}, sdma::Nop{}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(first); }));
  EXPECT_EQ(dst.host[4095], std::byte{5});
  auto second = process.make_queue(1, 14);
  TestProcess::submit(second, {sdma::CopyLinear{4096, src.va, dst.va}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return !process.log().empty(); }));
  EXPECT_THAT(process.log()[0], AllOf(HasSubstr("GPU 1 engine 14"), HasSubstr("destination")));
  ASSERT_EQ(process.map(src, {0}, kfd::Call::unmap_memory), 0);
  TestProcess::submit(first, {sdma::CopyLinear{4096, src.va, dst.va}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return process.log().size() == 2; }));
  EXPECT_THAT(process.log()[1], AllOf(HasSubstr("GPU 0 engine 14"), HasSubstr("source")));
}

TEST(VirtualKfdMemory, MemoryOfTheProgramMayHaveAnotherAddressOnTheGpu) {
  TestProcess process("mi300x-8");
  alignas(4096) static std::byte mine[8192];
  kfd::AllocMemory request{
      0x600000000000, 8192, 0, reinterpret_cast<std::uintptr_t>(mine), gpu_id(2), kfd::kMemUserptr | kfd::kMemWritable};
  ASSERT_EQ(process.call(kfd::Call::alloc_memory, request), 0);
  ASSERT_EQ(process.map({mine, request.va, 8192, request.handle}, {2}), 0);
  mine[0] = std::byte{42};
  auto queue = process.make_queue(2, 0);
  // A fence in the same memory: the thread sanitizer does not follow words that program and engine see at two
  // addresses.
  auto& done = reinterpret_cast<std::uint32_t&>(mine[4096]);
  TestProcess::submit(queue, {sdma::CopyLinear{1, request.va, request.va + 5000}, sdma::Fence{request.va + 4096, 1}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return std::atomic_ref(done).load(std::memory_order_acquire) == 1; }));
  EXPECT_EQ(mine[5000], std::byte{42});
}

TEST(VirtualKfdMemory, UnknownHandlesAndGpusAreRefused) {
  TestProcess process("mi300x-8");
  kfd::FreeMemory none{77};
  EXPECT_EQ(process.call(kfd::Call::free_memory, none), EINVAL);
  const auto block = process.allocate(4096);
  EXPECT_EQ(process.map(block, {0, 9}), EINVAL);
  EXPECT_EQ(process.free(block), 0);
  EXPECT_EQ(process.call(kfd::Call::free_memory, none), EINVAL);
}

// --- Queues ----------------------------------------------------------------------------------------------------------

TEST(VirtualKfdQueue, SlotsAreGivenAsTheKernelGivesThem) {
  QueueSlots slots(2, 14, 8);
  // In order, engine by engine: Latte relies on it.
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(slots.take(kfd::QueueType::sdma, 0)->engine, i % 2);
  for (std::uint32_t i = 0; i < 15; ++i) EXPECT_EQ(slots.take(kfd::QueueType::sdma_xgmi, 0)->engine, 2 + i % 14);
  EXPECT_EQ(slots.take(kfd::QueueType::sdma_by_engine, 16).error(), EINVAL);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(slots.take(kfd::QueueType::sdma_by_engine, 5)->engine, 5U);
  EXPECT_EQ(slots.take(kfd::QueueType::sdma_by_engine, 5).error(), ENOMEM);  // never another engine
  EXPECT_TRUE(slots.take(kfd::QueueType::sdma_by_engine, 6));
}

TEST(VirtualKfdQueue, DoorbellsAreRecycledAndTheLowHalfOfTheirOffsetIsTheWord) {
  TestProcess process("mi300x-8");
  for (int i = 0; i < 1500; ++i) {
    const auto queue = process.make_queue(3, 4);
    ASSERT_EQ(queue.doorbell_offset & 0xffffffff, 0U);  // slot 0 again
    ASSERT_EQ(process.destroy(queue), 0);
  }
}

TEST(VirtualKfdQueue, ARecycledDoorbellSaysNothing) {
  TestProcess process("mi300x-8");
  auto first = process.make_queue(0, 4);
  TestProcess::submit(first, {sdma::Nop{}, sdma::Nop{}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(first); }));
  ASSERT_EQ(process.destroy(first), 0);
  const auto second = process.make_queue(0, 4);
  EXPECT_EQ(std::atomic_ref(*second.doorbell).load(), 0U);
  EXPECT_EQ(second.pointers.load(0), 0U);
}

TEST(VirtualKfdQueue, DestroyWaitsUntilTheEngineIsDone) {
  TestProcess process("mi300x-8");
  const auto memory = process.allocate_mapped(64 << 20);
  for (int i = 0; i < 5; ++i) {
    auto queue = process.make_queue(0, 4);
    TestProcess::submit(queue, {sdma::CopyLinear{32 << 20, memory.va, memory.va + (32 << 20)}});
    ASSERT_EQ(process.destroy(queue), 0);  // and its ring is unmapped
  }
  EXPECT_EQ(process.free(memory), 0);
  EXPECT_TRUE(process.log().empty());
}

TEST(VirtualKfdQueue, ManyThreadsUseTheDriver) {
  TestProcess process("mi300x-8");
  std::vector<std::thread> threads;
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    threads.emplace_back([&process, gpu] {
      for (std::uint32_t i = 0; i < 30; ++i) {
        const auto memory = process.allocate_mapped(65536, gpu);
        auto queue = process.make_queue(gpu, i % 16);
        *memory.word(0) = i + 1;
        TestProcess::submit(queue, {sdma::CopyLinear{32768, memory.va, memory.va + 32768}, sdma::Nop{}});
        EXPECT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queue); }));
        EXPECT_EQ(memory.load(4096), i + 1);
        EXPECT_EQ(process.destroy(queue), 0);
        EXPECT_EQ(process.free(memory), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(process.log().empty());
}

TEST(VirtualKfdQueue, RingsAndPointersAreMappingsOfTheirOwn) {
  TestProcess process("mi300x-8");
  const auto ring = process.allocate_mapped(8192);
  const auto pointers = process.allocate_mapped(4096);
  const auto make = [&](auto&& change) {
    auto request = TestProcess::queue_request(ring, pointers, 0, kfd::QueueType::sdma_by_engine, 2);
    change(request);
    return process.call(kfd::Call::create_queue, request);
  };
  EXPECT_EQ(make([](auto& request) { request.ring_size = 4096; }), EINVAL);
  EXPECT_EQ(make([](auto& request) { request.ring_size = 12288; }), EINVAL);
  EXPECT_EQ(make([](auto& request) { request.ring_base += 4096; }), EINVAL);
  EXPECT_EQ(make([&](auto& request) { request.read_pointer = ring.va; }), EINVAL);
  EXPECT_EQ(make([](auto& request) { request.write_pointer += 4096; }), EINVAL);
  EXPECT_EQ(make([](auto& request) { request.percentage = 101; }), EINVAL);
  EXPECT_EQ(make([](auto& request) { request.priority = 16; }), EINVAL);
  EXPECT_EQ(make([](auto& request) { request.gpu_id = 5; }), EINVAL);
  EXPECT_EQ(make([](auto& request) { request.type = 0; }), EINVAL);
  EXPECT_THAT(process.log().back(), HasSubstr("no compute units"));
  EXPECT_EQ(make([](auto&) {}), 0);
}

TEST(VirtualKfdQueue, AQueueOnAnEngineThatSiliconLacksNeverRuns) {
  TestProcess process("mi308x-8");
  auto queue = process.make_queue(0, 3);
  EXPECT_THAT(process.log(), ElementsAre(AllOf(HasSubstr("engine 3"), HasSubstr("will never run"))));
  auto present = process.make_queue(0, 2);
  TestProcess::submit(queue, {sdma::Nop{}});
  TestProcess::submit(present, {sdma::Nop{}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(present) && process.log().size() == 2; }));
  EXPECT_THAT(process.log()[1], HasSubstr("GPU 0 engine 3 queue 0: packet 0 at ring offset 0x0 is never fetched"));
  EXPECT_EQ(queue.pointers.load(0), 0U);
}

TEST(VirtualKfdQueue, AQueueTooManyIsRefused) {
  TestProcess process("mi300x-8");
  for (int i = 0; i < 8; ++i) process.make_queue(0, 5);
  const auto ring = process.allocate_mapped(4096);
  const auto pointers = process.allocate_mapped(4096);
  auto request = TestProcess::queue_request(ring, pointers, 0, kfd::QueueType::sdma_by_engine, 5);
  EXPECT_EQ(process.call(kfd::Call::create_queue, request), ENOMEM);
  EXPECT_THAT(process.log(), ElementsAre(AllOf(HasSubstr("engine 5 is refused"), HasSubstr("no free slot"))));
  request.sdma_engine_id = 16;
  EXPECT_EQ(process.call(kfd::Call::create_queue, request), EINVAL);
  EXPECT_THAT(process.log().back(), HasSubstr("no such engine"));
}

TEST(VirtualKfdQueue, EnginesForTheHostThatReachForPeersAreReportedOnce) {
  TestProcess process("mi300x-8");
  const auto mine = process.allocate_mapped(4096, 0);
  const auto peer = process.allocate_mapped(4096, 3);
  auto queue = process.make_queue(0, 1);
  TestProcess::submit(queue, {sdma::CopyLinear{64, mine.va, mine.va + 64}, sdma::CopyLinear{64, mine.va, peer.va},
                              sdma::CopyLinear{64, peer.va, mine.va}, sdma::Nop{}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queue); }));
  EXPECT_THAT(process.log(), ElementsAre(AllOf(HasSubstr("GPU 0 engine 1 queue 0: packet 1 at ring offset 0x1c"),
                                               HasSubstr("is memory of GPU 3"))));
}

TEST(VirtualKfdQueue, AddressesThatPacketsCannotNameStopTheQueue) {
  TestProcess process("mi300x-8");
  const auto memory = process.allocate_mapped(4096);
  const sdma::Packet packets[] = {sdma::CopyBroadcast{64, memory.va, memory.va + 128, memory.va + 200},
                                  sdma::Timestamp{sdma::TimestampOp::get_global, memory.va + 8}};
  const char* const messages[] = {"are not equal modulo 32", "is not 32-byte aligned"};
  for (std::size_t i = 0; i < 2; ++i) {
    auto queue = process.make_queue(0, 2);
    TestProcess::submit(queue, {sdma::Nop{}, packets[i]});
    ASSERT_TRUE(TestProcess::wait_until([&] { return process.log().size() == i + 1; }));
    EXPECT_THAT(process.log()[i], AllOf(HasSubstr("packet 1 at ring offset 0x4: "), HasSubstr(messages[i])));
  }
}

// --- Faults on purpose -----------------------------------------------------------------------------------------------

TEST(VirtualKfdFaults, ALostInterruptWakesNobody) {
  VirtualKfdOptions options;
  options.faults.lost_interrupts.push_back({RankId{0}, EngineId{2}, 1});
  TestProcess process("mi300x-8", std::move(options));
  kfd::CreateEvent created;
  created.auto_reset = 1;
  ASSERT_EQ(process.call(kfd::Call::create_event, created), 0);
  kfd::EventData data;
  data.event_id = created.event_id;
  auto queue = process.make_queue(0, 2);
  const auto trap_and_wait = [&] {
    TestProcess::submit(queue, {sdma::Trap{created.event_id}, sdma::Nop{}});
    EXPECT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queue); }));
    kfd::WaitEvents request{reinterpret_cast<std::uintptr_t>(&data), 1, 1, 0, 9};
    EXPECT_EQ(process.call(kfd::Call::wait_events, request), 0);
    return static_cast<kfd::WaitResult>(request.result);
  };
  EXPECT_EQ(trap_and_wait(), kfd::WaitResult::complete);
  EXPECT_EQ(trap_and_wait(), kfd::WaitResult::timeout);
  EXPECT_EQ(trap_and_wait(), kfd::WaitResult::complete);
}

TEST(VirtualKfdFaults, ASlowEngineStillFinishes) {
  for (const bool adversarial : {false, true}) {
    VirtualKfdOptions options;
    options.faults.slow_engines.push_back({RankId{0}, EngineId{2}, 20});
    if (adversarial) options.runner.seed = 3;
    TestProcess process("mi300x-8", std::move(options));
    const auto memory = process.allocate_mapped(2 << 20);
    *memory.word(0) = 77;
    auto queue = process.make_queue(0, 2);
    TestProcess::submit(queue, {sdma::CopyLinear{1 << 20, memory.va, memory.va + (1 << 20)}, sdma::Nop{}});
    ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queue); }));
    EXPECT_EQ(memory.load((1 << 20) / 8), 77U);
  }
}

TEST(VirtualKfdQueue, CopiesOverTheLimitOfTheMachineStopTheQueue) {
  TestProcess process("mi355x-8");
  const auto memory = process.allocate_mapped(512 << 20);
  auto queue = process.make_queue(0, 2);
  TestProcess::submit(queue, {sdma::CopyLinear{256 << 20, memory.va, memory.va + (256 << 20)}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return !process.log().empty(); }));
  EXPECT_THAT(process.log()[0], HasSubstr("268435456 bytes in one packet"));
  EXPECT_FALSE(TestProcess::finished(queue));
}

// --- Events and clocks -----------------------------------------------------------------------------------------------

TEST(VirtualKfdEvents, SignalsHaveAPageAndASlot) {
  TestProcess process("mi300x-8");
  kfd::CreateEvent request;
  ASSERT_EQ(process.call(kfd::Call::create_event, request), 0);
  EXPECT_NE(request.page_offset, 0U);  // otherwise libraries emit no TRAP
  EXPECT_LT(request.slot, kfd::kMostSignals);
  EXPECT_EQ(request.trigger_data, request.event_id);
}

TEST(VirtualKfdEvents, TrapsWakeAndAgesTell) {
  TestProcess process("mi300x-8");
  kfd::CreateEvent created;
  created.auto_reset = 1;
  ASSERT_EQ(process.call(kfd::Call::create_event, created), 0);
  kfd::EventData data;
  data.event_id = created.event_id;
  const auto wait = [&](std::uint32_t milliseconds) {
    kfd::WaitEvents request{reinterpret_cast<std::uintptr_t>(&data), 1, 1, milliseconds, 9};
    EXPECT_EQ(process.call(kfd::Call::wait_events, request), 0);
    return static_cast<kfd::WaitResult>(request.result);
  };
  EXPECT_EQ(wait(0), kfd::WaitResult::timeout);
  auto queue = process.make_queue(0, 0);
  TestProcess::submit(queue, {sdma::Trap{created.event_id}});
  EXPECT_EQ(wait(kfd::kForever), kfd::WaitResult::complete);
  EXPECT_EQ(wait(1), kfd::WaitResult::timeout);
  data.last_age = 1;  // of before the trap
  EXPECT_EQ(wait(0), kfd::WaitResult::complete);
  EXPECT_EQ(data.last_age, 2U);
  EXPECT_EQ(wait(0), kfd::WaitResult::timeout);
}

TEST(VirtualKfdClock, TimestampsAndCountersAreOneClock) {
  TestProcess process("mi300x-8");
  const auto memory = process.allocate_mapped(4096);
  const auto now = [&] {
    kfd::ClockCounters counters;
    counters.gpu_id = gpu_id(0);
    EXPECT_EQ(process.call(kfd::Call::get_clock_counters, counters), 0);
    return counters.gpu;
  };
  auto queue = process.make_queue(0, 0);
  const std::uint64_t before = now();
  TestProcess::submit(queue, {sdma::Timestamp{sdma::TimestampOp::get_global, memory.va}});
  ASSERT_TRUE(TestProcess::wait_until([&] { return TestProcess::finished(queue); }));
  EXPECT_GE(memory.load(0), before);
  EXPECT_LE(memory.load(0), now());
  kfd::ClockCounters host;  // node 0 has no GPU
  EXPECT_EQ(process.call(kfd::Call::get_clock_counters, host), 0);
  EXPECT_EQ(host.gpu, 0U);
  EXPECT_EQ(host.system_frequency, 1'000'000'000U);
}

TEST(VirtualKfdTree, EveryGpuHasACacheAndNoNodeTooManyLinks) {
  for (const char* name : {"mi250x-8", "mi300x-8", "mi308x-8", "mi325x-8", "mi355x-8"}) {
    const Machine machine = load_machine(name).value();
    const auto tree = topology_tree(machine, part_of(machine).value());
    for (std::uint32_t node = 0; node <= machine.gpus; ++node) {
      const std::string folder = std::string(kfd::kTopology) + "/nodes/" + std::to_string(node);
      EXPECT_EQ(tree.contains(folder + "/caches/0/properties"), node > 0) << name;  // ROCr ends the program without
      EXPECT_FALSE(tree.contains(folder + "/io_links/" + std::to_string(machine.gpus + 1) + "/properties")) << name;
      EXPECT_LT(tree.at(folder + "/properties").size(), 4096U) << name;
    }
  }
}

}  // namespace virtual_kfd_test
}  // namespace cortado::device::vkfd
