#include "device/kfd/kfd_node.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/packets.hpp"

#include "device/kfd/kfd.hpp"
#include "device/kfd/virtual_system_testing.hpp"

namespace cortado::device {
namespace kfd_node_test {

using testing::AllOf;
using testing::HasSubstr;

class KfdNode : public testing::Test {
 protected:
  explicit KfdNode(const std::string& machine = "mi300x-8") : machine_(load_machine(machine).value()) {
    computer_ = virtual_computer(machine_);
  }

  std::unique_ptr<Driver> open() {
    auto node = open_kfd_node(computer_->system());
    if (!node) ADD_FAILURE() << to_string(node.error());
    return node ? std::move(*node) : nullptr;
  }

  /// Writes packets into a fresh ring and rings the doorbell.
  static void submit(Driver& node, SdmaQueue& queue, const std::vector<sdma::Packet>& packets) {
    std::uint64_t end = 0;
    for (const sdma::Packet& packet : packets) {
      end += sdma::encode(packet, reinterpret_cast<std::uint32_t*>(queue.ring + end)) * sizeof(std::uint32_t);
    }
    node.ring_doorbell(queue, end);
  }

  template <class Condition>
  static bool wait_until(Driver& node, Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      node.assist();
    }
    return true;
  }

  Machine machine_;
  std::unique_ptr<VirtualComputer> computer_;
};

void expect_environment(const Diagnostic& error, const std::string& code, const std::string& message) {
  EXPECT_EQ(error.code, code);
  EXPECT_EQ(error.about, About::environment);
  EXPECT_THAT(error.message, HasSubstr(message));
}

// --- Opening ---------------------------------------------------------------------------------------------------------

TEST_F(KfdNode, WithoutAGpuNamesTheDeviceFileAndTheCause) {
  computer_->unopenable[kfd::kDevice] = ENOENT;
  const auto node = open_kfd_node(computer_->system());
  ASSERT_FALSE(node.has_value());
  expect_environment(node.error(), "device.no_gpu", "open of /dev/kfd: errno 2 (No such file or directory)");
  EXPECT_THAT(node.error().hint, HasSubstr("--on soft"));
}

TEST_F(KfdNode, WithoutPermissionTellsTheGroups) {
  for (const char* path : {kfd::kDevice, "/dev/dri/renderD129"}) {
    computer_->unopenable = {{path, EACCES}};
    const auto node = open_kfd_node(computer_->system());
    ASSERT_FALSE(node.has_value());
    expect_environment(node.error(), "device.no_gpu", std::string(path) + ": errno 13 (Permission denied)");
    EXPECT_THAT(node.error().hint, HasSubstr("render"));
    EXPECT_TRUE(computer_->open_files.empty());
  }
}

TEST_F(KfdNode, NoGpuNodeIsAnEnvironmentError) {
  std::erase_if(computer_->files, [](const auto& file) { return file.first.find("/nodes/0/") == std::string::npos; });
  const auto node = open_kfd_node(computer_->system());
  ASSERT_FALSE(node.has_value());
  expect_environment(node.error(), "device.no_gpu", "none of the 1 nodes");
  EXPECT_TRUE(computer_->open_files.empty());
}

TEST_F(KfdNode, FailedCallsAreNamedAndLeaveNothingOpen) {
  const std::map<kfd::Call, std::string> names{{kfd::Call::get_version, "AMDKFD_IOC_GET_VERSION"},
                                               {kfd::Call::acquire_vm, "AMDKFD_IOC_ACQUIRE_VM of /dev/dri/renderD128"},
                                               {kfd::Call::get_apertures, "AMDKFD_IOC_GET_PROCESS_APERTURES_NEW"}};
  for (const auto& [call, name] : names) {
    computer_->failing = {{call, EIO}};
    const auto node = open_kfd_node(computer_->system());
    ASSERT_FALSE(node.has_value()) << name;
    expect_environment(node.error(), "device.topology", name + ": errno 5");
    EXPECT_TRUE(computer_->open_files.empty()) << name;
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
    EXPECT_THAT(node.error().message, HasSubstr("/dev/"));
  }
  EXPECT_FALSE(node.has_value() && stat(kfd::kDevice, &file) != 0);
}

// --- Topology --------------------------------------------------------------------------------------------------------

TEST_F(KfdNode, TopologyIsThatOfTheMachineFile) {
  const auto node = open();
  const Topology& topology = node->topology();
  EXPECT_EQ(topology.node, "KFD 1.17: 8 GPUs (gfx942 device 0x74a1), queues by engine");
  EXPECT_FALSE(topology.compute);
  EXPECT_FALSE(topology.near_memory_compute);
  ASSERT_EQ(topology.gpus.size(), machine_.gpus);
  for (const GpuInfo& gpu : topology.gpus) {
    ASSERT_EQ(gpu.engines.size(), machine_.engines.size());
    for (std::size_t i = 0; i < gpu.engines.size(); ++i) {
      EXPECT_EQ(gpu.engines[i].id, machine_.engines[i].id);
      EXPECT_EQ(gpu.engines[i].kind, machine_.engines[i].kind);
    }
    EXPECT_EQ(gpu.queues_per_engine, machine_.dma.queues_per_engine);
  }
  for (std::uint32_t src = 0; src < machine_.gpus; ++src) {
    for (std::uint32_t dst = 0; dst < machine_.gpus; ++dst) {
      const std::uint32_t expected = src == dst ? 0 : 1U << machine_.affinity[src][dst]->value;
      EXPECT_EQ(topology.recommended[src][dst], expected) << src << " to " << dst;
    }
  }
}

TEST_F(KfdNode, AnOldKernelChoosesTheEngine) {
  computer_->minor_version = 16;
  const auto node = open();
  EXPECT_THAT(node->topology().node, HasSubstr("engines chosen by the kernel"));
  EXPECT_EQ(node->topology().recommended[0][1], 0U);
  // 14 engines for peers with eight slots each, whichever engine they name.
  for (int i = 0; i < 112; ++i) {
    ASSERT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{4096}})) << i;
  }
  EXPECT_THAT(node->create_sdma_queue({RankId{0}, EngineId{5}, Bytes{4096}}).error().message, HasSubstr("all 112"));
  EXPECT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{0}, Bytes{4096}}));  // the other class
}

// --- Memory ----------------------------------------------------------------------------------------------------------

TEST_F(KfdNode, MemoryIsAlignedZeroedAndGivenBack) {
  const auto node = open();
  for (const std::optional<RankId> home : {std::optional<RankId>(), std::optional(RankId{3})}) {
    const auto memory = node->allocate({home, Bytes{5000}, Bytes{1 << 20}});
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->address() % (1 << 20), 0U);
    EXPECT_EQ(memory->data[4999], std::byte{0});
    memory->data[4999] = std::byte{1};
    node->release(*memory);
  }
  EXPECT_EQ(computer_->calls[kfd::Call::alloc_memory], 2);
  EXPECT_EQ(computer_->calls[kfd::Call::free_memory], 2);
}

TEST_F(KfdNode, MemoryThatCannotBeIsRefused) {
  const auto node = open();
  const auto code = [&](const MemoryRequest& request) { return node->allocate(request).error().code; };
  EXPECT_EQ(code({RankId{8}, Bytes{4096}, Bytes{4096}}), "device.gpus");
  EXPECT_EQ(code({RankId{0}, Bytes{0}, Bytes{4096}}), "device.memory");
  EXPECT_EQ(code({RankId{0}, Bytes{4096}, Bytes{12288}}), "device.memory");
  const auto huge = node->allocate({RankId{0}, Bytes{machine_.memory_bytes.value + 4096}, Bytes{4096}});
  ASSERT_FALSE(huge);
  expect_environment(huge.error(), "device.memory", "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU");
  EXPECT_THAT(huge.error().message, HasSubstr("on GPU 0: errno 12"));
  computer_->failing = {{kfd::Call::map_memory, ENOMEM}};
  expect_environment(node->allocate({RankId{0}, Bytes{4096}, Bytes{4096}}).error(), "device.memory", "0 of 8 GPUs");
  EXPECT_EQ(computer_->calls[kfd::Call::free_memory], 1);
}

// --- Queues ----------------------------------------------------------------------------------------------------------

TEST_F(KfdNode, CopiesOverAPeerLinkAndSignals) {
  const auto node = open();
  constexpr std::uint32_t kBytes = 1 << 20;
  const auto src = node->allocate({RankId{0}, Bytes{kBytes}, Bytes{4096}});
  const auto dst = node->allocate({RankId{1}, Bytes{kBytes}, Bytes{4096}});
  const auto signal = node->allocate({std::nullopt, Bytes{4096}, Bytes{4096}});
  ASSERT_TRUE(src && dst && signal);
  for (std::uint32_t i = 0; i < kBytes; ++i) src->data[i] = static_cast<std::byte>(i % 251);
  SdmaQueue& queue = **node->create_sdma_queue({RankId{0}, EngineId{14}, Bytes{4096}});
  submit(*node, queue,
         {sdma::CopyLinear{kBytes, src->address(), dst->address()},
          sdma::Atomic{sdma::kAtomicAdd64, false, signal->address(), 1, 0, 0}});
  auto& word = *reinterpret_cast<std::uint64_t*>(signal->data);
  ASSERT_TRUE(wait_until(*node, [&] { return std::atomic_ref(word).load() == 1; }));
  EXPECT_EQ(std::memcmp(src->data, dst->data, kBytes), 0);
  ASSERT_TRUE(wait_until(*node, [&] { return node->state(queue).doing == "idle"; }));
  node->destroy(&queue);
}

TEST_F(KfdNode, AnEngineHasSoManyQueues) {
  const auto node = open();
  const SdmaQueueRequest request{RankId{0}, EngineId{4}, Bytes{4096}};
  const auto first = node->create_sdma_queue(request);
  for (int i = 1; i < 8; ++i) ASSERT_TRUE(node->create_sdma_queue(request));
  const auto ninth = node->create_sdma_queue(request);
  ASSERT_FALSE(ninth);
  EXPECT_EQ(ninth.error().code, "device.queue");
  EXPECT_THAT(ninth.error().message, HasSubstr("no free queue slot on engine 4: all 8 are in use"));
  EXPECT_TRUE(node->create_sdma_queue({RankId{1}, EngineId{4}, Bytes{4096}}));
  node->destroy(*first);
  EXPECT_TRUE(node->create_sdma_queue(request));
}

TEST_F(KfdNode, SlotsHeldByOtherProcesses) {
  const auto node = open();
  computer_->failing = {{kfd::Call::create_queue, ENOMEM}};
  const auto queue = node->create_sdma_queue({RankId{0}, EngineId{4}, Bytes{4096}});
  ASSERT_FALSE(queue);
  expect_environment(queue.error(), "device.queue", "AMDKFD_IOC_CREATE_QUEUE on engine 4 of GPU 0: errno 12");
  EXPECT_THAT(queue.error().hint, HasSubstr("other processes"));
  EXPECT_EQ(computer_->calls[kfd::Call::free_memory], 2);  // ring and pointers are gone again
}

TEST_F(KfdNode, BadRequestsAreUserErrors) {
  const auto node = open();
  const auto code = [&](std::uint32_t gpu, std::uint32_t engine, std::uint64_t bytes) {
    const auto queue = node->create_sdma_queue({RankId{gpu}, EngineId{engine}, Bytes{bytes}});
    return queue ? "none" : queue.error().code;
  };
  EXPECT_EQ(code(8, 0, 4096), "device.gpus");
  EXPECT_EQ(code(0, 16, 4096), "device.engine");
  EXPECT_EQ(code(0, 0, 0), "device.queue");
  EXPECT_EQ(code(0, 0, 2048), "device.queue");
  EXPECT_EQ(code(0, 0, 12288), "device.queue");
  EXPECT_EQ(code(0, 0, std::uint64_t{1} << 32), "device.queue");
  EXPECT_EQ(computer_->calls[kfd::Call::create_queue], 0);
}

TEST_F(KfdNode, ComputeQueuesAndTrackersAreRefused) {
  const auto node = open();
  const auto queue = node->create_compute_queue(RankId{1}, 0);
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().code, "device.compute");
  EXPECT_THAT(queue.error().message, HasSubstr("no compute queue on GPU 1"));
  EXPECT_THAT(queue.error().hint, HasSubstr("--on soft"));
  EXPECT_FALSE(node->topology().tracker.has_value());
  const auto tracker = node->create_tracker({.gpu = RankId{1}, .region = {}});
  ASSERT_FALSE(tracker);
  EXPECT_EQ(tracker.error().code, "device.tracker");
}

// --- Events, faults, clock, closing ----------------------------------------------------------------------------------

TEST_F(KfdNode, ATrapFiresItsEvent) {
  const auto node = open();
  const auto event = node->create_event();
  ASSERT_TRUE(event);
  SdmaQueue& queue = **node->create_sdma_queue({RankId{2}, EngineId{1}, Bytes{4096}});
  EXPECT_FALSE(node->wait(*event, std::chrono::nanoseconds(0)));
  const auto mailbox = reinterpret_cast<std::uintptr_t>(event->mailbox);
  submit(*node, queue, {sdma::Fence{mailbox, event->id}, sdma::Trap{event->id}});
  EXPECT_TRUE(node->wait(*event, std::chrono::seconds(30)));
  EXPECT_EQ(std::atomic_ref(*event->mailbox).load(), event->id);
  EXPECT_FALSE(node->wait(*event, std::chrono::nanoseconds(0)));  // taken
  node->destroy(*event);
}

TEST_F(KfdNode, AnEventThatCannotBeIsAnEnvironmentError) {
  const auto node = open();
  computer_->failing = {{kfd::Call::create_event, ENOSPC}};
  expect_environment(node->create_event().error(), "device.event", "AMDKFD_IOC_CREATE_EVENT: errno 28");
}

TEST_F(KfdNode, ACopyToUnmappedMemoryIsAFault) {
  const auto node = open();
  EXPECT_TRUE(node->faults().empty());
  const auto src = node->allocate({RankId{0}, Bytes{4096}, Bytes{4096}});
  SdmaQueue& queue = **node->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{4096}});
  constexpr std::uint64_t kNowhere = 0x7000'0000'1000;
  submit(*node, queue, {sdma::CopyLinear{4096, src->address(), kNowhere}});
  ASSERT_TRUE(wait_until(*node, [&] { return !node->faults().empty(); }));
  const auto faults = node->faults();  // still there
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, FaultKind::bad_address);
  EXPECT_EQ(faults[0].gpu, RankId{0});
  EXPECT_EQ(faults[0].address, kNowhere);
  EXPECT_THAT(faults[0].message, HasSubstr("page not present"));
  const std::lock_guard lock(computer_->mutex);
  ASSERT_EQ(computer_->log.size(), 1U);
  EXPECT_THAT(computer_->log[0], AllOf(HasSubstr("GPU 0 engine 2"), HasSubstr("packet 0 at ring offset 0x0"),
                                       HasSubstr("destination 0x700000001000")));
}

TEST_F(KfdNode, RateOfTheClockFollowsFromTheSystemClock) {
  const auto node = open();
  EXPECT_NEAR(static_cast<double>(node->clock().ticks_per_second), 100e6, 5e6);
  computer_->failing = {{kfd::Call::get_clock_counters, ENOTTY}};
  EXPECT_EQ(open()->clock().ticks_per_second, 0U);
}

TEST_F(KfdNode, TheReportTellsWhatFails) {
  const std::string good = kfd_report(computer_->system());
  EXPECT_THAT(good,
              AllOf(HasSubstr("node 8\n"), HasSubstr("    gfx_target_version 90402\n"), HasSubstr("  link 7\n"),
                    HasSubstr("KFD 1.17: 8 GPUs"), HasSubstr("GPU 7: copy right, fence written, interrupt came\n"),
                    HasSubstr("8 x ioctl CREATE_QUEUE: ok\n")));
  EXPECT_THAT(good, testing::Not(HasSubstr("unique_id")));
  computer_->failing = {{kfd::Call::create_queue, EINVAL}};
  const std::string bad = kfd_report(computer_->system());
  EXPECT_THAT(bad, AllOf(HasSubstr("GPU 0: device.queue: AMDKFD_IOC_CREATE_QUEUE"),
                         HasSubstr("8 x ioctl CREATE_QUEUE: Invalid argument\n")));
}

TEST_F(KfdNode, ClosingGivesEverythingBack) {
  auto node = open();
  ASSERT_TRUE(node->allocate({.home = RankId{0}, .bytes = Bytes{4096}}));
  ASSERT_TRUE(node->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{4096}}));
  ASSERT_TRUE(node->create_event());
  node.reset();
  EXPECT_EQ(computer_->calls[kfd::Call::alloc_memory], computer_->calls[kfd::Call::free_memory]);
  EXPECT_EQ(computer_->calls[kfd::Call::create_queue], computer_->calls[kfd::Call::destroy_queue]);
  EXPECT_EQ(computer_->calls[kfd::Call::create_event], computer_->calls[kfd::Call::destroy_event]);
  EXPECT_TRUE(computer_->open_files.empty());
}

}  // namespace kfd_node_test
}  // namespace cortado::device
