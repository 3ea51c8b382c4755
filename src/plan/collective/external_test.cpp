// Planners outside the tree: the example, and ones that answer something other than what was asked.
#include "plan/external.hpp"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cortado/target.hpp"

#include "plan/c3/testing.hpp"
#include "plan/choose.hpp"
#include "plan/overlap.hpp"
#include "tests/support/source_dir.hpp"

namespace cortado::plan {
namespace external_test {

class External : public testing::Test {
 protected:
  External() : path_(fmt::format("{}/cortado_planner_{}", testing::TempDir(), ::getpid())) {}
  ~External() override { std::filesystem::remove(path_); }

  /// A planner that changes the program of its request by a line of Python.
  std::string planner(const std::string& line) {
    std::ofstream(path_) << "#!/usr/bin/env python3\n"
                            "import json, sys\n"
                            "request = json.load(sys.stdin)\n"
                            "program = request['program']\n"
                         << line << "\nprint(json.dumps(program))\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    return external_name(path_);
  }

  Result<Program> plan(const std::string& variant, std::uint32_t ranks = 8) {
    return plan_collective(
        {.collective = "all-gather", .variant = variant, .bytes = 64_KiB, .ranks = ranks, .in_place = true}, machine_);
  }
  std::string refusal(const std::string& line) {
    const auto program = plan(planner(line));
    return program ? "" : program.error().code + ": " + program.error().message;
  }

  const Machine machine_ = machine_for_test("mi300x-8");
  const std::string example_ = external_name(source_dir() + "/examples/planners/recursive_doubling.py");
  std::string path_;
};

TEST_F(External, TheExampleIsProved) {
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    const auto program = plan(example_, ranks);
    ASSERT_TRUE(program) << to_string(program.error());
    const auto verified = verify(*program, machine_);
    ASSERT_TRUE(verified) << to_string(verified.error().front());
    EXPECT_EQ(program->contract.name, "all-gather");
  }
  const auto odd = plan(example_, 6);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, "process.exit");
  EXPECT_THAT(odd.error().message, testing::HasSubstr("recursive doubling needs a power of two of ranks"));
}

TEST_F(External, AnswersToOtherQuestionsAreRefused) {
  EXPECT_THAT(refusal("program['contract']['clauses'].pop()"), testing::HasSubstr("planner.program"));
  EXPECT_THAT(refusal("program['buffers'].pop()"), testing::HasSubstr("different buffers"));
  EXPECT_THAT(refusal("program['ranks'] = 4"), testing::HasSubstr("4 ranks"));
  EXPECT_THAT(refusal("program['machine'] = 'h100-8'"), testing::HasSubstr("a different machine"));
  EXPECT_THAT(refusal("program['buffers'].append({'name': 'more', 'rank': 0, 'size': 64, 'role': 'output'})"),
              testing::HasSubstr("not scratch"));
  EXPECT_THAT(refusal("program = [1, 2]"), testing::HasSubstr("program.schema"));
  // It does nothing that the contract requires: the verifier says so.
  const auto nothing = plan(planner("pass"));
  ASSERT_TRUE(nothing) << to_string(nothing.error());
  EXPECT_FALSE(verify(*nothing, machine_));
}

TEST_F(External, IsACandidateAmongVariants) {
  const auto candidates = list_candidates(
      {.base = {.collective = "all-gather", .bytes = 64_KiB}, .in_place = true, .among = {kDmaVariants, example_}});
  ASSERT_TRUE(candidates);
  EXPECT_EQ(candidates->back().variant, example_);
  EXPECT_GT(candidates->size(), 2U);
}

TEST_F(External, IsAStrategyOfOverlaps) {
  const FlatCost flat;
  const StrategyCosts costs{flat, {}};
  const OverlapProblem problem{.relation = Relation::gemm_needs_collective,
                               .gemms = {{256, 128, 64}},
                               .collectives = {{.collective = "all-gather"}},
                               .ranks = 4};
  const auto checked = check_problem(problem, machine_).value();
  const std::string name = planner(
      "program['name'] = request['request']['relation'] + ' ' + "
      "str(len(program['contract']['products']))");
  const auto strategy = find_strategy(name);
  ASSERT_TRUE(strategy);
  const auto planned = strategy->strategy->plan({checked, machine_, costs});
  ASSERT_TRUE(planned) << to_string(planned.error());
  EXPECT_EQ(planned->name, name);
  EXPECT_EQ(planned->how, "gemm-needs-collective 4");
}

}  // namespace external_test
}  // namespace cortado::plan
