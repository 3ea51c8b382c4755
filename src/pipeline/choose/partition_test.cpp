// What c3-rp and c3-sp-rp leave out by assuming that no kernel is faster on fewer compute units (list_partitions),
// against all candidates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pipeline/choose.hpp"
#include "plan/c3/way.hpp"

namespace cortado::pipeline {
namespace partition_test {

constexpr GemmShape kGemm{8192, 8192, 8192};

OverlapProblem problem_of(std::vector<Collective> collectives, Bytes bytes, const Machine& machine) {
  OverlapProblem problem{.gemms = {kGemm}};
  for (const Collective collective : collectives) {
    problem.collectives.push_back({.collective = collective, .bytes = bytes, .dtype = DType::bf16});
  }
  const auto checked = plan::check_overlap(problem, machine);
  EXPECT_TRUE(checked) << to_string(checked.error());
  return checked ? *checked : problem;
}

/// How many partitions there are; each has the collectives that are fastest on its units.
std::size_t compare(const OverlapProblem& problem, const Machine& machine, const CostModel& cost) {
  const plan::Question question{problem, machine, cost};
  const auto partitions = plan::list_partitions(question);
  EXPECT_TRUE(partitions) << to_string(partitions.error());
  if (!partitions) return 0;
  for (const plan::Partition& partition : *partitions) {
    const auto all = plan::fastest_on_cores(question, partition.collective_units);
    EXPECT_TRUE(all) << to_string(all.error());
    if (!all) continue;
    const std::string where = fmt::format("{} of {} bytes on {} units of {}", problem.collective().collective,
                                          problem.collective().bytes.value, partition.collective_units, machine.name);
    EXPECT_EQ(plan::way_names(partition.collectives.requests), plan::way_names(all->requests)) << where;
    EXPECT_EQ(partition.collectives.time, all->time) << where;
  }
  return partitions->size();
}

TEST(Partitions, HaveTheFastestOfAllKernels) {
  std::size_t compared = 0;
  for (const char* name : {"mi300x-8", "h100-8", "mi250x-8", "mi355x-8"}) {
    const Machine machine = load_machine(name).value();
    const auto cost = simulated_cost(machine);
    for (const Collective collective :
         {Collective("all-gather"), Collective("all-to-all"), Collective("reduce-scatter"), Collective("all-reduce")}) {
      for (const Bytes bytes : {16_KiB, 512_KiB, 8_MiB, 256_MiB}) {
        compared += compare(problem_of({collective}, bytes, machine), machine, *cost);
      }
    }
    compared += compare(problem_of({"all-gather", "reduce-scatter"}, 4_MiB, machine), machine, *cost);
  }
  EXPECT_GE(compared, 200U);
}

}  // namespace partition_test
}  // namespace cortado::pipeline
