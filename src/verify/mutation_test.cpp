// Good programs with one mistake put in. The verifier must refuse each mutant, or the mistake must be harmless: then no
// order that the semantics allows gives a wrong byte or hangs.
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/ir/text.hpp"
#include "cortado/ir/visit.hpp"

#include "verify/testing/interpreter.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace {

using testing::good_programs;
using testing::interpret;
using testing::Named;
using testing::Outcome;

constexpr std::uint32_t kIterationsRun = 3;
constexpr std::uint64_t kSeeds = 12;

struct Mutant {
  std::string what;
  Program program;
};

/// Calls change(program) on a copy and keeps it.
void add(std::vector<Mutant>& mutants, const Program& program, std::string what,
         const std::function<void(Program&)>& change) {
  mutants.push_back({std::move(what), program});
  change(mutants.back().program);
}

void add_mutants_of(std::vector<Mutant>& mutants, const Program& program, std::size_t q, std::size_t c) {
  const Command& command = program.queues[q].commands[c];
  const std::string where = fmt::format("{} command {} ({})", program.queues[q].name, c, to_string(program, command));
  add(mutants, program, "drop " + where,
      [&](Program& p) { p.queues[q].commands.erase(p.queues[q].commands.begin() + static_cast<std::ptrdiff_t>(c)); });
  if (c + 1 < program.queues[q].commands.size()) {
    add(mutants, program, "swap with the next: " + where,
        [&](Program& p) { std::swap(p.queues[q].commands[c], p.queues[q].commands[c + 1]); });
  }
  if (const auto* wait = std::get_if<Wait>(&command)) {
    add(mutants, program, "wait for less: " + where,
        [&](Program& p) { std::get<Wait>(p.queues[q].commands[c]).value = wait->value - 1; });
    add(mutants, program, "wait for more: " + where,
        [&](Program& p) { std::get<Wait>(p.queues[q].commands[c]).value = wait->value + 1; });
    add(mutants, program, "wait for equality: " + where,
        [&](Program& p) { std::get<Wait>(p.queues[q].commands[c]).compare = Compare::eq; });
  }
  if (std::holds_alternative<Signal>(command)) {
    add(mutants, program, "signal twice: " + where,
        [&](Program& p) { std::get<Signal>(p.queues[q].commands[c]).value += 1; });
  }
  if (const auto* gemm = std::get_if<Gemm>(&command)) {
    const auto add_gemm = [&](const std::string& what, const std::function<void(Gemm&)>& change) {
      add(mutants, program, what + where, [&](Program& p) { change(std::get<Gemm>(p.queues[q].commands[c])); });
    };
    add_gemm("add to the result: ", [](Gemm& g) { g.accumulate = !g.accumulate; });
    add_gemm("less of k: ", [](Gemm& g) {
      --g.k;
      --g.b.rows;
      g.a.width = g.a.width - size_of(g.dtype);
    });
    if (gemm->b.offset >= gemm->b.pitch) {
      add_gemm("other rows of B: ", [](Gemm& g) { g.b.offset = g.b.offset - g.b.pitch; });
    }
    if (gemm->m > 1) {
      add_gemm("A one row lower: ", [](Gemm& g) {
        g.a.offset += g.a.pitch;
        g.m = g.a.rows = g.c.rows = g.a.rows - 1;
      });
    }
  }
  if (std::holds_alternative<Copy>(command)) {
    add(mutants, program, "shift the source: " + where,
        [&](Program& p) { std::get<Copy>(p.queues[q].commands[c]).src.offset += 4_B; });
    add(mutants, program, "shift the destination: " + where,
        [&](Program& p) { std::get<Copy>(p.queues[q].commands[c]).dst.offset += 4_B; });
    add(mutants, program, "copy less: " + where, [&](Program& p) {
      auto& copy = std::get<Copy>(p.queues[q].commands[c]);
      copy.src.width = copy.dst.width = copy.src.width - 4_B;
    });
  }
}

std::vector<Mutant> mutants_of(const Program& program) {
  std::vector<Mutant> mutants;
  for (std::size_t q = 0; q < program.queues.size(); ++q) {
    for (std::size_t c = 0; c < program.queues[q].commands.size(); ++c) add_mutants_of(mutants, program, q, c);
  }
  return mutants;
}

class Mutation : public ::testing::TestWithParam<Named> {};

TEST_P(Mutation, TheProgramItselfPassesAndRunsRight) {
  const Program& program = GetParam().program;
  EXPECT_THAT(testing::errors_of(program), ::testing::IsEmpty());
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = interpret(program, kIterationsRun, seed);
    EXPECT_TRUE(outcome.right()) << "seed " << seed << ": " << outcome.wrong_bytes << " wrong bytes";
  }
}

TEST_P(Mutation, EveryMutantIsCaughtOrHarmless) {
  std::size_t caught = 0;
  for (const Mutant& mutant : mutants_of(GetParam().program)) {
    const std::vector<std::string> codes = testing::codes_of(mutant.program);
    if (!codes.empty()) ++caught;
    if (codes.empty()) {
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        ASSERT_TRUE(interpret(mutant.program, kIterationsRun, seed).right()) << mutant.what << ", seed " << seed;
      }
    }
    if (codes == std::vector<std::string>{"verify.deadlock"}) {
      // The rule is exact: what it refuses does hang.
      ASSERT_FALSE(interpret(mutant.program, kIterationsRun, 1).finished) << mutant.what;
    }
  }
  EXPECT_GT(caught, 0U);
}

INSTANTIATE_TEST_SUITE_P(GoodPrograms, Mutation, ::testing::ValuesIn(good_programs()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace cortado::verifier
