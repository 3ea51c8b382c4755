// verify.ids
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing/products.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace ids_test {

using testing::codes_of;
using testing::commands_of;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;
using testing::point_to_point;

/// The only error of a program, which must be of this rule.
Diagnostic only_error(const Program& program) {
  const auto errors = errors_of(program);
  EXPECT_EQ(errors.size(), 1U);
  if (errors.empty()) return {};
  EXPECT_EQ(errors[0].code, "verify.ids");
  EXPECT_FALSE(errors[0].hint.empty());
  return errors[0];
}

TEST(VerifyIds, UnknownBufferNamesTheCommand) {
  Program program = point_to_point();
  std::get<Copy>(commands_of(program, "dma")[0]).dst.buffer = {7};
  const Diagnostic error = only_error(program);
  EXPECT_THAT(error.message, HasSubstr("no buffer 7"));
  EXPECT_EQ(error.place.queue, "dma");
  EXPECT_EQ(error.place.rank, RankId{0});
  EXPECT_EQ(error.place.command, 0U);
}

TEST(VerifyIds, UnknownSignal) {
  Program program = point_to_point();
  std::get<Wait>(commands_of(program, "host")[1]).signal = {1};
  EXPECT_THAT(only_error(program).message, HasSubstr("no signal 1: the program has 1"));
}

TEST(VerifyIds, UnknownSignalOfATileGroup) {
  Program program = testing::gemm_with_tile_signals();
  std::get<Gemm>(commands_of(program, "stream")[0]).raises[1].signal = {9};
  EXPECT_THAT(only_error(program).message, HasSubstr("no signal 9"));
}

TEST(VerifyIds, UnknownQueue) {
  Program program = point_to_point();
  std::get<Submit>(commands_of(program, "host")[0]).queue = {2};
  EXPECT_THAT(only_error(program).message, HasSubstr("no queue 2"));
}

TEST(VerifyIds, RanksOutOfRange) {
  Program program = point_to_point();
  program.buffers[1].rank = {2};
  program.signals[0].home = RankId{5};
  program.queues[1].rank = RankId{3};
  const auto errors = errors_of(program);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_THAT(errors[0].message, HasSubstr("buffer out is on rank 2, but the program has 2 ranks"));
  EXPECT_THAT(errors[1].message, HasSubstr("signal done is on rank 5"));
  EXPECT_THAT(errors[2].message, HasSubstr("queue dma is on rank 3"));
}

TEST(VerifyIds, CommandOnAQueueThatDoesNotTakeIt) {
  Program program = point_to_point();
  commands_of(program, "host").push_back(commands_of(program, "dma")[0]);
  const Diagnostic error = only_error(program);
  EXPECT_THAT(error.message, HasSubstr("a host queue cannot hold the command copy"));
  EXPECT_THAT(error.hint, HasSubstr("dma"));
}

TEST(VerifyIds, UnknownBufferInTheContract) {
  Program program = point_to_point();
  program.contract.clauses[0].terms[0].buffer = {4};
  EXPECT_EQ(only_error(program).place.key, "contract.clauses[0]");
}

TEST(VerifyIds, UnknownBufferInAProduct) {
  for (const int which : {0, 1, 2}) {
    Program program = testing::whole_product();
    ProductClause& clause = program.contract.products[0];
    Region* regions[] = {&clause.output, clause.products[0].a.data(), &clause.products[0].b};
    regions[which]->buffer = {3};
    const Diagnostic error = only_error(program);
    EXPECT_EQ(error.place.key, "contract.products[0]");
    EXPECT_THAT(error.message, HasSubstr("there is no buffer 3"));
  }
}

TEST(VerifyIds, UnknownBufferOrSignalOfATracker) {
  Program program = point_to_point();
  program.trackers.push_back({"t", make_region({2}, {0}, {64}), 1, {0}, 1});
  EXPECT_EQ(only_error(program).place.key, "trackers[0]");
  program.trackers[0] = {"t", make_region({1}, {0}, {64}), 1, {1}, 1};
  EXPECT_EQ(only_error(program).place.key, "trackers[0]");
}

TEST(VerifyIds, ProgramWithoutRanks) {
  Program program;
  EXPECT_THAT(only_error(program).message, HasSubstr("no ranks"));
}

TEST(VerifyIds, NothingElseIsLookedAtWhenIdsAreUnknown) {
  Program program = point_to_point();
  commands_of(program, "dma").pop_back();  // a deadlock as well
  std::get<Copy>(commands_of(program, "dma")[0]).dst.buffer = {7};
  EXPECT_THAT(codes_of(program), ElementsAre("verify.ids"));
}

}  // namespace ids_test
}  // namespace cortado::verifier
