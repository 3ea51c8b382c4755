#include "cortado/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "tests/support/source_dir.hpp"

namespace cortado {
namespace machine_test {

using testing::HasSubstr;

Machine loaded(const std::string& name) {
  Result<Machine> machine = load_machine(name);
  EXPECT_TRUE(machine.has_value()) << to_string(machine.error());
  return machine.value_or(Machine{});
}

std::string file_of(const std::string& name) {
  return source_dir() + "/machines/" + name + ".toml";
}

TEST(MachineNames, AreTheFilesOfTheMachinesFolderSorted) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/machines")) {
    if (entry.path().extension() == ".toml") files.insert(entry.path().stem());
  }
  EXPECT_EQ(machine_names(), std::vector<std::string>(files.begin(), files.end()));
  EXPECT_THAT(machine_names(), testing::IsSupersetOf({"b200-8", "gb200-nvl72", "h100-8", "h200-8", "mi250x-8",
                                                      "mi300x-8", "mi308x-8", "mi325x-8", "mi355x-8", "switch-1024",
                                                      "t3-ring-16", "virtual-64", "virtual-64-nmc"}));
}

TEST(LoadMachine, EveryMachineLoadsUnderItsName) {
  for (const std::string& name : machine_names()) {
    const Machine machine = loaded(name);
    EXPECT_EQ(machine.name, name);
    EXPECT_EQ(machine.file, "built in");
    EXPECT_EQ(machine.linked.size(), machine.gpus);
  }
}

TEST(LoadMachine, ByPathGivesWhatByNameGives) {
  const Machine by_path = loaded(file_of("mi300x-8"));
  EXPECT_EQ(by_path.name, "mi300x-8");
  EXPECT_EQ(by_path.file, file_of("mi300x-8"));
  EXPECT_EQ(by_path.affinity, loaded("mi300x-8").affinity);
}

TEST(LoadMachine, UnknownNameSuggestsTheNearestAndListsAll) {
  const Result<Machine> machine = load_machine("mi300-8");
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().code, "machine.unknown");
  EXPECT_THAT(machine.error().hint, HasSubstr("did you mean mi300x-8?"));
  for (const std::string& name : machine_names()) EXPECT_THAT(machine.error().hint, HasSubstr(name));
}

TEST(LoadMachine, MissingFileIsAnErrorOfTheEnvironment) {
  const Result<Machine> machine = load_machine("no/such/machine.toml");
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().about, About::environment);
  EXPECT_EQ(machine.error().place.file, "no/such/machine.toml");
}

// The recommended engines of the Linux driver, row = source, column = destination.
TEST(Mi300x, AffinityIsThePublishedTable) {
  constexpr std::array<std::array<std::uint32_t, 8>, 8> kTable{{{0, 14, 12, 2, 4, 8, 10, 6},
                                                                {14, 0, 2, 10, 8, 4, 6, 12},
                                                                {10, 2, 0, 12, 14, 6, 4, 8},
                                                                {2, 12, 10, 0, 6, 14, 8, 4},
                                                                {4, 8, 14, 6, 0, 10, 12, 2},
                                                                {8, 4, 6, 14, 12, 0, 2, 10},
                                                                {10, 6, 4, 8, 12, 2, 0, 14},
                                                                {6, 12, 8, 4, 2, 10, 14, 0}}};
  const Machine machine = loaded("mi300x-8");
  for (std::uint32_t src = 0; src < 8; ++src) {
    for (std::uint32_t dst = 0; dst < 8; ++dst) {
      if (src == dst) {
        EXPECT_FALSE(machine.affinity[src][dst].has_value());
      } else {
        EXPECT_EQ(machine.affinity[src][dst], EngineId{kTable[src][dst]}) << src << " to " << dst;
        EXPECT_EQ(machine.engine_towards({src}, {dst}), EngineId{kTable[src][dst]});
      }
    }
  }
}

TEST(Mi300x, HasTwoHostAndFourteenPeerEnginesOfEightQueues) {
  const Machine machine = loaded("mi300x-8");
  EXPECT_EQ(machine.present_engines(EngineClass::host), (std::vector<EngineId>{{0}, {1}}));
  EXPECT_EQ(machine.present_engines(EngineClass::peer).size(), 14U);
  EXPECT_EQ(machine.dma.queues_per_engine, 8U);
  EXPECT_EQ(machine.engine({16}), nullptr);
  ASSERT_NE(machine.engine({15}), nullptr);
  EXPECT_EQ(machine.engine({15})->kind, EngineClass::peer);
}

TEST(Mi300x, PacketLimitsFitTheirFieldsAndAlignments) {
  const DmaLimits dma = loaded("mi300x-8").dma;
  EXPECT_EQ(dma.max_copy_bytes, (Bytes{(1U << 30) - 32}));  // 30-bit count of bytes - 1, in units of 32
  EXPECT_EQ(dma.max_swap_bytes, (Bytes{(1U << 30) - 64}));  // the same in units of 64
  EXPECT_EQ(dma.max_window_elements, 1U << 14);
  EXPECT_EQ(dma.max_pitch_elements, 1U << 19);
  EXPECT_EQ(dma.ring_bytes, 2_MiB);
}

// A copy of 2^28 bytes was reported to hang.
TEST(Mi355x, CopiesStayBelow256MiB) {
  EXPECT_LT(loaded("mi355x-8").dma.max_copy_bytes, 256_MiB);
}

TEST(Mi308x, OddEnginesAreListedButAbsent) {
  const Machine machine = loaded("mi308x-8");
  for (const Engine& engine : machine.engines) EXPECT_EQ(engine.present, engine.id.value % 2 == 0);
  EXPECT_EQ(machine.present_engines(EngineClass::peer), (std::vector<EngineId>{{2}, {4}, {6}}));
  for (std::uint32_t dst = 1; dst < 8; ++dst) EXPECT_TRUE(machine.engine(machine.engine_towards({0}, {dst}))->present);
}

TEST(VirtualNode, EveryPeerHasItsOwnEngine) {
  const Machine machine = loaded("virtual-64");
  for (std::uint32_t src = 0; src < 64; ++src) {
    std::set<EngineId> engines;
    for (std::uint32_t dst = 0; dst < 64; ++dst) {
      if (dst != src) engines.insert(machine.engine_towards({src}, {dst}));
    }
    EXPECT_EQ(engines.size(), 63U);
  }
}

TEST(VirtualNode, OnlyTheNmcFormAddsInMemory) {
  EXPECT_FALSE(loaded("virtual-64").features.near_memory_compute);
  EXPECT_TRUE(loaded("virtual-64-nmc").features.near_memory_compute);
}

// Two dies per package, four links between them; even dies have three links to other packages, odd ones two.
TEST(Mi250x, LinksAreCountedByPair) {
  const Machine machine = loaded("mi250x-8");
  EXPECT_EQ(machine.link_count({0}, {1}), 4U);
  EXPECT_EQ(machine.link_count({0}, {6}), 2U);
  EXPECT_EQ(machine.link_count({0}, {2}), 1U);
  EXPECT_EQ(machine.link_count({0}, {7}), 0U);
  EXPECT_EQ(machine.link_count({0}, {0}), 0U);
  for (std::uint32_t src = 0; src < 8; ++src) {
    std::uint32_t links = 0;
    for (std::uint32_t dst = 0; dst < 8; ++dst) {
      EXPECT_EQ(machine.link_count({src}, {dst}), machine.link_count({dst}, {src}));
      links += machine.link_count({src}, {dst});
    }
    EXPECT_EQ(machine.link_count({src}, {src ^ 1}), 4U);
    EXPECT_EQ(links, src % 2 == 0 ? 7U : 6U);
  }
}

TEST(T3Ring, EveryGpuReachesTheNextAndThePrevious) {
  const Machine machine = loaded("t3-ring-16");
  for (std::uint32_t src = 0; src < 16; ++src) {
    for (std::uint32_t dst = 0; dst < 16; ++dst) {
      const std::uint32_t distance = (dst + 16 - src) % 16;
      EXPECT_EQ(machine.link_count({src}, {dst}), distance == 1 || distance == 15 ? 1U : 0U) << src << " to " << dst;
    }
  }
  EXPECT_TRUE(machine.features.near_memory_compute);
}

TEST(LinkShape, NvidiaNodesHaveASwitchAndAmdNodesAMesh) {
  for (const std::string name : {"b200-8", "gb200-nvl72", "h100-8", "h200-8", "switch-1024"}) {
    EXPECT_EQ(loaded(name).timing.value().link.shape, LinkShape::switched) << name;
  }
  for (const std::string name : {"mi250x-8", "mi300x-8", "mi325x-8", "mi355x-8", "t3-ring-16", "virtual-64"}) {
    EXPECT_EQ(loaded(name).timing.value().link.shape, LinkShape::mesh) << name;
  }
}

TEST(Switch1024, EveryPairIsJoinedAndNoTableIsKeptThatSaysNothing) {
  const Machine machine = loaded("switch-1024");
  EXPECT_EQ(machine.gpus, 1024U);
  EXPECT_EQ(machine.engines.size(), 16U);
  EXPECT_EQ(machine.link_count({0}, {1023}), 1U);
  EXPECT_EQ(machine.link_count({1023}, {512}), 1U);
  EXPECT_TRUE(machine.affinity.empty());
  EXPECT_TRUE(machine.link_counts.empty());
}

// Every sourced entry of a file contains "value = " once, so there are as many provenances; a machine with a base also
// has those of the base.
TEST(MachineProvenance, ListsEveryValueWithSourceAndConfidence) {
  for (const std::string& name : machine_names()) {
    const std::string text = read_file(file_of(name)).value();
    std::size_t values = 0;
    for (std::size_t at = text.find("value = "); at != std::string::npos; at = text.find("value = ", at + 1)) ++values;
    const Machine machine = loaded(name);
    if (text.find("\nbase = ") == std::string::npos) {
      EXPECT_EQ(machine.provenance.size(), values) << name;
    } else {
      EXPECT_GT(machine.provenance.size(), values) << name;
    }
    std::set<std::string> keys;
    for (const Provenance& entry : machine.provenance) {
      EXPECT_TRUE(keys.insert(entry.key).second) << entry.key;
      EXPECT_FALSE(entry.value.empty() || entry.source.empty() || entry.confidence.empty()) << entry.key;
    }
  }
  const auto entry_of = [](const Machine& machine, const std::string& key) {
    const auto found = std::find_if(machine.provenance.begin(), machine.provenance.end(),
                                    [&key](const Provenance& entry) { return entry.key == key; });
    return found == machine.provenance.end() ? Provenance{} : *found;
  };
  const Provenance swap = entry_of(loaded("mi300x-8"), "dma.max_swap_bytes");
  EXPECT_EQ(swap.value, "1073741760");
  EXPECT_EQ(swap.confidence, "D");
  const Provenance efficiency = entry_of(loaded("h100-8"), "cores.wire_efficiency");
  EXPECT_EQ(efficiency.value, "0.94");
  EXPECT_EQ(efficiency.confidence, "D");
  EXPECT_EQ(entry_of(loaded("mi250x-8"), "links.counts").confidence, "D");
}

TEST(Machines, TellWhatTheyBorrow) {
  const BorrowedConstants own = borrowed_constants(load_machine("mi300x-8").value());
  EXPECT_LT(own.number * 10, own.of);
  const BorrowedConstants b200 = borrowed_constants(load_machine("b200-8").value());
  EXPECT_GT(b200.number * 10, b200.of);
  EXPECT_EQ(b200.from, (std::vector<std::string>{"h100-8", "mi300x-8"}));
  Machine machine;
  machine.provenance = {
      {"a", "1", "as H100, its die", "assumption"}, {"b", "1", "as bf16", "assumption"}, {"c", "1", "measured", "A"}};
  const BorrowedConstants borrowed = borrowed_constants(machine);
  EXPECT_EQ(borrowed.number, 1U);
  EXPECT_EQ(borrowed.of, 3U);
  EXPECT_EQ(borrowed.from, std::vector<std::string>{"h100-8"});
}

}  // namespace machine_test
}  // namespace cortado
