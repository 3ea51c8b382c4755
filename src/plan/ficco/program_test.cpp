// Programs of schedules, worked out by hand.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cortado/target.hpp"

#include "plan/ficco/testing.hpp"

namespace cortado::plan {
namespace ficco_program_test {

using testing::Each;
using testing::ElementsAre;

/// "copy signal wait copy", the words of the commands of a queue.
std::string story(const Program& program, std::string_view queue_name) {
  const auto queue = std::find_if(program.queues.begin(), program.queues.end(),
                                  [&](const Queue& one) { return one.name == queue_name; });
  if (queue == program.queues.end()) return "no queue";
  std::string words;
  for (const Command& command : queue->commands) {
    words += match(
        command, [](const Copy&) { return "copy "; }, [](const Broadcast&) { return "broadcast "; },
        [](const Wait&) { return "wait "; }, [](const Signal&) { return "signal "; },
        [](const Gemm& gemm) { return gemm.accumulate ? "add " : "gemm "; },
        [](const Kernel& kernel) {
          return kernel.op == KernelOp::reduce ? "sum " : kernel.op == KernelOp::gather_rows ? "gather " : "scatter ";
        },
        [](const auto&) { return "? "; });
  }
  words.pop_back();
  return words;
}

/// All of one type in the queues of a kind of rank 0.
template <class T>
std::vector<T> of_rank_0(const Program& program, QueueKind kind) {
  std::vector<T> all;
  for (const auto& [queue, command] : commands_on<T>(program, kind)) {
    if (queue->rank == RankId{0}) all.push_back(command);
  }
  return all;
}

std::string name_of_buffer(const Program& program, const Region& region) {
  return program.buffer(region.buffer).name;
}

/// First row and number of rows of a part of a matrix with rows of this many bytes.
std::pair<std::uint64_t, std::uint64_t> rows_in(const Region& region, std::uint64_t row_bytes) {
  return {region.offset.value / row_bytes, region.bytes().value / row_bytes};
}

std::size_t count_queues(const Program& program, QueueKind kind) {
  return static_cast<std::size_t>(std::count_if(program.queues.begin(), program.queues.end(),
                                                [&](const Queue& queue) { return queue.kind == kind; }));
}

BufferRole program_role(const Program& program, const Region& region) {
  return program.buffer(region.buffer).role;
}

DependentRequest product_first(const GemmShape& shape, std::uint32_t ranks, Collective collective) {
  return {.gemm = shape, .collective = collective, .dependence = Dependence::product_first, .ranks = ranks};
}

class FiccoProgram : public testing::Test {
 protected:
  FiccoPlan plan(const GemmShape& shape, std::uint32_t ranks, std::string_view name, std::uint32_t chunks = 0,
                 ExchangeVariant exchange = ExchangeVariant::pcpy) {
    FiccoSchedule schedule = schedule_for_test(name, chunks);
    schedule.exchange = exchange;
    return ficco_for_test({.gemm = shape, .ranks = ranks}, schedule, machine_);
  }

  const Machine machine_ = machine_for_test("mi300x-8");
};

// bf16: rows of A have 64 bytes, rows of C 16.
constexpr GemmShape kTwoRanks{16, 8, 32};

TEST_F(FiccoProgram, HeteroFusedOfTwoRanksHasNothingToScatter) {
  const auto [program, footprint, staging, steps, is_cut] = plan(kTwoRanks, 2, "hetero-fused-1d");
  EXPECT_EQ(steps, 2U);
  // GPU 0 reaches GPU 1 by engine 14 (machine file).
  EXPECT_EQ(story(program, "dma0.14"), "copy signal copy signal");
  EXPECT_EQ(story(program, "compute0"), "gemm wait gemm wait gemm signal");

  const auto copies = of_rank_0<Copy>(program, QueueKind::dma);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(name_of_buffer(program, copies[0].src), "a0");
  EXPECT_EQ(name_of_buffer(program, copies[0].dst), "stage.even1");
  EXPECT_EQ(name_of_buffer(program, copies[1].dst), "stage.odd1");
  EXPECT_EQ(rows_in(copies[0].src, 64), std::pair(0UL, 4UL));
  EXPECT_EQ(rows_in(copies[1].src, 64), std::pair(4UL, 4UL));

  const auto gemms = of_rank_0<Gemm>(program, QueueKind::compute);
  ASSERT_EQ(gemms.size(), 3U);
  EXPECT_EQ(name_of_buffer(program, gemms[0].a), "a0");  // the own 8 rows
  EXPECT_EQ(rows_in(gemms[0].c, 16), std::pair(0UL, 8UL));
  EXPECT_EQ(name_of_buffer(program, gemms[1].a), "stage.even0");
  EXPECT_EQ(rows_in(gemms[1].c, 16), std::pair(8UL, 4UL));
  EXPECT_EQ(rows_in(gemms[2].c, 16), std::pair(12UL, 4UL));
  EXPECT_EQ(gemms[2].k, 32U);

  // a 8 x 64 bytes, b 32 x 16, c 16 x 16, and two stagings of 4 x 64.
  EXPECT_EQ(staging, Bytes{512});
  EXPECT_EQ(footprint, Bytes{512 + 512 + 256 + 512});
}

// bf16: rows of A have 128 bytes, rows of C 32. Shards of 16 rows; with 4 chunks pieces of 4 rows.
constexpr GemmShape kFourRanks{64, 16, 64};

TEST_F(FiccoProgram, UniformFusedStagesItsOwnRowsAndScattersTheResult) {
  const auto [program, footprint, staging, steps, is_cut] = plan(kFourRanks, 4, "uniform-fused-1d");
  EXPECT_EQ(steps, 4U);
  // The stagings are refilled in steps 2 and 3.
  EXPECT_EQ(story(program, "dma0.14"), "copy signal copy signal wait copy signal wait copy signal");
  EXPECT_EQ(story(program, "compute0"),
            "copy wait wait wait gemm signal scatter "
            "copy wait wait wait gemm signal scatter "
            "copy wait wait wait gemm scatter "
            "copy wait wait wait gemm scatter signal");

  // Rows of rank 2 come after those of ranks 0 and 1, everywhere.
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) {
    EXPECT_EQ(rows_in(copy.dst, 128), std::pair(std::uint64_t{queue->rank->value} * 4, 4UL));
  }
  const auto gemms = of_rank_0<Gemm>(program, QueueKind::compute);
  ASSERT_EQ(gemms.size(), 4U);
  for (const Gemm& gemm : gemms) {
    EXPECT_EQ(gemm.m, 16U);
    EXPECT_EQ(name_of_buffer(program, gemm.c), "out0");
  }
  const auto scatters = of_rank_0<Kernel>(program, QueueKind::compute);
  ASSERT_EQ(scatters.size(), 4U);
  for (std::uint64_t step = 0; step < 4; ++step) {
    const Kernel& scatter = scatters[step];
    EXPECT_EQ(scatter.op, KernelOp::scatter_rows);
    EXPECT_THAT(scatter.rows, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(name_of_buffer(program, scatter.dst), "c0");
    EXPECT_EQ(scatter.dst.offset, Bytes{step * 4 * 32});
    EXPECT_EQ(scatter.dst.width, Bytes{4 * 32});
    EXPECT_EQ(scatter.dst.pitch, Bytes{16 * 32});
  }
  // a 16 x 128, b 64 x 32, c 64 x 32; stagings 16 x 128 twice, out 16 x 32.
  EXPECT_EQ(staging, Bytes{2 * 2048 + 512});
  EXPECT_EQ(footprint, Bytes{3 * 2048 + 2 * 2048 + 512});
}

TEST_F(FiccoProgram, HeteroFusedLeavesItsOwnRowsOutOfSteps) {
  const Program program = plan(kFourRanks, 4, "hetero-fused-1d").program;
  EXPECT_EQ(story(program, "compute1"),
            "gemm wait wait wait gemm signal scatter wait wait wait gemm signal scatter "
            "wait wait wait gemm scatter wait wait wait gemm scatter signal");
  for (const auto& [queue, scatter] : commands_on<Kernel>(program, QueueKind::compute)) {
    // In shards from the first place: ranks 1, 2, 3 for rank 0, ranks 0, 2, 3 for rank 1.
    if (queue->rank == RankId{0}) {
      EXPECT_THAT(scatter.rows, ElementsAre(0, 1, 2));
    } else if (queue->rank == RankId{1}) {
      EXPECT_THAT(scatter.rows, ElementsAre(0, 2, 3));
    }
  }
}

TEST_F(FiccoProgram, UnfusedPiecesLandInPlaceAndAreProductsOfTheirOwn) {
  const auto [program, footprint, staging, steps, is_cut] = plan(kFourRanks, 4, "hetero-unfused-1d", 2);
  EXPECT_EQ(story(program, "dma0.14"), "copy signal copy signal");
  EXPECT_EQ(story(program, "compute0"), "gemm wait gemm wait gemm wait gemm wait gemm wait gemm wait gemm signal");
  const auto gemms = of_rank_0<Gemm>(program, QueueKind::compute);
  std::vector<std::uint64_t> first_rows;
  for (const Gemm& gemm : gemms) {
    EXPECT_EQ(name_of_buffer(program, gemm.a), "a0");
    EXPECT_EQ(gemm.a.offset.value / 128, gemm.c.offset.value / 32);
    first_rows.push_back(gemm.c.offset.value / 32);
  }
  EXPECT_THAT(first_rows, ElementsAre(0, 16, 32, 48, 24, 40, 56));
  EXPECT_EQ(staging, Bytes{});
  EXPECT_EQ(footprint, Bytes{64 * 128 + 2048 + 2048});  // all of A, b, c
}

TEST_F(FiccoProgram, PanelsAddUp) {
  const auto [program, footprint, staging, steps, is_cut] = plan(kFourRanks, 4, "uniform-fused-2d");
  EXPECT_EQ(story(program, "compute0"),
            "copy wait wait wait gemm signal copy wait wait wait add signal copy wait wait wait add "
            "copy wait wait wait add signal");
  const auto copies = of_rank_0<Copy>(program, QueueKind::dma);
  ASSERT_EQ(copies.size(), 12U);
  // 16 of 64 columns, 32 bytes; 16 rows that are 128 bytes apart here and contiguous in the staging.
  EXPECT_THAT(copies, Each(testing::Truly([](const Copy& copy) {
                return copy.src.rows == 16 && copy.src.width == Bytes{32} && copy.src.pitch == Bytes{128} &&
                       copy.dst.pitch == Bytes{32};
              })));
  const auto gemms = of_rank_0<Gemm>(program, QueueKind::compute);
  ASSERT_EQ(gemms.size(), 4U);
  for (std::uint64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(shape_of(gemms[step]), (GemmShape{64, 16, 16, DType::bf16, step > 0}));
    EXPECT_EQ(rows_in(gemms[step].b, 32), std::pair(step * 16, 16UL));
    EXPECT_EQ(name_of_buffer(program, gemms[step].c), "c0");
  }
  EXPECT_EQ(staging, Bytes{2 * 64 * 32});
}

TEST_F(FiccoProgram, HeteroFusedPanelsAreScatteredWhenTheyHaveAddedUp) {
  const Program program = plan(kFourRanks, 4, "hetero-fused-2d", 2).program;
  EXPECT_EQ(story(program, "compute0"), "gemm wait wait wait gemm wait wait wait add signal");  // rows 16 to 63
  EXPECT_EQ(story(program, "compute1"), "gemm wait wait wait gemm wait wait wait add scatter signal");
}

TEST_F(FiccoProgram, StridedCopiesKeepToTheirPackets) {
  // 40000 rows of a rank; a packet takes 16384 of them: three for each panel.
  const Program program = plan({80000, 8, 64}, 2, "uniform-fused-2d").program;
  EXPECT_EQ(story(program, "dma0.14"), "copy copy copy signal copy copy copy signal");
  const auto copies = of_rank_0<Copy>(program, QueueKind::dma);
  EXPECT_EQ(copies[0].src.rows, 16384U);
  EXPECT_EQ(copies[2].src.rows, 40000U - 2 * 16384U);
}

TEST_F(FiccoProgram, SerialIsOneProductAfterTheWholeCollective) {
  const auto [program, footprint, staging, steps, is_cut] = plan(kFourRanks, 4, "serial-dma");
  EXPECT_EQ(steps, 1U);
  EXPECT_EQ(story(program, "dma0.14"), "copy signal");
  EXPECT_EQ(story(program, "compute0"), "wait wait wait gemm signal");
  EXPECT_EQ(count(program).commands, 12U);
}

TEST_F(FiccoProgram, ShardP2pHasOneQueueAndOneShardAtATime) {
  const Program program = plan(kFourRanks, 4, "shard-p2p").program;
  // The third shard goes where the first one was, on another rank: it waits for that rank.
  EXPECT_EQ(story(program, "dma1.2"), "copy signal copy signal wait copy signal");
  EXPECT_EQ(story(program, "compute1"), "gemm wait gemm signal wait gemm wait gemm signal");
  std::vector<std::uint32_t> peers;
  for (const auto& [queue, copy] : commands_on<Copy>(program, QueueKind::dma)) {
    if (queue->rank == RankId{1}) peers.push_back(rank_of(program, copy.dst));
  }
  EXPECT_THAT(peers, ElementsAre(2, 3, 0));
}

TEST_F(FiccoProgram, AllToAllMultipliesWhatArrives) {
  DependentRequest request{.gemm = {10, 8, 32}, .collective = "all-to-all", .ranks = 2, .tokens = {{1, 2}, {3, 4}}};
  const auto [program, footprint, staging, steps, is_cut] =
      ficco_for_test(request, schedule_for_test("serial-dma"), machine_);
  // Rank 0 has 3 rows, keeps 1 and receives 3: its GEMM has 4. Rank 1 has 7 and multiplies 2 + 4.
  const auto gemms = commands_on<Gemm>(program, QueueKind::compute);
  ASSERT_EQ(gemms.size(), 2U);
  EXPECT_EQ(gemms[0].second.m, 4U);
  EXPECT_EQ(gemms[1].second.m, 6U);
  EXPECT_EQ(story(program, "compute1"), "copy wait gemm signal");
  // Rank 1: a 7 x 64, gathered 6 x 64, b 32 x 16, c 6 x 16.
  EXPECT_EQ(footprint, Bytes{7 * 64 + 6 * 64 + 512 + 96});
  ASSERT_EQ(program.contract.products.size(), 2U);
  EXPECT_EQ(program.contract.products[1].products[0].a.size(), 2U);
}

TEST_F(FiccoProgram, PartsOfAProductAreSentAsTheyAreMade) {
  // Rows of A have 64 bytes, of C 16. Rank 0 keeps rows 0 to 7 of both GEMMs; steps have 4 of them and 4 of the
  // others.
  const auto [program, footprint, staging, steps, is_cut] =
      ficco_for_test(product_first({16, 8, 32}, 2, "reduce-scatter"), schedule_for_test("uniform-fused-1d"), machine_);
  EXPECT_EQ(steps, 2U);
  EXPECT_EQ(story(program, "dma0.14"), "wait copy signal wait copy signal");
  EXPECT_EQ(story(program, "compute0"), "gather gemm signal gather gemm signal wait sum wait sum signal");
  const auto kernels = of_rank_0<Kernel>(program, QueueKind::compute);
  EXPECT_THAT(kernels[0].rows, ElementsAre(0, 1));  // blocks of 4 rows, 8 rows apart
  EXPECT_EQ(kernels[0].sources[0].width, Bytes{4 * 64});
  EXPECT_EQ(kernels[0].sources[0].pitch, Bytes{8 * 64});
  const Kernel& sum = kernels[2];
  ASSERT_EQ(sum.sources.size(), 2U);
  EXPECT_EQ(name_of_buffer(program, sum.sources[0]), "out.even0");
  EXPECT_EQ(name_of_buffer(program, sum.sources[1]), "land.even0");
  EXPECT_EQ(rows_in(sum.dst, 16), std::pair(0UL, 4UL));
  // rows 8 x 64; two outputs of 8 x 16 and two landings of 4 x 16.
  EXPECT_EQ(staging, Bytes{512 + 2 * 128 + 2 * 64});
  EXPECT_EQ(footprint, Bytes{16 * 64 + 32 * 16 + 8 * 16} + staging);
}

TEST_F(FiccoProgram, OwnRowsOfAProductAreMadeWhileTheLastStepTravels) {
  const Program sums =
      ficco_for_test(product_first({16, 8, 32}, 2, "reduce-scatter"), schedule_for_test("hetero-unfused-1d"), machine_)
          .program;
  EXPECT_EQ(story(sums, "compute0"), "gemm signal gemm signal gemm wait sum wait sum signal");
  const Program moves =
      ficco_for_test(product_first({16, 8, 32}, 2, "all-to-all"), schedule_for_test("hetero-unfused-1d"), machine_)
          .program;
  EXPECT_EQ(story(moves, "compute0"), "gemm signal gemm signal gemm wait signal");
  for (const auto& [queue, copy] : commands_on<Copy>(moves, QueueKind::dma)) {
    EXPECT_EQ(program_role(moves, copy.dst), BufferRole::output);
  }
}

TEST_F(FiccoProgram, PanelsOfAProductHaveAllRows) {
  const Program program =
      ficco_for_test(product_first({64, 64, 16}, 4, "reduce-scatter"), schedule_for_test("uniform-fused-2d"), machine_)
          .program;
  const auto gemms = of_rank_0<Gemm>(program, QueueKind::compute);
  ASSERT_EQ(gemms.size(), 4U);
  for (const Gemm& gemm : gemms) EXPECT_EQ(shape_of(gemm), (GemmShape{64, 16, 16}));
  // An output is reused when all three pieces have left it, a landing when it has been added up.
  EXPECT_EQ(story(program, "compute0"),
            "gemm signal gemm signal wait wait wait sum signal wait wait wait gemm signal wait wait wait sum signal "
            "wait wait wait gemm signal wait wait wait sum wait wait wait sum signal");
  EXPECT_EQ(story(program, "dma0.14"), "wait copy signal wait copy signal wait wait copy signal wait wait copy signal");
}

TEST_F(FiccoProgram, CopiesOfAStepBackToBackHaveOneQueueAndOneSignal) {
  const Program program = plan(kFourRanks, 4, "uniform-fused-1d", 0, ExchangeVariant::b2b).program;
  EXPECT_EQ(count_queues(program, QueueKind::dma), 4U);
  // Every staging that is refilled is waited for right before its copy.
  EXPECT_EQ(story(program, "dma0.8"),
            "copy copy copy signal copy copy copy signal "
            "wait copy wait copy wait copy signal wait copy wait copy wait copy signal");
  // Three others send, each with one signal.
  EXPECT_EQ(story(program, "compute0").substr(0, 31), "copy wait wait wait gemm signal");

  // If the GEMM comes first: one wait for it, and its output is reused after one signal.
  FiccoSchedule schedule = schedule_for_test("uniform-fused-2d");
  schedule.exchange = ExchangeVariant::b2b;
  const Program sums = ficco_for_test(product_first({64, 64, 16}, 4, "reduce-scatter"), schedule, machine_).program;
  EXPECT_EQ(story(sums, "dma0.8"),
            "wait copy copy copy signal wait copy copy copy signal "
            "wait wait copy wait copy wait copy signal wait wait copy wait copy wait copy signal");
  EXPECT_EQ(story(sums, "compute0"),
            "gemm signal gemm signal wait wait wait sum signal wait gemm signal wait wait wait sum signal "
            "wait gemm signal wait wait wait sum wait wait wait sum signal");
}

TEST_F(FiccoProgram, ABroadcastBringsTheSameRowsToTwoPeers) {
  // GPU 0 reaches 3, 2 and 1 by engines 2, 12 and 14: the first stays alone, the others share engine 14.
  const Program program = plan(kFourRanks, 4, "uniform-fused-1d", 0, ExchangeVariant::bcst).program;
  EXPECT_EQ(count_queues(program, QueueKind::dma), 8U);
  EXPECT_EQ(story(program, "dma0.2"), "copy signal copy signal wait copy signal wait copy signal");
  EXPECT_EQ(story(program, "dma0.14"),
            "broadcast signal broadcast signal wait wait broadcast signal wait wait broadcast signal");
  const auto broadcasts = of_rank_0<Broadcast>(program, QueueKind::dma);
  ASSERT_EQ(broadcasts.size(), 4U);
  EXPECT_EQ(name_of_buffer(program, broadcasts[0].dst1), "stage.even2");
  EXPECT_EQ(name_of_buffer(program, broadcasts[0].dst2), "stage.even1");
  EXPECT_EQ(rows_in(broadcasts[1].src, 128), std::pair(4UL, 4UL));
}

TEST_F(FiccoProgram, PlacesThatNoBroadcastReachesGetCopies) {
  // Rows of 4 bytes, pieces of 16. GPU 1 sends to 3 and 0 by engine 14. Its rows are second in the staging of GPU 3,
  // after those of GPU 0, and first in that of GPU 0: 16 bytes apart in a unit of 32.
  const Program program = plan({64, 16, 2}, 4, "hetero-fused-1d", 0, ExchangeVariant::bcst).program;
  EXPECT_EQ(story(program, "dma1.14").substr(0, 33), "copy copy signal copy copy signal");
  // Rows of GPU 0 come first everywhere.
  EXPECT_EQ(story(program, "dma0.14").substr(0, 16), "broadcast signal");
}

TEST_F(FiccoProgram, SmallStepsAndLargeStepsMayTravelInDifferentWays) {
  // 3 rows of a GPU in steps of 2 and 1. A row of 48 KiB is broadcast, two of them are copied.
  const FiccoPlan mixed = plan({24, 64, 24576}, 8, "uniform-fused-1d", 2, ExchangeVariant::automatic);
  EXPECT_EQ(commands_on<Copy>(mixed.program, QueueKind::dma).size(), 8U * (7 + 1));
  EXPECT_EQ(commands_on<Broadcast>(mixed.program, QueueKind::dma).size(), 8U * 3);
  EXPECT_TRUE(verify(mixed.program, machine_));
}

TEST_F(FiccoProgram, HostsSubmitUpFrontAndThenOnlyWait) {
  const Program program = plan(kFourRanks, 4, "hetero-fused-1d").program;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::host) continue;
    const auto last_submit = std::find_if(queue.commands.rbegin(), queue.commands.rend(), [](const Command& command) {
      return std::holds_alternative<Submit>(command);
    });
    for (auto command = last_submit.base(); command != queue.commands.end() - 1; ++command) {
      EXPECT_TRUE(std::holds_alternative<Wait>(*command));
    }
  }
}

void expect_every_wait_needed(const Program& whole, const Machine& machine) {
  for (std::size_t q = 0; q < whole.queues.size(); ++q) {
    if (whole.queues[q].kind == QueueKind::host || whole.queues[q].rank != RankId{1}) continue;
    for (std::size_t c = 0; c < whole.queues[q].commands.size(); ++c) {
      if (!std::holds_alternative<Wait>(whole.queues[q].commands[c])) continue;
      Program broken = whole;
      broken.queues[q].commands.erase(broken.queues[q].commands.begin() + static_cast<std::ptrdiff_t>(c));
      EXPECT_FALSE(verify(std::move(broken), machine))
          << whole.name << " without command " << c << " of " << whole.queues[q].name;
    }
  }
}

TEST_F(FiccoProgram, EveryWaitIsNeeded) {
  for (const char* name : {"uniform-fused-1d", "hetero-fused-1d", "hetero-unfused-1d", "uniform-fused-2d"}) {
    for (const FiccoSchedule& schedule : means_for_test({}, schedule_for_test(name), machine_)) {
      if (schedule.means == CollectiveMeans::cores) continue;
      expect_every_wait_needed(plan({24, 4, 32}, 3, name, 4, schedule.exchange).program, machine_);
    }
    for (const ExchangeVariant exchange : {ExchangeVariant::pcpy, ExchangeVariant::b2b}) {
      FiccoSchedule schedule = schedule_for_test(name, 2);
      schedule.exchange = exchange;
      expect_every_wait_needed(ficco_for_test(product_first({24, 32, 4}, 3, "all-to-all"), schedule, machine_).program,
                               machine_);
    }
  }
}

}  // namespace ficco_program_test
}  // namespace cortado::plan
