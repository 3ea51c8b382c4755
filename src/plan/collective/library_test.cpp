#include "plan/collective/library.hpp"

#include <map>

#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "ir/visit.hpp"

namespace cortado::plan {
namespace library_test {

Machine machine(const char* name) {
  const auto loaded = load_machine(name);
  EXPECT_TRUE(loaded);
  return *loaded;
}

CollectiveRequest asked(Collective collective, Bytes bytes, std::uint32_t ranks) {
  CollectiveRequest request;
  request.collective = collective;
  request.variant = kLibraryVariant;
  request.bytes = bytes;
  request.ranks = ranks;
  return request;
}

std::string choice(Collective collective, Bytes bytes, std::uint32_t ranks, const Machine& on) {
  const auto variant = library_variant(asked(collective, bytes, ranks), on);
  return variant ? *variant : variant.error().code;
}

TEST(BalancedRings, UseEveryLinkOfAMeshEquallyOften) {
  const Machine mesh = machine("mi300x-8");
  for (std::uint32_t ranks = 3; ranks <= 8; ++ranks) {
    const auto rings = balanced_rings(ranks, mesh);
    EXPECT_EQ(rings.size(), ranks % 2 == 1 ? ranks - 1 : 2 * (ranks - 1));
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> uses;
    for (const auto& ring : rings) {
      ASSERT_EQ(ring.size(), ranks);
      for (std::size_t i = 0; i < ring.size(); ++i) ++uses[{ring[i].value, ring[(i + 1) % ring.size()].value}];
    }
    EXPECT_EQ(uses.size(), ranks * (ranks - 1)) << ranks << " ranks";
    for (const auto& [link, times] : uses) EXPECT_EQ(times, ranks % 2 == 1 ? 1U : 2U) << ranks << " ranks";
  }
}

TEST(BalancedRings, AreOneBehindASwitch) {
  EXPECT_EQ(balanced_rings(8, machine("h100-8")).size(), 1U);
}

/// The sizes at which NCCL 2.29 changes on H100 (graph/tuning.cc): LL, LL128 if it exists, simple, and NVLS on all
/// eight.
TEST(LibraryChoice, IsThatOfNcclOnH100) {
  const Machine h100 = machine("h100-8");
  for (const Collective collective : {Collective("all-gather"), Collective("reduce-scatter")}) {
    for (const std::uint32_t ranks : {2U, 4U}) {
      EXPECT_EQ(choice(collective, 2_MiB, ranks, h100), "ring-ll");
      EXPECT_EQ(choice(collective, 4_MiB, ranks, h100), "ring-simple");
    }
    EXPECT_EQ(choice(collective, 4_MiB, 8, h100), "ring-ll");
    EXPECT_EQ(choice(collective, 8_MiB, 8, h100), "ring-ll128");
    EXPECT_EQ(choice(collective, 16_MiB, 8, h100), "ring-ll128");
    EXPECT_EQ(choice(collective, 32_MiB, 8, h100), "ring-simple");
  }
  EXPECT_EQ(choice("all-reduce", 1_MiB, 2, h100), "ring-ll");
  EXPECT_EQ(choice("all-reduce", 2_MiB, 2, h100), "ring-simple");
  EXPECT_EQ(choice("all-reduce", 8_MiB, 4, h100), "ring-ll128");
  EXPECT_EQ(choice("all-reduce", 16_MiB, 4, h100), "ring-simple");
  EXPECT_EQ(choice("all-reduce", 512_MiB, 4, h100), "ring-simple");
  EXPECT_EQ(choice("all-reduce", 1_MiB, 8, h100), "ring-ll");
  EXPECT_EQ(choice("all-reduce", 2_MiB, 8, h100), "nvls");
  EXPECT_EQ(choice("all-to-all", 128_KiB, 8, h100), "sends-ll");
  EXPECT_EQ(choice("all-to-all", 256_KiB, 8, h100), "sends-simple");
}

/// RCCL changes at 0.39 MB (graph/tuning.cc), and takes direct kernels on gfx950 up to 128 MiB with all ranks.
TEST(LibraryChoice, IsThatOfRccl) {
  const Machine mi300x = machine("mi300x-8");
  EXPECT_EQ(choice("all-reduce", 256_KiB, 8, mi300x), "ring-ll");
  EXPECT_EQ(choice("all-reduce", 512_KiB, 8, mi300x), "ring-simple");
  const Machine mi355x = machine("mi355x-8");
  EXPECT_EQ(choice("all-reduce", 256_KiB, 8, mi355x), "cores-ll");
  EXPECT_EQ(choice("all-reduce", 128_MiB, 8, mi355x), "cores-simple");
  EXPECT_EQ(choice("all-reduce", 256_MiB, 8, mi355x), "ring-simple");
  EXPECT_EQ(choice("all-reduce", 64_MiB, 4, mi355x), "ring-simple");
  EXPECT_EQ(choice("all-reduce", 1_MiB, 8, machine("virtual-64")), "plan.library");
}

/// 16 channels and 8 ranks: 16 KiB below 8 MiB, 32 KiB below 64 MiB, 64 KiB below 1 GiB.
TEST(MulticastChunk, GrowsWithTheMessage) {
  EXPECT_EQ(multicast_chunk(8_MiB - Bytes{1}, 8, 16), 16_KiB);
  EXPECT_EQ(multicast_chunk(8_MiB, 8, 16), 32_KiB);
  EXPECT_EQ(multicast_chunk(64_MiB, 8, 16), 64_KiB);
  EXPECT_EQ(multicast_chunk(1_GiB, 8, 16), 128_KiB);
}

TEST(LibraryPrograms, AreProvedInAndOutOfPlace) {
  for (const char* name : {"h100-8", "mi300x-8"}) {
    const Machine on = machine(name);
    for (const VariantInfo& info : list_variants()) {
      if (!info.of_library) continue;
      for (const bool in_place : {false, true}) {
        if (in_place && !info.in_place) continue;
        for (const std::uint32_t ranks : {2U, 3U, 8U}) {
          CollectiveRequest request = asked(info.collective, Bytes{4 * 1000}, ranks);
          request.variant = info.variant;
          request.in_place = in_place;
          const auto program = plan_collective(request, on);
          if (!program) {
            EXPECT_EQ(program.error().code, "plan.feature") << info.variant << ": " << program.error().message;
            continue;
          }
          const auto proved = verify(*program, on);
          EXPECT_TRUE(proved) << name << ' ' << info.collective.name() << ' ' << info.variant << ' ' << ranks;
        }
      }
    }
  }
}

/// N-1 steps of an all-gather, twice as many of an all-reduce, in every ring of every rank; the owner's last sum is
/// sent on directly.
TEST(LibraryPrograms, HaveTheStepsOfARing) {
  const Machine h100 = machine("h100-8");
  CollectiveRequest request = asked("all-reduce", 1_MiB, 4);
  request.variant = "ring-simple";
  const auto program = plan_collective(request, h100);
  ASSERT_TRUE(program);
  std::map<std::uint32_t, std::size_t> moves;  // by rank, that leave the GPU
  for (const Queue& queue : program->queues) {
    if (queue.kind != QueueKind::compute) continue;
    EXPECT_EQ(queue.protocol, Protocol::simple);
    for (const Command& command : queue.commands) {
      for (const Access& access : accesses(command)) {
        if (access.kind != AccessKind::write) continue;
        moves[queue.rank->value] += program->buffer(access.region.buffer).rank != *queue.rank ? 1U : 0U;
      }
    }
  }
  for (const auto& [rank, count] : moves) EXPECT_EQ(count, 6U) << rank;
}

TEST(LibraryPrograms, HoldTheUnitsOfTheLibrary) {
  const Machine h100 = machine("h100-8");
  const auto program = plan_collective(asked("all-gather", 512_MiB, 8), h100);
  ASSERT_TRUE(program);
  for (const Queue& queue : program->queues) {
    if (queue.kind == QueueKind::compute) {
      EXPECT_EQ(queue.compute_units, h100.timing->cores.collective_units);
    }
  }
}

TEST(LibraryPrograms, AreFoundByTheNamesOfTheLibraries) {
  for (const char* name : {"library", "rccl", "nccl"}) {
    CollectiveRequest request = asked("all-gather", 1_MiB, 8);
    request.variant = name;
    EXPECT_TRUE(plan_collective(request, machine("h100-8"))) << name;
  }
}

}  // namespace library_test
}  // namespace cortado::plan
