// Outlines against programs: the commands of one rank, one by one.
#include <gtest/gtest.h>

#include "cortado/ir/visit.hpp"
#include "cortado/plan/ficco_outline.hpp"

#include "plan/ficco/testing.hpp"

namespace cortado::plan {
namespace outline_test {

const Machine& machine() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

std::string words_of(const FiccoOutline::Command& command) {
  return match(
      command,
      [](const FiccoOutline::Multiply& what) {
        return "multiply " + to_string(what.shape) + (what.shape.accumulate ? " added" : "");
      },
      [](const FiccoOutline::Move& what) {
        return std::to_string(what.regions) + " regions of " + std::to_string(what.written.value) +
               (what.reads_for_free ? " copied" : "");
      },
      [](const FiccoOutline::Await&) { return std::string("wait"); },
      [](const FiccoOutline::Raise&) { return std::string("raise"); });
}

std::string words_of(const Command& command) {
  return match(
      command, [](const Gemm& gemm) { return words_of(FiccoOutline::Command{FiccoOutline::Multiply{shape_of(gemm)}}); },
      [](const Kernel& kernel) {
        return words_of(FiccoOutline::Command{
            FiccoOutline::Move{kernel.dst.bytes(), static_cast<std::uint32_t>(kernel.sources.size() + 1)}});
      },
      [](const Copy& copy) {
        return words_of(FiccoOutline::Command{FiccoOutline::Move{copy.dst.bytes(), 2, true}});
      },
      [](const Wait&) { return std::string("wait"); }, [](const Signal&) { return std::string("raise"); },
      [](const auto&) { return std::string("?"); });
}

std::vector<std::string> kernels_of(const Program& program, std::uint32_t rank) {
  std::vector<std::string> words;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::compute || queue.rank->value != rank) continue;
    for (const Command& command : queue.commands) words.push_back(words_of(command));
  }
  return words;
}

/// Copies in the lane from one rank to another, and their bytes.
struct Traffic {
  std::size_t copies = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};
std::ostream& operator<<(std::ostream& out, const Traffic& traffic) {
  return out << traffic.copies << " copies of " << traffic.bytes << " bytes";
}

/// In all, to the rank or from it.
Traffic traffic_of(const Program& program, std::uint32_t rank, bool from) {
  Traffic traffic;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::dma) continue;
    for (const Command& command : queue.commands) {
      const auto* copy = std::get_if<Copy>(&command);
      if (copy == nullptr || program.buffer((from ? copy->src : copy->dst).buffer).rank.value != rank) continue;
      ++traffic.copies;
      traffic.bytes += copy->dst.bytes().value;
    }
  }
  return traffic;
}

/// What works: neither waits nor raises, which stand for those of other ranks where rows are uneven.
std::vector<std::string> at_work(std::vector<std::string> words) {
  std::erase_if(words, [](const std::string& word) { return word == "wait" || word == "raise"; });
  return words;
}

void expect_outline_as_program(const FiccoOutline& outline, const DependentRequest& request, const Program& program) {
  std::vector<std::string> kernels;
  for (const FiccoOutline::Command& command : outline.kernels) kernels.push_back(words_of(command));
  kernels.push_back("raise");  // for the host
  const std::vector<std::string> planned = kernels_of(program, outline.rank);
  if (request.tokens.empty()) {
    EXPECT_EQ(kernels, planned);
  } else {
    EXPECT_EQ(at_work(kernels), at_work(planned));
  }
  Traffic sent;
  for (const auto& lane : outline.lanes) {
    for (const FiccoOutline::Send& send : lane) {
      sent.copies += send.copies();
      sent.bytes += send.bytes.value;
    }
  }
  EXPECT_EQ(sent, traffic_of(program, outline.rank, request.dependence == Dependence::product_first));
  Bytes memory;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.rank.value == outline.rank) memory += buffer.size;
  }
  EXPECT_EQ(outline.footprint, memory);
}

void expect_outlines_as_program(const DependentRequest& request, const FiccoSchedule& schedule) {
  SCOPED_TRACE(std::string(request.collective.name()) + " " + to_string(request.gemm) + " " + name_of(schedule));
  const auto plan = plan_ficco(request, schedule, machine());
  const auto outlines = outline_ficco(request, schedule, machine());
  ASSERT_EQ(plan.has_value(), outlines.has_value());
  if (!plan) {
    EXPECT_EQ(plan.error().code, outlines.error().code);
    return;
  }
  for (const FiccoOutline& outline : *outlines) expect_outline_as_program(outline, request, plan->program);
}

void expect_all_schedules(DependentRequest request) {
  for (const FiccoScheduleInfo& info : list_schedules()) {
    for (const std::uint32_t chunks : {2U, 3U, 8U, 64U}) {
      FiccoSchedule schedule = info.schedule;
      if (schedule.grain == Grain::chunks) schedule.chunks = chunks;
      expect_outlines_as_program(request, schedule);
    }
  }
}

DependentRequest request(Collective collective, Dependence dependence, GemmShape gemm, std::uint32_t ranks) {
  DependentRequest request;
  request.gemm = gemm;
  request.collective = collective;
  request.dependence = dependence;
  request.ranks = ranks;
  return request;
}

TEST(FiccoOutline, IsTheProgramOfOneRank) {
  for (const std::uint32_t ranks : {2U, 3U, 8U}) {
    for (const GemmShape& gemm : {GemmShape{2048, 512, 1024}, GemmShape{1001, 192, 320}}) {
      expect_all_schedules(request("all-gather", Dependence::collective_first, gemm, ranks));
      expect_all_schedules(request("all-to-all", Dependence::collective_first, gemm, ranks));
      expect_all_schedules(request("reduce-scatter", Dependence::product_first, gemm, ranks));
      expect_all_schedules(request("all-to-all", Dependence::product_first, gemm, ranks));
    }
  }
}

TEST(FiccoOutline, HasUnevenTokens) {
  for (const Dependence dependence : {Dependence::collective_first, Dependence::product_first}) {
    DependentRequest uneven = request("all-to-all", dependence, {0, 512, 1024}, 3);
    uneven.tokens = {{100, 0, 40}, {7, 300, 64}, {65, 9, 0}};
    uneven.gemm.m = 585;
    expect_all_schedules(uneven);
  }
}

// More than 16384 rows are several windows; as many as there are blocks of 16384 in the rows that a rank gives.
TEST(FiccoOutline, CountsTheWindowsOfPanels) {
  expect_all_schedules(request("all-gather", Dependence::collective_first, {8 * 40000, 64, 512}, 8));
  expect_all_schedules(request("reduce-scatter", Dependence::product_first, {3 * 40000, 520, 64}, 3));
  expect_all_schedules(request("all-to-all", Dependence::product_first, {3 * 3 * 40000, 520, 64}, 3));
}

std::vector<std::uint32_t> ranks_of(const DependentRequest& request, std::string_view schedule) {
  std::vector<std::uint32_t> ranks;
  const auto outlines = outline_ficco(request, schedule_for_test(schedule, 2), machine());
  for (const FiccoOutline& outline : outlines.value()) ranks.push_back(outline.rank);
  return ranks;
}

TEST(FiccoOutline, LooksAtTheRankWithMostRows) {
  DependentRequest uneven = request("all-to-all", Dependence::collective_first, {585, 512, 1024}, 3);
  uneven.tokens = {{100, 0, 40}, {7, 300, 64}, {65, 9, 0}};
  // Columns add up to 172, 309 and 104; in rows that are not cut rank 0 waits for two others, rank 1 only for one.
  EXPECT_EQ(ranks_of(uneven, "serial"), (std::vector<std::uint32_t>{1, 0}));
  uneven.tokens[0][1] = 1;
  uneven.tokens[0][2] = 39;
  EXPECT_EQ(ranks_of(uneven, "serial"), (std::vector<std::uint32_t>{1}));
  uneven.dependence = Dependence::product_first;
  EXPECT_EQ(ranks_of(uneven, "hetero-unfused-1d").front(), 1U);  // rows add up to 140, 371 and 74
  EXPECT_EQ(ranks_of(request("all-gather", Dependence::collective_first, {1024, 512, 1024}, 8), "hetero-fused-1d"),
            (std::vector<std::uint32_t>{4}));
}

}  // namespace outline_test
}  // namespace cortado::plan
