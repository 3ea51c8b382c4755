// Every schedule is proved: for 2 to 8 ranks, sizes that divide evenly and sizes that do not, even and uneven rows. The
// memory that it reports is the memory that it allocates.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "plan/ficco/testing.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::plan {
namespace ficco_proof_test {

std::string text(const std::vector<Diagnostic>& errors) {
  std::string all;
  for (const Diagnostic& error : errors) all += to_string(error) + "\n";
  return all;
}

/// The buffers of the rank that needs most.
Bytes most_memory(const Program& program) {
  std::vector<Bytes> memory(program.ranks);
  for (const Buffer& buffer : program.buffers) memory[buffer.rank.value] += buffer.size;
  return *std::max_element(memory.begin(), memory.end());
}

/// Those of FiCCO, and those of tiles that the direction has.
std::vector<FiccoScheduleInfo> schedules_for(const DependentRequest& request) {
  std::vector<FiccoScheduleInfo> all = list_schedules();
  for (const FiccoScheduleInfo& info : list_tile_schedules()) {
    const bool product_first = request.dependence == Dependence::product_first;
    if (info.schedule.grain == Grain::waves && !product_first) continue;
    all.push_back(info);
    if (!product_first) continue;
    all.push_back(info);
    all.back().schedule.means = CollectiveMeans::stores;
  }
  return all;
}

void prove(const DependentRequest& request, std::uint32_t chunks, const Machine& machine) {
  for (const FiccoScheduleInfo& info : schedules_for(request)) {
    for (FiccoSchedule& schedule : means_for_test(request, info.schedule, machine)) {
      schedule.chunks = chunks;
      SCOPED_TRACE(fmt::format("{} {} {} ranks {} chunks {} {}", request.collective, to_string(request.gemm),
                               request.ranks, chunks, info.name, name_of(schedule.exchange)));
      const FiccoPlan plan = ficco_for_test(request, schedule, machine);
      ASSERT_EQ(plan.footprint, most_memory(plan.program));
      const auto verified = verify(plan.program, machine);
      ASSERT_TRUE(verified) << text(verified.error());
    }
  }
}

/// Every rank sends rank `to` a number of rows that depends on both; some send none.
std::vector<std::vector<std::uint64_t>> uneven_tokens(std::uint32_t ranks) {
  std::vector<std::vector<std::uint64_t>> tokens(ranks, std::vector<std::uint64_t>(ranks));
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) tokens[from][to] = (from * 5 + to * 7) % 11;
  }
  return tokens;
}

std::uint64_t sum(const std::vector<std::vector<std::uint64_t>>& tokens) {
  std::uint64_t all = 0;
  for (const auto& row : tokens) {
    for (const std::uint64_t one : row) all += one;
  }
  return all;
}

class FiccoProof : public testing::TestWithParam<std::uint32_t> {
 protected:
  const Machine machine_ = machine_for_test("mi300x-8");
};

TEST_P(FiccoProof, AllGather) {
  for (const GemmShape& shape : {GemmShape{256, 64, 128}, GemmShape{131, 17, 72}, GemmShape{97, 5, 36, DType::f32}}) {
    for (const std::uint32_t chunks : {0U, 3U}) {
      prove({.gemm = shape, .collective = "all-gather", .ranks = GetParam()}, chunks, machine_);
    }
  }
}

TEST_P(FiccoProof, AllToAll) {
  prove({.gemm = {640, 48, 128}, .collective = "all-to-all", .ranks = GetParam()}, 0, machine_);
  const auto tokens = uneven_tokens(GetParam());
  prove({.gemm = {sum(tokens), 24, 88}, .collective = "all-to-all", .ranks = GetParam(), .tokens = tokens}, 2,
        machine_);
  prove({.gemm = {sum(tokens), 24, 88}, .collective = "all-to-all", .ranks = GetParam(), .tokens = tokens}, 5,
        machine_);
}

TEST_P(FiccoProof, ReduceScatter) {
  for (const GemmShape& shape : {GemmShape{256, 64, 128}, GemmShape{131, 72, 17}, GemmShape{97, 36, 5, DType::f32}}) {
    for (const std::uint32_t chunks : {0U, 3U}) {
      prove(
          {.gemm = shape, .collective = "reduce-scatter", .dependence = Dependence::product_first, .ranks = GetParam()},
          chunks, machine_);
    }
  }
}

TEST_P(FiccoProof, AllToAllOfAProduct) {
  DependentRequest request{
      .gemm = {640, 128, 48}, .collective = "all-to-all", .dependence = Dependence::product_first, .ranks = GetParam()};
  prove(request, 0, machine_);
  request.tokens = uneven_tokens(GetParam());
  request.gemm = {sum(request.tokens), 88, 24};
  prove(request, 2, machine_);
  prove(request, 5, machine_);
}

std::vector<DependentRequest> every_direction(std::uint32_t ranks) {
  const GemmShape shape{192, 64, 72};
  return {{.gemm = shape, .collective = "all-gather", .ranks = ranks},
          {.gemm = shape, .collective = "all-to-all", .ranks = ranks},
          {.gemm = shape, .collective = "reduce-scatter", .dependence = Dependence::product_first, .ranks = ranks},
          {.gemm = shape, .collective = "all-to-all", .dependence = Dependence::product_first, .ranks = ranks}};
}

TEST(FiccoProofElsewhere, OtherMachines) {
  for (const DependentRequest& request : every_direction(8)) prove(request, 3, machine_for_test("h100-8"));
  for (const DependentRequest& request : every_direction(11)) prove(request, 2, machine_for_test("virtual-64"));
}

TEST(FiccoProofElsewhere, AllCopiesOfARankInOneQueue) {
  Machine machine = machine_for_test("mi300x-8");
  machine.affinity.clear();
  machine.dma.queues_per_engine = 1;
  for (Engine& engine : machine.engines) engine.present = engine.id == EngineId{2};
  for (const DependentRequest& request : every_direction(4)) prove(request, 5, machine);
}

INSTANTIATE_TEST_SUITE_P(Ranks, FiccoProof, testing::ValuesIn(swept_ranks({2, 3, 4, 5, 6, 7, 8})));

}  // namespace ficco_proof_test
}  // namespace cortado::plan
