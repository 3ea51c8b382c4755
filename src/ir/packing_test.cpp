#include "ir/packing.hpp"

#include <gtest/gtest.h>

namespace cortado::packing_test {

Copy copy(std::uint64_t src, std::uint64_t dst, std::uint64_t bytes = 64) {
  return {make_region(BufferId{0}, Bytes{src}, Bytes{bytes}), make_region(BufferId{1}, Bytes{dst}, Bytes{bytes})};
}

constexpr PackingLimits kLimits{.destinations = 3, .entries = 4, .fused = true};

using Packets = std::vector<PackedCommands>;

TEST(Packing, PutsCopiesOfOneSourceIntoAMulticast) {
  Queue queue{.name = "copies", .packing = Packing::multicast};
  queue.commands = {Wait{SignalId{0}}, copy(0, 0),  copy(0, 64),  copy(0, 128),
                    copy(0, 192),      copy(64, 0), copy(64, 64), Signal{SignalId{1}}};
  EXPECT_EQ(packets_of(queue, kLimits), (Packets{{0, 1}, {1, 3}, {4, 1}, {5, 2}, {7, 1}}));
  EXPECT_EQ(packets_of(queue, {}).size(), 8U) << "of a machine without them";
}

TEST(Packing, FusesACopyWithItsWaitAndSignal) {
  Queue queue{.name = "copies", .packing = Packing::fused};
  queue.commands = {Wait{SignalId{0}},  copy(0, 0),          Signal{SignalId{1}},
                    copy(64, 0),        Signal{SignalId{1}}, Wait{SignalId{0}, 2},
                    copy(128, 0),       copy(192, 0),        Wait{SignalId{0}, 3, Compare::eq},
                    Signal{SignalId{1}}};
  EXPECT_EQ(packets_of(queue, kLimits), (Packets{{0, 3}, {3, 2}, {5, 2}, {7, 1}, {8, 1}, {9, 1}}));
}

/// Two lists with the same layout are one: 2 x 3 copies, 3 entries. Copies of another width are not part of a list.
TEST(Packing, WritesAListOnceForAllThatLieAlike) {
  Queue queue{.name = "copies", .packing = Packing::indirect};
  queue.commands = {copy(128, 0),    copy(0, 64),     copy(64, 192),   copy(1000, 1000, 8),
                    copy(1128, 500), copy(1000, 564), copy(1064, 692), Signal{SignalId{0}}};
  const Packets packets = packets_of(queue, kLimits);
  EXPECT_EQ(packets, (Packets{{0, 3}, {3, 1}, {4, 3}, {7, 1}}));
  const AddressLists lists = address_lists(queue, packets);
  EXPECT_EQ(lists.first, (std::vector<std::uint32_t>{0, 0, 0, 0}));
  constexpr std::uint64_t kWrap = 0;
  EXPECT_EQ(lists.entries, (std::vector<ListEntry>{{0, 0}, {kWrap - 128, 64}, {kWrap - 64, 192}}));
  // Without the one between them: the second list begins where a copy has the same displacement as the first.
  Queue layers = queue;
  layers.commands.erase(layers.commands.begin() + 3);
  layers.commands[3] = copy(1128, 1000);
  layers.commands[4] = copy(1000, 1064);
  layers.commands[5] = copy(1064, 1192);
  EXPECT_EQ(packets_of(layers, kLimits), (Packets{{0, 3}, {3, 3}, {6, 1}}));
  EXPECT_EQ(address_lists(layers, packets_of(layers, kLimits)).entries.size(), 3U);
  Queue contiguous{.name = "copies", .packing = Packing::indirect};
  contiguous.commands = {copy(0, 0), copy(64, 64), copy(128, 128)};
  EXPECT_EQ(packets_of(contiguous, kLimits), (Packets{{0, 3}}));
  queue.commands.resize(3);
  queue.commands.insert(queue.commands.end(), {copy(256, 256), copy(320, 320)});
  EXPECT_EQ(packets_of(queue, kLimits), (Packets{{0, 4}, {4, 1}})) << "four entries at most";
}

}  // namespace cortado::packing_test
