// The program of a way: what is launched when and where, and its contract.
#include <algorithm>
#include <cctype>

#include <gmock/gmock.h>

#include "cortado/target.hpp"

#include "plan/c3/testing.hpp"

namespace cortado::plan {
namespace overlap_program_test {

constexpr GemmShape kSmall{96, 64, 32};

OverlapProblem small_overlap(Collective collective = "all-gather") {
  OverlapProblem request = overlap_for_test(collective, kSmall);
  request.collectives.front().bytes = 8_KiB;
  return request;
}

Program program_for_test(const OverlapProblem& request, const OverlapWay& way, const Machine& machine) {
  const Result<Program> program = plan_overlap(request, way, machine);
  EXPECT_TRUE(program) << to_string(program.error());
  return program ? *program : Program{};
}

/// The letters that a name begins with: "dma" of "dma0.14.done0".
std::string kind_of(const std::string& name) {
  return {name.begin(), std::find_if(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) == 0; })};
}

/// What the host queue of the last rank does: "begin submit:gemm submit:dma ...", repeats left out.
std::string host_story(const Program& program) {
  const auto host = std::find_if(program.queues.begin(), program.queues.end(), [&](const Queue& queue) {
    return queue.kind == QueueKind::host && queue.rank == RankId{program.ranks - 1};
  });
  std::vector<std::string> words;
  for (const Command& command : host->commands) {
    const auto signal_kind = [&](SignalId id) { return kind_of(program.signals[id.value].name); };
    const std::string word = match(
        command, [&](const Submit& submit) { return "submit:" + kind_of(program.queue(submit.queue).name); },
        [&](const Wait& wait) { return "wait:" + signal_kind(wait.signal); },
        [&](const Trigger&) { return std::string("trigger"); },
        [&](const Signal& signal) { return "signal:" + signal_kind(signal.signal); },
        [](const Timestamp& stamp) { return stamp.label; }, [](const auto&) { return std::string("?"); });
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  std::string story;
  for (const std::string& word : words) story += (story.empty() ? "" : " ") + word;
  return story;
}

class OverlapProgram : public testing::Test {
 protected:
  std::string story(LaunchOrder order, const std::string& variant, bool prelaunch = false) {
    const OverlapProblem request = small_overlap();
    OverlapWay way{.order = order, .collectives = request.collectives};
    way.collectives.front().variant = variant;
    way.collectives.front().prelaunch = prelaunch;
    return host_story(program_for_test(request, way, machine_));
  }

  const Machine machine_ = machine_for_test("mi300x-8");
};

TEST_F(OverlapProgram, TheHostLaunchesInTheOrderOfTheWay) {
  EXPECT_EQ(story(LaunchOrder::serial, "cores-simple"),
            "signal:enter wait:enter begin submit:gemm wait:gemm submit:cores wait:cores end");
  EXPECT_EQ(story(LaunchOrder::gemm_first, "cores-simple"),
            "signal:enter wait:enter begin submit:gemm submit:cores wait:cores wait:gemm end");
  EXPECT_EQ(story(LaunchOrder::collective_first, "cores-simple"),
            "signal:enter wait:enter begin submit:cores submit:gemm wait:cores wait:gemm end");
  EXPECT_EQ(story(LaunchOrder::gemm_first, "pcpy"),
            "signal:enter wait:enter begin submit:gemm submit:dma wait:dma signal:exit wait:exit wait:gemm end");
}

TEST_F(OverlapProgram, PrelaunchedQueuesAreSubmittedBeforeTheTimeBegins) {
  EXPECT_EQ(story(LaunchOrder::collective_first, "b2b", true),
            "submit:dma signal:enter wait:enter begin trigger submit:gemm wait:dma signal:exit wait:exit wait:gemm "
            "end");
  EXPECT_EQ(story(LaunchOrder::gemm_first, "b2b", true),
            "submit:dma signal:enter wait:enter begin submit:gemm trigger wait:dma signal:exit wait:exit wait:gemm "
            "end");
  EXPECT_EQ(story(LaunchOrder::serial, "b2b", true),
            "submit:dma signal:enter wait:enter begin submit:gemm wait:gemm trigger wait:dma signal:exit wait:exit "
            "end");
}

TEST_F(OverlapProgram, EveryRankHasAGemmItsUnitsAndItsContract) {
  const OverlapProblem request = small_overlap();
  OverlapWay way{
      .order = LaunchOrder::collective_first, .collectives = request.collectives, .gemm_units = 272, .priority = 1};
  way.collectives.front().variant = "cores-ll";
  way.collectives.front().compute_units = 32;
  const Program program = program_for_test(request, way, machine_);
  EXPECT_EQ(program.ranks, 8U);
  ASSERT_EQ(program.contract.products.size(), 8U);
  EXPECT_FALSE(program.contract.clauses.empty());
  const auto gemms = commands_on<Gemm>(program, QueueKind::compute);
  ASSERT_EQ(gemms.size(), 8U);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const auto& [queue, gemm] = gemms[rank];
    EXPECT_EQ(queue->name, fmt::format("gemm{}", rank));
    EXPECT_EQ(queue->rank, RankId{rank});
    EXPECT_EQ(queue->compute_units, 272U);
    EXPECT_EQ(queue->priority, 0);
    EXPECT_EQ(shape_of(gemm), kSmall);
    const ProductClause& clause = program.contract.products[rank];
    EXPECT_EQ(clause.output, gemm.c);
    EXPECT_EQ(clause.dtype, DType::bf16);
    ASSERT_EQ(clause.products.size(), 1U);
    EXPECT_EQ(clause.products[0].a, std::vector<Region>{gemm.a});
    EXPECT_EQ(clause.products[0].b, gemm.b);
    // A is 96 x 32, B 32 x 64, C 96 x 64 elements of 2 bytes.
    const Buffer& a = program.buffer(gemm.a.buffer);
    EXPECT_EQ(a.name, fmt::format("gemm.a{}", rank));
    EXPECT_EQ(a.size, Bytes{96 * 32 * 2});
    EXPECT_EQ(a.role, BufferRole::input);
    EXPECT_EQ(program.buffer(gemm.b.buffer).size, Bytes{32 * 64 * 2});
    EXPECT_EQ(program.buffer(gemm.c.buffer).size, Bytes{96 * 64 * 2});
    EXPECT_EQ(program.buffer(gemm.c.buffer).role, BufferRole::output);
    EXPECT_EQ(rank_of(program, gemm.c), rank);
  }
  for (const Queue& queue : program.queues) {
    EXPECT_EQ(queue.priority, queue.kernel.empty() ? 0 : 1) << queue.name;
  }
}

// 4096 x 4864 are 16 x 19 tiles of 256 x 256: one wave of 304 units, but two of 272.
TEST_F(OverlapProgram, OnlyATunedKernelIsChosenForTheUnitsOfTheGemm) {
  OverlapProblem request = small_overlap();
  request.gemms = {{4096, 4864, 8192}};
  const auto tiling = [&](std::uint32_t units, bool tuned) {
    const Program program =
        program_for_test(request, {.collectives = request.collectives, .gemm_units = units, .tuned = tuned}, machine_);
    return tiling_of(commands_on<Gemm>(program, QueueKind::compute).front().second);
  };
  EXPECT_EQ(tiling(272, false), (Tiling{256, 256, 1}));
  EXPECT_EQ(tiling(0, true), (Tiling{256, 256, 1}));
  const Tiling tuned = tiling(272, true);
  EXPECT_NE(tuned, (Tiling{256, 256, 1}));
  EXPECT_EQ(tuned, choose_tiling(request.gemm(), machine_, 272));
}

TEST_F(OverlapProgram, AGemmOnAllUnitsNamesNone) {
  const OverlapProblem request = small_overlap();
  const Program program = program_for_test(request, {.collectives = request.collectives}, machine_);
  for (const auto& [queue, gemm] : commands_on<Gemm>(program, QueueKind::compute)) {
    EXPECT_FALSE(queue->compute_units);
  }
}

TEST_F(OverlapProgram, RanksWithoutAPartInTheCollectiveStillMultiply) {
  OverlapProblem request = small_overlap("point-to-point");
  request.ranks = 4;
  request.collectives.front().ranks = 4;
  const Program program = program_for_test(request, {.collectives = request.collectives}, machine_);
  EXPECT_EQ(commands_on<Gemm>(program, QueueKind::compute).size(), 4U);
  EXPECT_EQ(host_story(program), "begin submit:gemm wait:gemm end");
  EXPECT_TRUE(verify(program, machine_));
}

TEST_F(OverlapProgram, EveryWaysProgramIsProved) {
  Machine many = machine_for_test("virtual-64");
  many.timing = machine_.timing;
  for (const Machine* machine : {&machine_, static_cast<const Machine*>(&many)}) {
    for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
      for (const char* name : kWays) {
        SCOPED_TRACE(machine->name + " " + std::string(collective.name()) + " " + name);
        OverlapProblem request = small_overlap(collective);
        request.ranks = machine == &machine_ ? 8 : 5;
        const OverlapWay way = way_for_test(name, request, *machine, FlatCost{});
        const auto verified = verify(program_for_test(request, way, *machine), *machine);
        EXPECT_TRUE(verified) << to_string(verified.error().front());
      }
    }
  }
}

// The gather of the next layer's weights and the reduce-scatter of the last one's gradients next to a layer of two
// GEMMs.
TEST_F(OverlapProgram, ASequenceIsOneStreamBesideAnother) {
  OverlapProblem layer = small_overlap();
  layer.gemms.push_back({32, 64, 96});
  layer.collectives.push_back({.collective = "reduce-scatter", .bytes = 16_KiB});
  for (const char* name : kWays) {
    SCOPED_TRACE(name);
    const OverlapWay way = way_for_test(name, layer, machine_, FlatCost{});
    const Program program = program_for_test(layer, way, machine_);
    const auto verified = verify(program, machine_);
    ASSERT_TRUE(verified) << to_string(verified.error().front());
    EXPECT_EQ(commands_on<Gemm>(program, QueueKind::compute).size(), 16U);
    EXPECT_EQ(program.contract.products.size(), 16U);
    EXPECT_EQ(std::ranges::count(program.queues, QueueKind::host, &Queue::kind), 8);
    EXPECT_EQ(program.contract.name, "all-gather + reduce-scatter");
  }
  const OverlapWay engines = way_for_test("conccl", layer, machine_, FlatCost{});
  EXPECT_EQ(
      host_story(program_for_test(layer, engines, machine_)),
      "signal:enter wait:enter signal:enter wait:enter begin submit:dma submit:gemm wait:dma signal:exit wait:exit "
      "submit:dma submit:compute wait:dma wait:compute signal:exit wait:exit wait:gemm end");
}

TEST_F(OverlapProgram, RefusesWhatCannotBe) {
  const auto code = [&](const OverlapProblem& request, OverlapWay way) {
    way.collectives.front().in_place = true;
    const auto program = plan_overlap(request, way, machine_);
    EXPECT_FALSE(program);
    return program ? std::string() : program.error().code;
  };
  const OverlapProblem request = small_overlap();
  EXPECT_EQ(code(request, {.collectives = request.collectives, .gemm_units = 305}), "c3.compute_units");

  OverlapProblem one = request;
  one.ranks = 1;
  EXPECT_EQ(code(one, {.collectives = one.collectives}), "c3.ranks");
  OverlapWay unknown{.collectives = request.collectives};
  unknown.collectives.front().variant = "pcp";
  EXPECT_EQ(code(request, unknown), "plan.unknown_variant");

  // Each fits alone: 3 * 2^17 * 2^17 * 2 bytes are 96 GiB, and the gathered output is 128 GiB; a GPU has 192 GiB.
  OverlapProblem large = overlap_for_test("all-gather", {1 << 17, 1 << 17, 1 << 17});
  large.collectives.front().bytes = 128_GiB;
  EXPECT_TRUE(check_gemm(large.gemm(), machine_));
  EXPECT_TRUE(plan_collective(large.collective(), machine_));
  EXPECT_EQ(code(large, {.collectives = large.collectives}), "gemm.memory");
}

}  // namespace overlap_program_test
}  // namespace cortado::plan
