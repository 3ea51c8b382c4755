// Packets that engines cannot execute: the queue stops with a fault that says where and why; the others continue.
#include <functional>

#include <gtest/gtest.h>

#include "device/soft/testing/node.hpp"

namespace cortado::device::soft {
namespace engine_fault_test {

using testing::HasSubstr;

struct FaultCase {
  const char* name;
  FaultKind kind;
  std::function<sdma::Packet(std::uint64_t)> packet;  ///< `m` is the address of 4096 bytes
  std::int64_t address = -1;                          ///< relative to m; -1 = not checked
};

constexpr std::uint64_t kNowhere = 0x1000;

const FaultCase kFaultCases[] = {
    {"CopySource", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyLinear{64, m + 4096, m};
     },
     4096},
    {"CopySourceEnd", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyLinear{64, m + 4033, m};
     },
     4033},
    {"CopyDestination", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyLinear{64, m, m - 1};
     },
     -1},
    {"CopyNull", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyLinear{64, 0, m};
     }},
    {"CopyTooLong", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyLinear{1 << 30, m, m};
     },
     0},
    {"BroadcastSecond", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyBroadcast{64, m, m + 64, m + 4064};
     },
     4064},
    {"BroadcastModulo", FaultKind::misaligned,
     [](auto m) {
       return sdma::CopyBroadcast{64, m, m + 64, m + 129};
     },
     129},
    {"SwapRange", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopySwap{128, m, m + 4032};
     },
     4032},
    {"WindowExtent", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyWindow{0, {m, 0, 0, 0, 1024, 1}, {m, 0, 0, 0, 4, 1}, 4, 5, 1};
     },
     0},
    {"WindowBase", FaultKind::misaligned,
     [](auto m) {
       return sdma::CopyWindow{0, {m + 2, 0, 0, 0, 64, 1}, {m, 0, 0, 0, 64, 1}, 4, 2, 1};
     },
     2},
    {"WindowPitch", FaultKind::misaligned,
     [](auto m) {
       return sdma::CopyWindow{0, {m, 0, 0, 0, 64, 1}, {m, 0, 0, 0, 63, 1}, 4, 2, 1};
     },
     0},
    {"WindowSlicePitch", FaultKind::misaligned,
     [](auto m) {
       return sdma::CopyWindow{0, {m, 0, 0, 0, 64, 130}, {m, 0, 0, 0, 64, 128}, 4, 2, 2};
     },
     0},
    {"AddSource", FaultKind::bad_address,
     [](auto m) {
       return sdma::CopyAdd{DType::f32, 64, kNowhere, m};
     }},
    {"Write", FaultKind::bad_address,
     [](auto m) {
       return sdma::WriteLinear{m + 4092, {1, 2}};
     },
     4092},
    {"Fill", FaultKind::bad_address,
     [](auto m) {
       return sdma::ConstFill{m + 4000, 0, 2, 25};
     },
     4000},
    {"Fence", FaultKind::bad_address,
     [](auto) {
       return sdma::Fence{kNowhere, 1};
     }},
    {"Poll", FaultKind::bad_address, [](auto) { return poll_ge(kNowhere, 1); }},
    {"PollRegister", FaultKind::unsupported,
     [](auto) { return sdma::PollRegmem{false, false, sdma::PollFunction::eq, 0x1234, 1, 1, 10, 0xfff}; }},
    {"Atomic", FaultKind::bad_address, [](auto m) { return add64(m + 4096); }, 4096},
    {"AtomicOperation", FaultKind::unsupported, [](auto m) { return sdma::Atomic{0x01, false, m, 1, 0, 0}; }},
    {"Timestamp", FaultKind::bad_address,
     [](auto) {
       return sdma::Timestamp{sdma::TimestampOp::get_global, kNowhere};
     }},
    {"TimestampSlot", FaultKind::misaligned,
     [](auto m) {
       return sdma::Timestamp{sdma::TimestampOp::get_global, m + 8};
     },
     8},
    {"Condition", FaultKind::bad_address,
     [](auto) {
       return sdma::CondExe{kNowhere, 1, 1};
     }},
    {"Indirect", FaultKind::bad_address,
     [](auto m) {
       return sdma::Indirect{0, m + 4064, 16, 0};
     },
     4064},
};

class EngineFaults : public testing::TestWithParam<FaultCase> {};

INSTANTIATE_TEST_SUITE_P(Packets, EngineFaults, testing::ValuesIn(kFaultCases),
                         [](const auto& test) { return test.param.name; });

TEST_P(EngineFaults, StopTheQueueAndNothingElse) {
  const FaultCase& c = GetParam();
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{7}}) {
    const auto node = open_test_node({0, seed, {}});
    TestBuffer memory(*node, 4096);
    TestBuffer signals(*node, 64);
    TestQueue bad(*node, RankId{2}, EngineId{3});
    TestQueue good(*node, RankId{2}, EngineId{3});
    bad.push(add64(signals.at()));
    const std::uint64_t offset = bad.written();
    bad.push(c.packet(memory.at())).push(add64(signals.at(8)));
    bad.ring();
    ASSERT_TRUE(assist_until(*node, [&] { return !node->faults().empty(); }));
    good.push(add64(signals.at(16)));
    good.ring();
    ASSERT_TRUE(assist_until(*node, [&] { return good.finished(); }));

    const std::vector<EngineFault> faults = node->faults();
    ASSERT_EQ(faults.size(), 1u);
    const EngineFault& fault = faults.front();
    EXPECT_EQ(fault.kind, c.kind) << fault.message;
    EXPECT_EQ(fault.gpu, RankId{2});
    EXPECT_EQ(fault.engine, EngineId{3});
    EXPECT_EQ(fault.queue, bad.handle().id);
    EXPECT_EQ(fault.packet_index, 1u);
    EXPECT_EQ(fault.ring_offset, offset);
    if (c.address >= 0) {
      EXPECT_EQ(fault.address, memory.at(static_cast<std::uint64_t>(c.address)));
    }
    EXPECT_EQ(*signals.word(0), 1u) << "what stands before the packet was executed";
    EXPECT_EQ(*signals.word(1), 0u) << "what stands behind it was not";
    EXPECT_EQ(*signals.word(2), 1u) << "another queue of the same engine goes on";
    EXPECT_EQ(bad.state().doing, "stopped by a fault: " + fault.message);
    EXPECT_EQ(bad.read_offset(), offset);
  }
}

/// The only fault of a queue that gets these dwords.
EngineFault fault_of(Driver& node, const std::vector<std::uint32_t>& dwords) {
  TestQueue queue(node, RankId{0}, EngineId{1});
  queue.push_raw(dwords);
  queue.ring();
  EXPECT_TRUE(assist_until(node, [&] { return !node.faults().empty(); }));
  return node.faults().back();
}

TEST(EngineFault, UnknownPacketsAreFaults) {
  EXPECT_EQ(fault_of(*open_test_node({0, {}, {}}), {0x000000ff}).kind, FaultKind::unknown_packet);
  EXPECT_EQ(fault_of(*open_test_node({0, {}, {}}), {0x00001201, 0, 0, 0, 0, 0, 0}).kind, FaultKind::unknown_packet);
}

TEST(EngineFault, MisalignedSwapIsAFaultWithItsAddress) {
  const auto node = open_test_node({0, {}, {}});
  // COPY swap, 64 bytes, A = 0x7e0000001020: the low six bits must be zero.
  const EngineFault fault = fault_of(*node, {0x901, 63, 0, 0x1020, 0x7e00, 0x2000, 0x7e00});
  EXPECT_EQ(fault.kind, FaultKind::misaligned);
  EXPECT_EQ(fault.address, 0x7e0000001020u);
}

TEST(EngineFault, MisalignedAtomicIsAFault) {
  const auto node = open_test_node({0, {}, {}});
  const EngineFault fault = fault_of(*node, {0x5e00000a, 0x1004, 0x7e00, 1, 0, 0, 0, 0});
  EXPECT_EQ(fault.kind, FaultKind::misaligned);
  EXPECT_EQ(fault.address, 0x7e0000001004u);
}

TEST(EngineFault, FeaturesTheMachineLacksAreUnsupported) {
  Machine machine = test_machine();
  machine.features = {};
  machine.dma.max_copy_bytes = {100};
  const auto node = open_test_node({0, {}, {}}, machine);
  TestBuffer m(*node, 4096);
  std::size_t expected = 0;
  for (const sdma::Packet& packet : std::vector<sdma::Packet>{
           sdma::CopyAdd{DType::f32, 64, m.at(), m.at(64)}, sdma::CopySwap{64, m.at(), m.at(64)},
           sdma::CopyBroadcast{64, m.at(), m.at(64), m.at(128)}, sdma::CopyLinear{101, m.at(), m.at(128)}}) {
    TestQueue queue(*node, RankId{0}, EngineId{1});
    queue.push(packet);
    queue.ring();
    ++expected;
    ASSERT_TRUE(assist_until(*node, [&] { return node->faults().size() == expected; }));
    EXPECT_EQ(node->faults().back().kind, FaultKind::unsupported) << node->faults().back().message;
  }
}

TEST(EngineFault, NestedIndirectBuffersAreUnsupported) {
  const auto node = open_test_node({0, {}, {}});
  TestBuffer program(*node, 4096);
  sdma::encode(sdma::Packet{sdma::Indirect{0, program.at(), 6, 0}}, program.as<std::uint32_t>());
  TestQueue queue(*node, RankId{0}, EngineId{1});
  queue.push(sdma::Indirect{0, program.at(), 6, 0});
  queue.ring();
  ASSERT_TRUE(assist_until(*node, [&] { return !node->faults().empty(); }));
  EXPECT_EQ(node->faults().front().kind, FaultKind::unsupported);
}

TEST(EngineFault, TruncatedPacketInAnIndirectBufferIsAFault) {
  const auto node = open_test_node({0, {}, {}});
  TestBuffer program(*node, 4096);
  sdma::encode(sdma::Packet{add64(program.at(64))}, program.as<std::uint32_t>());
  TestQueue queue(*node, RankId{0}, EngineId{1});
  queue.push(sdma::Indirect{0, program.at(), 5, 0});  // an ATOMIC takes 8
  queue.ring();
  ASSERT_TRUE(assist_until(*node, [&] { return !node->faults().empty(); }));
  EXPECT_EQ(node->faults().front().kind, FaultKind::unknown_packet);
}

TEST(EngineFault, DoorbellsThatMakeNoSenseAreOverruns) {
  struct Case {
    std::uint64_t first, second;
    const char* message;
  };
  for (const Case& c : {Case{32, 2, "whole number of dwords"}, Case{32, 28, "before the previous one"},
                        Case{32, 32 + 1024 + 4, "ahead"}}) {
    const auto node = open_test_node({0, {}, {}});
    TestBuffer words(*node, 64);
    TestQueue queue(*node, RankId{0}, EngineId{1}, 1024);
    queue.push(add64(words.at()));
    queue.ring();
    ASSERT_TRUE(assist_until(*node, [&] { return queue.finished(); }));
    node->ring_doorbell(queue.handle(), c.second);
    ASSERT_TRUE(assist_until(*node, [&] { return !node->faults().empty(); }));
    EXPECT_EQ(node->faults().front().kind, FaultKind::ring_overrun);
    EXPECT_THAT(node->faults().front().message, HasSubstr(c.message));
  }
}

TEST(EngineFault, APacketThatIsNotAnnouncedAsAWholeWaitsForTheRest) {
  const auto node = open_test_node({0, {}, {}});
  TestBuffer words(*node, 64);
  TestQueue queue(*node, RankId{0}, EngineId{1});
  queue.push(add64(words.at()));
  node->ring_doorbell(queue.handle(), 12);
  for (int i = 0; i < 100; ++i) node->assist();
  EXPECT_EQ(queue.state().doing, "waiting for the rest of a packet");
  EXPECT_EQ(queue.read_offset(), 0u);
  queue.ring();
  ASSERT_TRUE(assist_until(*node, [&] { return queue.finished(); }));
  EXPECT_EQ(*words.word(0), 1u);
}

}  // namespace engine_fault_test
}  // namespace cortado::device::soft
