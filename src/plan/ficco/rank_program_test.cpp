// Programs of one rank that represents all, compared with those of all ranks.
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "ir/visit.hpp"
#include "plan/ficco/testing.hpp"

namespace cortado::plan {
namespace rank_program_test {

const Machine& machine() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

std::string words_of(const Command& command) {
  return match(
      command, [](const Gemm& gemm) { return to_string(shape_of(gemm)) + (gemm.accumulate ? " added" : ""); },
      [](const Kernel& kernel) {
        return std::to_string(kernel.sources.size()) + " of " + std::to_string(kernel.dst.bytes().value);
      },
      [](const Copy& copy) { return "copy " + std::to_string(copy.dst.bytes().value); },
      [](const Wait&) { return std::string("wait"); }, [](const Signal&) { return std::string("signal"); },
      [](const auto&) { return std::string("?"); });
}

bool is_work(const std::string& words) {
  return words != "wait" && words != "signal";
}

/// Commands of the rank's kernels; of uneven ranks without waits and signals, which represent those of others.
std::vector<std::string> kernels_of(const Program& program, RankId rank, bool even) {
  std::vector<std::string> all;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::compute || queue.rank != rank) continue;
    for (const Command& command : queue.commands) {
      if (even || is_work(words_of(command))) all.push_back(words_of(command));
    }
  }
  return all;
}

/// Sizes of all copies by engines to the rank, or from it, in ascending order.
std::vector<std::uint64_t> copies_of(const Program& program, RankId rank, bool from) {
  std::vector<std::uint64_t> sizes;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::dma) continue;
    for (const Command& command : queue.commands) {
      const auto* copy = std::get_if<Copy>(&command);
      if (copy == nullptr || program.buffer((from ? copy->src : copy->dst).buffer).rank != rank) continue;
      sizes.push_back(copy->dst.bytes().value);
    }
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

Bytes memory_of(const Program& program, RankId rank) {
  Bytes memory;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.rank == rank) memory += buffer.size;
  }
  return memory;
}

void expect_as_planned_for_all(const DependentRequest& request, const FiccoSchedule& schedule) {
  SCOPED_TRACE(std::string(request.collective.name()) + " " + to_string(request.gemm) + " " + name_of(schedule));
  const auto plan = plan_ficco(request, schedule, machine());
  const auto ranks = plan_ficco_ranks(request, schedule, machine());
  ASSERT_EQ(plan.has_value(), ranks.has_value());
  if (!plan) {
    EXPECT_EQ(plan.error().code, ranks.error().code);
    return;
  }
  for (const RankProgram& one : *ranks) {
    const bool even = request.tokens.empty();
    EXPECT_EQ(kernels_of(one.program, one.rank, even), kernels_of(plan->program, one.rank, even));
    const bool from = request.dependence == Dependence::product_first;
    EXPECT_EQ(copies_of(one.program, one.rank, from), copies_of(plan->program, one.rank, from));
    EXPECT_EQ(memory_of(one.program, one.rank), memory_of(plan->program, one.rank));
    for (const Queue& queue : one.program.queues) EXPECT_EQ(queue.rank, one.rank);
  }
}

void expect_all_schedules(const DependentRequest& request) {
  for (const FiccoScheduleInfo& info : list_schedules()) {
    for (const std::uint32_t chunks : {2U, 3U, 8U, 64U}) {
      FiccoSchedule schedule = info.schedule;
      if (schedule.grain == Grain::chunks) schedule.chunks = chunks;
      expect_as_planned_for_all(request, schedule);
    }
  }
}

DependentRequest request(Collective collective, Dependence dependence, GemmShape gemm, std::uint32_t ranks) {
  return {.gemm = gemm, .collective = collective, .dependence = dependence, .ranks = ranks};
}

TEST(RankProgram, IsThatOfOneRank) {
  for (const std::uint32_t ranks : {2U, 3U, 8U}) {
    for (const GemmShape& gemm : {GemmShape{2048, 512, 1024}, GemmShape{1001, 192, 320}}) {
      expect_all_schedules(request("all-gather", Dependence::collective_first, gemm, ranks));
      expect_all_schedules(request("all-to-all", Dependence::collective_first, gemm, ranks));
      expect_all_schedules(request("reduce-scatter", Dependence::product_first, gemm, ranks));
      expect_all_schedules(request("all-to-all", Dependence::product_first, gemm, ranks));
    }
  }
}

DependentRequest uneven(Dependence dependence) {
  DependentRequest asked = request("all-to-all", dependence, {585, 512, 1024}, 3);
  asked.tokens = {{100, 0, 40}, {7, 300, 64}, {65, 9, 0}};
  return asked;
}

TEST(RankProgram, HasUnevenTokens) {
  expect_all_schedules(uneven(Dependence::collective_first));
  expect_all_schedules(uneven(Dependence::product_first));
}

// Its GEMMs take far longer than 1 ns: of 4 steps it has the first.
TEST(RankProgram, EndsWhereItTakesLongEnough) {
  for (const auto& [collective, dependence] : {std::pair(Collective("all-gather"), Dependence::collective_first),
                                               std::pair(Collective("reduce-scatter"), Dependence::product_first)}) {
    const DependentRequest asked = request(collective, dependence, {1024, 512, 1024}, 8);
    const FiccoSchedule schedule = schedule_for_test("uniform-fused-1d", 4);
    const RankProgram whole = plan_ficco_ranks(asked, schedule, machine()).value().front();
    const RankProgram cut = plan_ficco_ranks(asked, schedule, machine(), Nanoseconds{1}).value().front();
    const auto gemms_of = [](const RankProgram& rank) {
      std::size_t gemms = 0;
      for (const Queue& queue : rank.program.queues) {
        for (const Command& command : queue.commands) gemms += std::holds_alternative<Gemm>(command) ? 1U : 0U;
      }
      return gemms;
    };
    EXPECT_FALSE(whole.is_cut);
    EXPECT_EQ(gemms_of(whole), 4U);
    EXPECT_TRUE(cut.is_cut);
    EXPECT_EQ(gemms_of(cut), 1U);
  }
}

std::vector<std::uint32_t> ranks_of(const DependentRequest& request, std::string_view schedule) {
  std::vector<std::uint32_t> ranks;
  const auto programs = plan_ficco_ranks(request, schedule_for_test(schedule, 2), machine());
  for (const RankProgram& program : programs.value()) ranks.push_back(program.rank.value);
  return ranks;
}

TEST(RankProgram, IsOfTheRankWithMostRows) {
  DependentRequest asked = uneven(Dependence::collective_first);
  // Columns add up to 172, 309 and 104; in rows that are not cut rank 0 waits for two others, rank 1 only for one.
  EXPECT_EQ(ranks_of(asked, "serial-dma"), (std::vector<std::uint32_t>{1, 0}));
  asked.tokens[0][1] = 1;
  asked.tokens[0][2] = 39;
  EXPECT_EQ(ranks_of(asked, "serial-dma"), (std::vector<std::uint32_t>{1}));
  asked.dependence = Dependence::product_first;
  EXPECT_EQ(ranks_of(asked, "hetero-unfused-1d").front(), 1U);  // rows add up to 140, 371 and 74
  EXPECT_EQ(ranks_of(request("all-gather", Dependence::collective_first, {1024, 512, 1024}, 8), "hetero-fused-1d"),
            (std::vector<std::uint32_t>{4}));
}

}  // namespace rank_program_test
}  // namespace cortado::plan
