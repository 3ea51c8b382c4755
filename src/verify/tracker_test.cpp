// verify.tracker: updates of tracked bytes, and what else may not write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing/mapped.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace tracker_test {

using testing::commands_of;
using testing::direct_sum_of_products;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ring_of_products;

void expect_error(const Program& program, const std::string& fragment) {
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty()) << fragment;
  EXPECT_EQ(errors[0].code, "verify.tracker") << to_string(errors[0]);
  EXPECT_THAT(errors[0].message, HasSubstr(fragment));
  EXPECT_FALSE(errors[0].hint.empty());
}

Gemm& product_of(Program& program, const std::string& queue) {
  return std::get<Gemm>(commands_of(program, queue)[0]);
}

/// in (rank 0) to out (rank 1) in two copies of 32 bytes, one tracker for both; the host waits for the tracker only.
Program tracked_copy() {
  Program program = testing::point_to_point();
  auto& dma = commands_of(program, "dma");
  dma.clear();
  for (const std::uint64_t at : {0ULL, 32ULL}) {
    dma.emplace_back(Copy{make_region({0}, {at}, {32}), make_region({1}, {at}, {32})});
  }
  program.trackers.push_back({"arrived", make_region({1}, {0}, {64}), 1, {0}, 1});
  return program;
}

TEST(VerifyTracker, RingsAndDirectSumsPass) {
  for (const std::uint32_t ranks : {2U, 3U, 4U, 5U}) {
    for (const std::uint64_t pieces : {1ULL, 2ULL}) {
      for (const std::uint64_t split_k : {1ULL, 2ULL}) {
        EXPECT_THAT(errors_of(ring_of_products({ranks, pieces, split_k})), IsEmpty());
        EXPECT_THAT(errors_of(direct_sum_of_products({ranks, pieces, split_k})), IsEmpty());
      }
    }
  }
}

TEST(VerifyTracker, ATrackerOfPlainCopiesReplacesTheirSignal) {
  EXPECT_THAT(errors_of(tracked_copy()), IsEmpty());
}

TEST(VerifyTracker, OneTrackerMayWatchARegionWithGaps) {
  // Two rows of 16 bytes, 32 apart: the other bytes are written too, but nobody counts them.
  Program program = tracked_copy();
  program.trackers[0].region = {{1}, {8}, {16}, 2, {32}};
  EXPECT_THAT(testing::codes_of(program), ::testing::ElementsAre("verify.race"));  // the caller reads those, too
}

TEST(VerifyTracker, EveryByteNeedsItsUpdates) {
  Program program = tracked_copy();
  std::get<Copy>(commands_of(program, "dma")[1]).src.width = {24};
  std::get<Copy>(commands_of(program, "dma")[1]).dst.width = {24};
  expect_error(program,
               "tracker arrived (out[0+64] of rank 1) never reaches the trigger: out[56, 64) is updated 0 times in "
               "an iteration, the tracker counts 1: by nothing");
}

TEST(VerifyTracker, ADroppedUpdateIsNamedWithTheOnesThatCome) {
  Program program = ring_of_products({3, 2, 1});
  // dma0: wait, copy of piece 0 of chunk 1 to c1, wait, copy of piece 1, signal.
  commands_of(program, "dma0").erase(commands_of(program, "dma0").begin() + 1);
  expect_error(program,
               "tracker t1.1.0 (c1[0+12] of rank 1) never reaches the trigger: c1[0, 12) is updated once in an "
               "iteration, the tracker counts 2: by rank 1, queue stream1, command 0");
}

TEST(VerifyTracker, SplitOfKCountsAsOftenAsItIsSplit) {
  Program program = direct_sum_of_products({2, 1, 1});
  product_of(program, "stream0").split_k = 3;
  expect_error(program, "counts 2, but c0[0, 12) is updated 4 times in an iteration");
}

TEST(VerifyTracker, NothingButUpdatesWritesTrackedBytes) {
  Program program = tracked_copy();
  program.queues[1].kind = QueueKind::compute;
  program.queues[1].engine.reset();
  expect_error(program, "writes bytes that tracker arrived (out[0+64] of rank 1) watches, but is not an update");
  program = tracked_copy();
  commands_of(program, "dma")[0] =
      Broadcast{make_region({0}, {0}, {32}), make_region({1}, {0}, {32}), make_region({1}, {32}, {32})};
  expect_error(program, "is not an update");
  program = tracked_copy();
  program.trackers.push_back({"input", make_region({0}, {0}, {64}), 1, {0}, 1});
  expect_error(program, "the caller writes its input to bytes that tracker input (in[0+64] of rank 0) watches");
}

TEST(VerifyTracker, BlocksThatAddAreTrackedEverywhere) {
  Program program = direct_sum_of_products({2, 2, 1});
  program.trackers.erase(program.trackers.begin());
  expect_error(program,
               "block 1 (rows 0 to 2, columns 0 to 3) is added to c0[0+12 x 2 rows, pitch 12], which has no "
               "tracker everywhere");
}

TEST(VerifyTracker, StoresAreTheOnlyUpdate) {
  Program program = direct_sum_of_products({2, 1, 1});
  product_of(program, "stream0").outputs[0].op = CopyOp::store;
  expect_error(program, "tracker t1.1.0 (c1[0+12] of rank 1) has stores among the 2 updates of c1[0, 12)");
  program = direct_sum_of_products({1, 1, 2});
  product_of(program, "stream0").outputs[0].op = CopyOp::store;
  expect_error(program, "block 0 (rows 0 to 1, columns 0 to 3) is tracked and stored by 2 workgroups");
}

TEST(VerifyTracker, ElementsAreAddedAsAWhole) {
  Program program = direct_sum_of_products({2, 1, 1});
  program.trackers[0].region.width = {10};
  program.trackers.push_back({"rest", make_region(program.trackers[0].region.buffer, {10}, {2}), 2, {1}, 1});
  expect_error(program, "tracker t0.0.0 (c0[0+10] of rank 0) watches parts of f32 elements");
}

}  // namespace tracker_test
}  // namespace cortado::verifier
