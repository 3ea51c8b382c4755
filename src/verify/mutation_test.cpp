// Good programs with one mistake put in. The verifier must refuse each mutant, or the mistake must be harmless: then no
// order that the semantics allows gives a wrong byte or hangs.
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "ir/visit.hpp"
#include "verify/testing/interpreter.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace mutation_test {

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
  if (const auto* gemm = std::get_if<Gemm>(&command)) {
    for (std::size_t b = 0; b < gemm->outputs.size(); ++b) {
      const auto add_block = [&](const std::string& what, const std::function<void(Gemm&, OutputBlock&)>& change) {
        add(mutants, program, fmt::format("{} block {}: {}", what, b, where), [&](Program& p) {
          auto& mapped = std::get<Gemm>(p.queues[q].commands[c]);
          change(mapped, mapped.outputs[b]);
        });
      };
      const auto at = static_cast<std::ptrdiff_t>(b);
      add_block("drop", [&](Gemm& g, OutputBlock&) { g.outputs.erase(g.outputs.begin() + at); });
      add_block("store", [](Gemm&, OutputBlock& block) { block.op = CopyOp::store; });
      add_block("exchange with the first", [](Gemm& g, OutputBlock& block) { std::swap(block.to, g.outputs[0].to); });
      add_block("other rows of", [](Gemm& g, OutputBlock& block) { std::swap(block.row, g.outputs[0].row); });
      add_block("elsewhere with", [](Gemm&, OutputBlock& block) { block.to.offset += block.to.pitch; });
      // The same buffer of the next rank: buffers are in the same order for every rank, or rank by rank.
      for (const std::uint32_t step : {1U, 3U}) {
        add_block(fmt::format("{} buffers on:", step), [&](Gemm&, OutputBlock& block) {
          block.to.buffer.value = (block.to.buffer.value + step) % static_cast<std::uint32_t>(program.buffers.size());
        });
      }
    }
    if (!gemm->outputs.empty()) {
      add(mutants, program, "more workgroups: " + where,
          [&](Program& p) { ++std::get<Gemm>(p.queues[q].commands[c]).split_k; });
    }
  }
  if (const auto* copy = std::get_if<Copy>(&command)) {
    if (copy->op == CopyOp::add) {
      add(mutants, program, "store: " + where,
          [&](Program& p) { std::get<Copy>(p.queues[q].commands[c]).op = CopyOp::store; });
      add(mutants, program, "twice: " + where, [&](Program& p) {
        auto& commands = p.queues[q].commands;
        commands.insert(commands.begin() + static_cast<std::ptrdiff_t>(c), program.queues[q].commands[c]);
      });
    }
    add(mutants, program, "shift the source: " + where,
        [&](Program& p) { std::get<Copy>(p.queues[q].commands[c]).src.offset += 4_B; });
    add(mutants, program, "shift the destination: " + where,
        [&](Program& p) { std::get<Copy>(p.queues[q].commands[c]).dst.offset += 4_B; });
    add(mutants, program, "copy less: " + where, [&](Program& p) {
      auto& less = std::get<Copy>(p.queues[q].commands[c]);
      less.src.width = less.dst.width = less.src.width - 4_B;
    });
  }
}

void add_mutants_of_tracker(std::vector<Mutant>& mutants, const Program& program, std::size_t t) {
  const auto add_tracker = [&](const std::string& what, const std::function<void(Tracker&)>& change) {
    add(mutants, program, what + program.trackers[t].name, [&](Program& p) { change(p.trackers[t]); });
  };
  add(mutants, program, "drop tracker " + program.trackers[t].name,
      [&](Program& p) { p.trackers.erase(p.trackers.begin() + static_cast<std::ptrdiff_t>(t)); });
  add_tracker("one update less: ", [](Tracker& tracker) { --tracker.updates; });
  add_tracker("one update more: ", [](Tracker& tracker) { ++tracker.updates; });
  add_tracker("raises by one more: ", [](Tracker& tracker) { ++tracker.value; });
  add_tracker("watches less: ", [](Tracker& tracker) { tracker.region.width = tracker.region.width - 4_B; });
  add_tracker("watches half an element: ", [](Tracker& tracker) { tracker.region.width = tracker.region.width - 2_B; });
  add_tracker("watches other bytes: ", [](Tracker& tracker) { tracker.region.offset += 4_B; });
  for (std::uint32_t s = 0; s < program.signals.size(); ++s) {
    add_tracker(fmt::format("raises {}: ", program.signals[s].name), [&](Tracker& tracker) { tracker.signal = {s}; });
  }
}

std::vector<Mutant> mutants_of(const Program& program) {
  std::vector<Mutant> mutants;
  for (std::size_t t = 0; t < program.trackers.size(); ++t) add_mutants_of_tracker(mutants, program, t);
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
      // The rule is exact: what it rejects does hang.
      ASSERT_FALSE(interpret(mutant.program, kIterationsRun, 1).finished) << mutant.what;
    }
  }
  EXPECT_GT(caught, 0U);
}

INSTANTIATE_TEST_SUITE_P(GoodPrograms, Mutation, ::testing::ValuesIn(good_programs()),
                         [](const auto& named) { return named.param.name; });

}  // namespace mutation_test
}  // namespace cortado::verifier
