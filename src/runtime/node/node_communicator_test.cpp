// Collectives of all ranks by one caller: proved programs on memory that is not theirs.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/communicator.hpp"
#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/target.hpp"

namespace cortado {
namespace node_communicator_test {

constexpr std::uint32_t kRanks = 4;

/// Memory of all ranks, filled by rank.
struct Ranks {
  explicit Ranks(std::size_t bytes, int fill = 0) {
    constexpr std::size_t kAlignment = 64;  // broadcast packets need half of it
    memory.reserve(kRanks);
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      memory.emplace_back(bytes + kAlignment, static_cast<std::byte>(fill == 0 ? 0 : fill + static_cast<int>(r)));
      const auto start = reinterpret_cast<std::uintptr_t>(memory.back().data());
      spans.push_back(std::span(memory.back()).subspan(kAlignment - start % kAlignment, bytes));
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<std::byte>> spans;
};

NodeCommunicator open_node() {
  auto node = NodeCommunicator::open(load_machine("mi300x-8").value(), kRanks);
  EXPECT_TRUE(node) << to_string(node.error());
  return std::move(node).value();
}

TEST(NodeCommunicator, GathersTheCallersBytesWhereverTheyAre) {
  NodeCommunicator node = open_node();
  CollectiveRequest request{.collective = "all-gather", .variant = "pcpy", .bytes = 4_KiB};
  for (int round = 1; round < 4; ++round) {  // the first prepares, the others rebind
    Ranks in(1024, round);
    Ranks out(4096);
    const Status status = node.run(request, in.spans, out.spans);
    ASSERT_TRUE(status) << to_string(status.error());
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      for (std::uint32_t from = 0; from < kRanks; ++from) {
        ASSERT_EQ(std::memcmp(out.spans[r].data() + from * 1024, in.spans[from].data(), 1024), 0) << round;
      }
    }
  }
  EXPECT_EQ(node.explain(), "all-gather of 4KiB: pcpy (asked for)");
}

TEST(NodeCommunicator, SumsByAVariantThatTheModelChooses) {
  NodeCommunicator node = open_node();
  CollectiveRequest request{.collective = "all-reduce", .variant = "auto", .bytes = 4_KiB};
  request.dtype = DType::i32;
  std::vector<std::vector<std::int32_t>> in(kRanks);
  std::vector<std::vector<std::int32_t>> out(kRanks, std::vector<std::int32_t>(1024));
  std::vector<std::span<std::byte>> sends;
  std::vector<std::span<std::byte>> recvs;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    for (std::int32_t i = 0; i < 1024; ++i) in[r].push_back(i * static_cast<std::int32_t>(r + 1));
    sends.push_back(std::as_writable_bytes(std::span(in[r])));
    recvs.push_back(std::as_writable_bytes(std::span(out[r])));
  }
  const Status status = node.run(request, sends, recvs);
  ASSERT_TRUE(status) << to_string(status.error());
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    for (std::int32_t i = 0; i < 1024; ++i) ASSERT_EQ(out[r][static_cast<std::size_t>(i)], 10 * i);
  }
  EXPECT_NE(node.explain().find("simulated for mi300x-8"), std::string::npos) << node.explain();
}

TEST(NodeCommunicator, PersistentOperationsRunOnWhatTheBuffersHold) {
  NodeCommunicator node = open_node();
  Ranks buffers(4096);
  const CollectiveRequest request{.collective = "all-gather", .variant = "bcst", .bytes = 4_KiB, .in_place = true};
  auto gathering = node.prepare(request, buffers.spans, buffers.spans);
  ASSERT_TRUE(gathering) << to_string(gathering.error());
  for (int round = 1; round < 20; ++round) {
    for (std::uint32_t r = 0; r < kRanks; ++r)
      std::memset(buffers.spans[r].data() + r * 1024, round + static_cast<int>(r), 1024);
    ASSERT_TRUE(gathering->run());
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      for (std::uint32_t from = 0; from < kRanks; ++from) {
        ASSERT_EQ(buffers.spans[r][from * 1024 + 7], static_cast<std::byte>(round + static_cast<int>(from)));
      }
    }
  }
}

TEST(NodeCommunicator, RefusesMemoryThatTheProofIsNotAbout) {
  NodeCommunicator node = open_node();
  const CollectiveRequest request{.collective = "all-gather", .variant = "pcpy", .bytes = 4_KiB};
  Ranks in(1024);
  Ranks out(4095);
  EXPECT_EQ(node.run(request, in.spans, out.spans).error().code, "device.binding");
  Ranks same(4096);
  EXPECT_EQ(node.run(request, same.spans, same.spans).error().code, "device.binding");
  const CollectiveRequest unknown{.collective = "all-gather", .variant = "pcyp", .bytes = 4_KiB};
  EXPECT_EQ(node.run(unknown, in.spans, same.spans).error().code, "plan.unknown_variant");
}

}  // namespace node_communicator_test
}  // namespace cortado
