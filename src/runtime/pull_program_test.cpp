// Programs of ranks that take from each other: all of them are proved, and would fail without their waits.
#include "runtime/pull_program.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "cortado/target.hpp"

#include "runtime/rank_program.hpp"

namespace cortado::runtime {
namespace pull_program_test {

const Machine& machine() {
  static const Machine loaded = load_machine(kPullMachine).value();
  return loaded;
}

std::string refusal(Program program) {
  const auto proved = verify(std::move(program), machine());
  return proved ? "" : proved.error().front().code;
}

constexpr std::array kKinds{OperationKind::all_gather, OperationKind::all_to_all, OperationKind::reduce_scatter,
                            OperationKind::all_reduce, OperationKind::broadcast,  OperationKind::gather,
                            OperationKind::scatter};

TEST(PullProgram, EveryCollectiveIsProvedForOddSizesAndInPlace) {
  for (const OperationKind kind : kKinds) {
    for (const std::uint32_t ranks : {2U, 3U, 8U}) {
      for (const std::uint64_t bytes : {8U, 72U, 100'008U}) {
        for (const std::uint64_t in_place : {0U, 1U, 0xffU}) {
          if (kind == OperationKind::all_to_all && in_place != 0) continue;  // is not done by a program
          const PullRequest request{kind, ranks, ranks - 1, bytes, 8, in_place & ((1U << ranks) - 1)};
          EXPECT_EQ(refusal(plan_pull(request)), "")
              << name_of(kind) << " " << ranks << " " << bytes << " " << in_place;
        }
      }
    }
  }
}

TEST(PullProgram, CountsMayBeZero) {
  PullRequest request{OperationKind::all_to_all, 3, 0, 40, 1, 0};
  request.send_bytes = {0, 7, 40, 5, 0, 0, 0, 0, 0};  // rank 2 sends nothing
  EXPECT_EQ(refusal(plan_pull(request)), "");
}

TEST(PullProgram, GatheredBlocksMayDiffer) {
  for (const std::uint64_t in_place : {0U, 7U}) {
    PullRequest request{OperationKind::all_gather, 3, 0, 40, 1, in_place};
    request.send_bytes = {7, 7, 7, 40, 40, 40, 0, 0, 0};
    EXPECT_EQ(refusal(plan_pull(request)), "") << in_place;
  }
}

TEST(PullProgram, WithoutAnyOfItsWaitsForOthersItIsRefused) {
  for (const OperationKind kind : kKinds) {
    // Out of place, an all-reduce needs no wait at its end as long as its caller only reads the output; callers of
    // the communicator may do more with their memory.
    const std::uint64_t in_place = kind == OperationKind::all_reduce ? 7 : 0;
    const Program whole = plan_pull({kind, 3, 0, 1000, 4, in_place});
    for (std::size_t q = 0; q < whole.queues.size(); ++q) {
      for (std::size_t i = 0; i < whole.queues[q].commands.size(); ++i) {
        const auto* const wait = std::get_if<Wait>(&whole.queues[q].commands[i]);
        if (wait == nullptr || whole.signals[wait->signal.value].name.starts_with(kEnter)) continue;
        Program without = whole;
        auto& commands = without.queues[q].commands;
        commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_NE(refusal(std::move(without)), "") << name_of(kind) << " queue " << q << " command " << i;
      }
    }
  }
}

TEST(PullProgram, ARankTakesFromItsNextNeighbourFirst) {
  const auto proved = verify(plan_pull({OperationKind::all_gather, 3, 0, 100, 1, 0}), machine());
  ASSERT_TRUE(proved);
  const std::vector<Step> steps = steps_of(*proved, 1);
  ASSERT_EQ(steps.size(), 6U);  // three copies, exit, two waits for the others'
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(steps[i].kind, Step::Kind::copy);
    EXPECT_EQ(steps[i].sources.front().rank, (1 + i) % 3);
    EXPECT_EQ(steps[i].to, (1 + i) % 3 * 100U);
    EXPECT_EQ(steps[i].bytes, 100U);
  }
  EXPECT_EQ(steps[3].kind, Step::Kind::raise);
  EXPECT_EQ(steps[4].kind, Step::Kind::wait);
}

TEST(PullProgram, AProgramIsProvedOnce) {
  RankPrograms programs(0);
  const PullRequest request{OperationKind::all_reduce, 2, 0, 4096, 4, 0};
  const auto first = programs.find(request);
  const auto second = programs.find(request);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(programs.proved(), 1U);
}

}  // namespace pull_program_test
}  // namespace cortado::runtime
