#include "verify/callers.hpp"

#include <set>

#include <gtest/gtest.h>

#include "ir/visit.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace callers_test {

using ByteSet = std::set<std::pair<std::uint32_t, std::uint64_t>>;

void insert(const std::vector<Region>& regions, ByteSet& bytes) {
  for (const Region& region : regions) {
    for (std::uint64_t row = 0; row < region.rows; ++row) {
      for (std::uint64_t i = 0; i < region.width.value; ++i) {
        bytes.emplace(region.buffer.value, region.row_offset(row).value + i);
      }
    }
  }
}

TEST(Callers, AgreeWithTheDefinitionForEveryRank) {
  for (const auto& [name, program] : testing::good_programs()) {
    const auto queues = caller_queues(program);
    const auto regions = caller_regions(program);
    ASSERT_EQ(queues.size(), program.ranks);
    std::vector<ByteSet> inputs(program.queues.size());
    std::vector<ByteSet> outputs(program.queues.size());
    for (std::uint32_t r = 0; r < program.ranks; ++r) {
      EXPECT_EQ(queues[r], caller_queue(program, {r})) << name;
      insert(caller_inputs(program, {r}), inputs[queues[r]->value]);
      insert(caller_outputs(program, {r}), outputs[queues[r]->value]);
    }
    for (std::size_t q = 0; q < program.queues.size(); ++q) {
      ByteSet found;
      insert(regions[q].inputs, found);
      EXPECT_EQ(found, inputs[q]) << name;
      found.clear();
      insert(regions[q].outputs, found);
      EXPECT_EQ(found, outputs[q]) << name;
    }
  }
}

TEST(Callers, NeighbouringBlocksAreOneRegion) {
  // Each of the two ranks' send buffers is named in two blocks that touch.
  const auto regions = caller_regions(testing::all_to_all(2, 64));
  ASSERT_EQ(regions[0].inputs.size(), 2U);
  EXPECT_EQ(regions[0].inputs[0].width, 128_B);
}

TEST(Callers, OwnHostQueueGoesBeforeTheOneForAll) {
  ProgramBuilder builder("test", "test", 2);
  builder.host_queue("all");
  builder.host_queue("own", RankId{1});
  const Program program = std::move(builder).finish();
  EXPECT_EQ(caller_queues(program)[0], QueueId{0});
  EXPECT_EQ(caller_queues(program)[1], QueueId{1});
}

}  // namespace callers_test
}  // namespace cortado::verifier
