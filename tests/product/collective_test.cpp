// Every collective, variant, rank count, size, launch and placement: planned or refused for a listed reason, proved,
// and run on the embedded node, plain and adversarial, with every output byte of every iteration checked.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::product {
namespace collective_test {

/// Why a request of the GEMM must be refused; empty if it must be planned.
std::string expected_refusal(const CollectiveRequest& request, const VariantInfo& variant) {
  const bool reduces = variant.collective == "reduce-scatter" || variant.collective == "all-reduce";
  if (request.in_place ? !variant.in_place : !variant.out_of_place) return "plan.in_place";
  if (request.prelaunch && variant.on_cores) return "plan.prelaunch";
  if (reduces && request.bytes.value % size_of(request.dtype).value != 0) return "plan.size";
  if (variant.variant == "swap" && request.bytes.value % (64 * request.ranks) != 0) return "plan.size";
  return {};
}

bool is_of_library(const VariantInfo& variant) {
  return variant.of_library || variant.variant == kLibraryVariant;
}

/// Machines that know their library for what it runs; MI300X with its affinity table as far as it goes, the virtual
/// machines beyond.
const Machine& machine_for(const VariantInfo& variant, std::uint32_t ranks) {
  if (variant.variant.starts_with("add") || variant.variant == "mcast") return machine("virtual-64-nmc");
  if (is_of_library(variant)) return machine(ranks <= 8 ? "h100-8" : "gb200-nvl72");
  return machine(ranks <= 8 ? "mi300x-8" : "virtual-64");
}

/// Plans, proves and runs one request on the nodes, or sees it refused.
void check(const CollectiveRequest& request, const VariantInfo& variant, const Machine& on, std::vector<Node>& nodes) {
  SCOPED_TRACE(describe(request));
  const Result<Program> program = plan_collective(request, on);
  const std::string refusal = expected_refusal(request, variant);
  if (!refusal.empty()) {
    ASSERT_FALSE(program) << "should be refused with " << refusal;
    EXPECT_EQ(program.error().code, refusal);
    EXPECT_FALSE(program.error().hint.empty());
    return;
  }
  ASSERT_TRUE(program) << to_string(program.error());
  const auto verified = verify(*program, on);
  ASSERT_TRUE(verified) << to_text(verified.error());
  for (Node& node : nodes) ASSERT_EQ(node.run(*verified), "");
}

std::vector<Node> nodes_for(const Machine& on, std::uint32_t ranks) {
  std::vector<Node> nodes;
  nodes.emplace_back(on, ranks, std::nullopt);
  nodes.emplace_back(on, ranks, 1000 + ranks);
  return nodes;
}

/// One byte, fewer bytes than ranks, odd, aligned, uneven and larger than a page; 192 N suits swap. The large sizes go
/// with few ranks and many ranks with few sizes: the work grows with bytes x ranks^2 and would add no other case.
std::vector<std::uint64_t> sizes_for(std::uint32_t ranks) {
  if (ranks > 9) return {7, 4108, 192 * ranks};
  return {1, 7, 64, 1000, 4096, ranks <= 4 ? 65536u + 12 : 8192u + 12, 192 * ranks};
}

class CollectiveProduct : public testing::TestWithParam<std::tuple<VariantInfo, std::uint32_t>> {};

TEST_P(CollectiveProduct, EverySizeLaunchAndPlacement) {
  const auto& [variant, ranks] = GetParam();
  const Machine& on = machine_for(variant, ranks);
  std::vector<Node> nodes = nodes_for(on, ranks);
  std::uint32_t turn = 0;
  for (const std::uint64_t bytes : sizes_for(ranks)) {
    for (const bool in_place : {false, true}) {
      for (const bool prelaunch : {false, true}) {
        for (const HostThreads host : {HostThreads::single, HostThreads::per_rank}) {
          if (variant.on_cores && host == HostThreads::single) continue;  // has a host per rank anyway
          CollectiveRequest request{.collective = variant.collective,
                                    .variant = variant.variant,
                                    .bytes = Bytes{bytes},
                                    .ranks = ranks,
                                    .prelaunch = prelaunch,
                                    .in_place = in_place,
                                    .host = host};
          const bool rooted = variant.collective == "broadcast" || variant.collective == "gather" ||
                              variant.collective == "scatter" || variant.collective == "point-to-point";
          if (rooted) request.root = RankId{turn++ % ranks};
          if (variant.collective == "point-to-point") request.peer = RankId{(request.root.value + 1) % ranks};
          check(request, variant, on, nodes);
        }
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<CollectiveProduct::ParamType>& info) {
  const auto& [variant, ranks] = info.param;
  std::string name = fmt::format("{}_{}_{}", variant.collective, variant.variant, ranks);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, CollectiveProduct,
                         testing::Combine(testing::ValuesIn(list_variants()),
                                          testing::ValuesIn(swept_ranks({2, 3, 4, 5, 6, 7, 8, 9, 16}))),
                         name_of);

TEST(Collective, BackToBackWithEveryNumberOfWays) {
  const std::uint32_t ranks = 5;
  for (const VariantInfo& variant : list_variants()) {
    if (variant.variant != "b2b") continue;
    const Machine& on = machine_for(variant, ranks);
    std::vector<Node> nodes = nodes_for(on, ranks);
    for (std::uint32_t ways = 1; ways <= ranks; ++ways) {
      const CollectiveRequest request{.collective = variant.collective,
                                      .variant = variant.variant,
                                      .bytes = Bytes{1001},
                                      .ranks = ranks,
                                      .ways = ways};
      check(request, variant, on, nodes);
    }
  }
}

TEST(Collective, ReductionsOfEveryElementType) {
  const std::uint32_t ranks = 4;
  for (const VariantInfo& variant : list_variants()) {
    if (variant.collective != "reduce-scatter" && variant.collective != "all-reduce") continue;
    const Machine& on = machine_for(variant, ranks);
    std::vector<Node> nodes = nodes_for(on, ranks);
    for (const DType dtype : {DType::u8, DType::i32, DType::f16, DType::bf16, DType::f32}) {
      for (const std::uint64_t bytes : {37ul, 36ul, 5000ul}) {
        check({.collective = variant.collective,
               .variant = variant.variant,
               .bytes = Bytes{bytes},
               .ranks = ranks,
               .dtype = dtype},
              variant, on, nodes);
      }
    }
  }
}

// Several commands a move, and engines and queues shared by several peers.
TEST(Collective, OnAMachineOfSmallPacketsAndFewEngines) {
  Machine tight = machine("virtual-64-nmc");
  tight.dma.max_copy_bytes = Bytes{252};
  tight.dma.max_swap_bytes = Bytes{255};
  tight.dma.queues_per_engine = 2;
  std::erase_if(tight.engines, [](const Engine& e) { return e.kind == EngineClass::peer && e.id.value > 3; });
  const std::uint32_t ranks = 7;  // six peers on two engines of two queues each
  std::vector<Node> nodes = nodes_for(tight, ranks);
  for (const VariantInfo& variant : list_variants()) {
    if (is_of_library(variant)) continue;  // the machine knows none
    for (const HostThreads host : {HostThreads::single, HostThreads::per_rank}) {
      check({.collective = variant.collective,
             .variant = variant.variant,
             .bytes = Bytes{64 * 7 * 12},
             .ranks = ranks,
             .prelaunch = host == HostThreads::single && !variant.on_cores,
             .in_place = !variant.out_of_place,
             .host = host},
            variant, tight, nodes);
    }
  }
}

// Blocks of 128 KiB are cut into two pieces, one chain of adds each.
TEST(Collective, AddChainsOfSeveralPieces) {
  const std::uint32_t ranks = 3;
  const Machine& on = machine("virtual-64-nmc");
  std::vector<Node> nodes = nodes_for(on, ranks);
  for (const VariantInfo& variant : list_variants()) {
    if (variant.variant != "add") continue;
    for (const bool in_place : {false, true}) {
      check({.collective = variant.collective,
             .variant = variant.variant,
             .bytes = 128_KiB * ranks,
             .ranks = ranks,
             .in_place = in_place,
             .host = HostThreads::per_rank},
            variant, on, nodes);
    }
  }
}

// A machine that is one ring: neighbours are all that there is.
TEST(Collective, AroundARing) {
  const std::uint32_t ranks = 8;
  const Machine& on = machine("t3-ring-8");
  std::vector<Node> nodes = nodes_for(on, ranks);
  for (const VariantInfo& variant : list_variants()) {
    if (!variant.variant.ends_with("ring") || is_of_library(variant)) continue;
    for (const std::uint64_t bytes : {6ul, 5000ul, 8192ul}) {  // fewer elements than ranks, uneven, even
      for (const bool in_place : {false, true}) {
        check({.collective = variant.collective,
               .variant = variant.variant,
               .bytes = Bytes{bytes},
               .ranks = ranks,
               .in_place = in_place,
               .dtype = DType::f16},
              variant, on, nodes);
      }
    }
  }
}

TEST(Collective, SixtyFourRanks) {
  const std::uint32_t ranks = 64;
  const Machine& on = machine("virtual-64");
  std::vector<Node> nodes;
  nodes.emplace_back(on, ranks, std::nullopt);
  for (const VariantInfo& variant : list_variants()) {
    if (variant.variant != "b2b" && variant.variant != "swap" && variant.variant != "cores-simple") continue;
    check({.collective = variant.collective,
           .variant = variant.variant,
           .bytes = Bytes{64} * ranks,
           .ranks = ranks,
           .in_place = variant.in_place},
          variant, on, nodes);
  }
}

// The numbers of repeats are small because the cases above already run under different seeds.
TEST(Collective, ManySeedsForOneOfEach) {
  const std::uint32_t ranks = 4;
  for (const VariantInfo& variant : list_variants()) {
    const Machine& on = machine_for(variant, ranks);
    const CollectiveRequest request{.collective = variant.collective,
                                    .variant = variant.variant,
                                    .bytes = Bytes{64 * 4 * 3},
                                    .ranks = ranks,
                                    .prelaunch = !variant.on_cores,
                                    .in_place = variant.in_place,
                                    .host = HostThreads::per_rank};
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      std::vector<Node> nodes;
      nodes.emplace_back(on, ranks, seed);
      check(request, variant, on, nodes);
    }
  }
}

}  // namespace collective_test
}  // namespace cortado::product
