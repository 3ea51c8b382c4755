// Good programs, broken in one place. A broken program must be refused by the verifier, or be harmless: run to the end
// with every byte right, under several orders of events.
#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "harness.hpp"
#include "ir/visit.hpp"
#include "plan/t3.hpp"

namespace cortado::product {
namespace mutation_test {

struct Mutant {
  std::string what;
  Program program;
};

/// One way to break a program, in every place where that is possible.
struct Mutation {
  void (*make)(const Program&, std::vector<Mutant>&);
  bool always_refused;  ///< no program survives it
};

/// Whether nothing reads what the command writes to scratch memory: the copies of the cores-ll variants that represent
/// flag words. Breaking them does no harm.
bool unread(const Program& program, const Command& command) {
  const auto* copy = std::get_if<Copy>(&command);
  if (copy == nullptr || program.buffer(copy->dst.buffer).role != BufferRole::scratch) return false;
  for (const Queue& queue : program.queues) {
    for (const Command& other : queue.commands) {
      for (const Access& access : accesses(other)) {
        const bool overlaps = access.region.buffer == copy->dst.buffer &&
                              access.region.offset < copy->dst.offset + copy->dst.extent() &&
                              copy->dst.offset < access.region.offset + access.region.extent();
        if (overlaps && access.kind != AccessKind::write) return false;
      }
    }
  }
  return true;
}

/// Calls body(queue, command index) for every command whose loss would be felt.
void for_each_command(const Program& program, const std::function<void(std::size_t, std::size_t)>& body) {
  for (std::size_t q = 0; q < program.queues.size(); ++q) {
    for (std::size_t c = 0; c < program.queues[q].commands.size(); ++c) {
      if (!unread(program, program.queues[q].commands[c])) body(q, c);
    }
  }
}

std::string name_command(const Program& program, std::size_t queue, std::size_t command) {
  const Queue& q = program.queues[queue];
  return fmt::format("{}, command {} ({})", q.name, command, to_string(program, q.commands[command]));
}

void drop_command(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    auto& commands = mutant.queues[q].commands;
    commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(c));
    mutants.push_back({"without " + name_command(program, q, c), std::move(mutant)});
  });
}

void duplicate_command(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    auto& commands = mutant.queues[q].commands;
    commands.insert(commands.begin() + static_cast<std::ptrdiff_t>(c), commands[c]);
    mutants.push_back({"twice " + name_command(program, q, c), std::move(mutant)});
  });
}

void swap_neighbours(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    if (c == 0 || program.queues[q].commands[c] == program.queues[q].commands[c - 1]) return;
    Program mutant = program;
    std::swap(mutant.queues[q].commands[c], mutant.queues[q].commands[c - 1]);
    mutants.push_back({"earlier " + name_command(program, q, c), std::move(mutant)});
  });
}

/// Calls edit(region) on a copy of the program for every region of every command.
void edit_regions(const Program& program, const std::string& what, const std::function<bool(Region&)>& edit,
                  std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    for (std::size_t index = 0;; ++index) {
      Program mutant = program;
      std::vector<Region*> regions;
      match(
          mutant.queues[q].commands[c],
          [&](Copy& copy) {
            regions = {&copy.src, &copy.dst};
          },
          [&](Broadcast& b) {
            regions = {&b.src, &b.dst1, &b.dst2};
          },
          [&](Swap& s) {
            regions = {&s.a, &s.b};
          },
          [&](Kernel& kernel) {
            for (Region& source : kernel.sources) regions.push_back(&source);
            regions.push_back(&kernel.dst);
          },
          [](auto&) {});
      if (index >= regions.size()) return;
      if (!edit(*regions[index])) continue;
      mutants.push_back({fmt::format("{} {} of {}", what, index, name_command(program, q, c)), std::move(mutant)});
    }
  });
}

void shift_region(const Program& program, std::vector<Mutant>& mutants) {
  const auto later = [](Region& region) {
    region.offset += Bytes{64};
    return true;
  };
  const auto earlier = [](Region& region) {
    if (region.offset.value < 64) return false;
    region.offset = region.offset - Bytes{64};
    return true;
  };
  edit_regions(program, "64 bytes later region", later, mutants);
  edit_regions(program, "64 bytes earlier region", earlier, mutants);
}

void other_buffer(const Program& program, std::vector<Mutant>& mutants) {
  const auto next = [&](Region& region) {
    region.buffer.value = (region.buffer.value + 1) % static_cast<std::uint32_t>(program.buffers.size());
    return true;
  };
  edit_regions(program, "next buffer for region", next, mutants);
}

void shorter_move(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    bool changed = true;
    const auto cut = [](Region& region) { region.width = region.width - Bytes{4}; };
    match(
        mutant.queues[q].commands[c],
        [&](Copy& copy) {
          cut(copy.src);
          cut(copy.dst);
        },
        [&](Broadcast& b) {
          cut(b.src);
          cut(b.dst1);
          cut(b.dst2);
        },
        [&](auto&) { changed = false; });
    if (changed) mutants.push_back({"4 bytes short " + name_command(program, q, c), std::move(mutant)});
  });
}

void other_signal(const Program& program, std::vector<Mutant>& mutants) {
  const auto next = [&](SignalId& signal) {
    signal.value = (signal.value + 1) % static_cast<std::uint32_t>(program.signals.size());
    return true;
  };
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    const bool changed = match(
        mutant.queues[q].commands[c], [&](Wait& w) { return next(w.signal); },
        [&](Signal& s) { return next(s.signal); }, [&](Trigger& t) { return next(t.signal); },
        [](auto&) { return false; });
    if (changed) mutants.push_back({"another signal in " + name_command(program, q, c), std::move(mutant)});
  });
}

void other_value(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    for (const std::uint64_t value : {0ul, 2ul}) {
      Program mutant = program;
      const auto set = [&](std::uint64_t& field) {
        field = value;
        return true;
      };
      const bool changed = match(
          mutant.queues[q].commands[c], [&](Wait& w) { return set(w.value); }, [&](Signal& s) { return set(s.value); },
          [&](Trigger& t) { return set(t.value); }, [](auto&) { return false; });
      if (changed)
        mutants.push_back({fmt::format("value {} in {}", value, name_command(program, q, c)), std::move(mutant)});
    }
  });
}

void wait_for_equal(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    Wait* wait = std::get_if<Wait>(&mutant.queues[q].commands[c]);
    if (wait == nullptr) return;
    wait->compare = Compare::eq;
    mutants.push_back({"wait for equality in " + name_command(program, q, c), std::move(mutant)});
  });
}

void store_for_add(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    Copy* copy = std::get_if<Copy>(&mutant.queues[q].commands[c]);
    if (copy == nullptr || copy->op != CopyOp::add) return;
    copy->op = CopyOp::store;
    mutants.push_back({"store for add in " + name_command(program, q, c), std::move(mutant)});
  });
}

constexpr std::array kMutations{
    Mutation{drop_command, false}, Mutation{duplicate_command, false}, Mutation{swap_neighbours, false},
    Mutation{other_signal, false}, Mutation{other_value, false},       Mutation{wait_for_equal, false},
    Mutation{shift_region, true},  Mutation{other_buffer, false},      Mutation{shorter_move, true},
    Mutation{store_for_add, true},
};

void expect_refused_or_harmless(const Program& program, const Machine& on, const std::string& what,
                                std::span<const Mutation> mutations, std::vector<Node>& nodes) {
  for (const Mutation& mutation : mutations) {
    std::vector<Mutant> mutants;
    mutation.make(program, mutants);
    for (Mutant& mutant : mutants) {
      SCOPED_TRACE(what + ": " + mutant.what);
      const auto verified = verify(std::move(mutant.program), on);
      if (!verified) continue;
      EXPECT_FALSE(mutation.always_refused);
      for (Node& node : nodes) EXPECT_EQ(node.run(*verified), "");
    }
  }
}

/// Adds the program with one tracker edited, for all of them.
void edit_trackers(const Program& program, const std::string& what, const std::function<void(Tracker&)>& edit,
                   std::vector<Mutant>& mutants) {
  for (std::size_t t = 0; t < program.trackers.size(); ++t) {
    Program mutant = program;
    edit(mutant.trackers[t]);
    mutants.push_back({what + " tracker " + program.trackers[t].name, std::move(mutant)});
  }
}

void drop_tracker(const Program& program, std::vector<Mutant>& mutants) {
  for (std::size_t t = 0; t < program.trackers.size(); ++t) {
    Program mutant = program;
    mutant.trackers.erase(mutant.trackers.begin() + static_cast<std::ptrdiff_t>(t));
    mutants.push_back({"without tracker " + program.trackers[t].name, std::move(mutant)});
  }
}

void other_count(const Program& program, std::vector<Mutant>& mutants) {
  edit_trackers(
      program, "one update more for", [](Tracker& tracker) { ++tracker.updates; }, mutants);
  edit_trackers(
      program, "one update less for", [](Tracker& tracker) { --tracker.updates; }, mutants);
}

void other_tracked_bytes(const Program& program, std::vector<Mutant>& mutants) {
  edit_trackers(
      program, "4 bytes later", [](Tracker& tracker) { tracker.region.offset += Bytes{4}; }, mutants);
  edit_trackers(
      program, "4 bytes less for", [](Tracker& tracker) { tracker.region.width = tracker.region.width - Bytes{4}; },
      mutants);
}

void other_raise(const Program& program, std::vector<Mutant>& mutants) {
  edit_trackers(
      program, "2 raised by", [](Tracker& tracker) { tracker.value = 2; }, mutants);
  const auto signals = static_cast<std::uint32_t>(program.signals.size());
  edit_trackers(
      program, "another signal raised by",
      [&](Tracker& tracker) { tracker.signal.value = (tracker.signal.value + 1) % signals; }, mutants);
}

/// Adds the program with one block of an output map edited, for all of them.
void edit_blocks(const Program& program, const std::string& what, const std::function<void(OutputBlock&)>& edit,
                 std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    const auto* gemm = std::get_if<Gemm>(&program.queues[q].commands[c]);
    for (std::size_t b = 0; gemm != nullptr && b < gemm->outputs.size(); ++b) {
      Program mutant = program;
      edit(std::get<Gemm>(mutant.queues[q].commands[c]).outputs[b]);
      mutants.push_back({fmt::format("{} block {} of {}", what, b, program.queues[q].name), std::move(mutant)});
    }
  });
}

void other_block(const Program& program, std::vector<Mutant>& mutants) {
  edit_blocks(
      program, "4 bytes later", [](OutputBlock& block) { block.to.offset += Bytes{4}; }, mutants);
  edit_blocks(
      program, "a row less of", [](OutputBlock& block) { --block.rows, --block.to.rows; }, mutants);
  const auto buffers = static_cast<std::uint32_t>(program.buffers.size());
  edit_blocks(
      program, "next buffer for",
      [&](OutputBlock& block) { block.to.buffer.value = (block.to.buffer.value + 1) % buffers; }, mutants);
}

void other_block_op(const Program& program, std::vector<Mutant>& mutants) {
  edit_blocks(
      program, "other op for",
      [](OutputBlock& block) { block.op = block.op == CopyOp::add ? CopyOp::store : CopyOp::add; }, mutants);
}

/// Production in another order: harmless as long as everything is counted.
void other_order(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    auto* gemm = std::get_if<Gemm>(&mutant.queues[q].commands[c]);
    if (gemm == nullptr || gemm->outputs.empty()) return;
    std::reverse(gemm->outputs.begin(), gemm->outputs.end());
    mutants.push_back({"other order in " + program.queues[q].name, std::move(mutant)});
  });
}

void other_split(const Program& program, std::vector<Mutant>& mutants) {
  for_each_command(program, [&](std::size_t q, std::size_t c) {
    Program mutant = program;
    auto* gemm = std::get_if<Gemm>(&mutant.queues[q].commands[c]);
    if (gemm == nullptr || gemm->outputs.empty()) return;
    ++gemm->split_k;
    mutants.push_back({"one more part of k in " + program.queues[q].name, std::move(mutant)});
  });
}

/// For programs with trackers, in addition to the others.
constexpr std::array kTrackedMutations{
    Mutation{drop_tracker, false},        Mutation{other_count, true}, Mutation{other_raise, false},
    Mutation{other_tracked_bytes, false}, Mutation{other_block, true}, Mutation{other_block_op, false},
    Mutation{other_order, false},         Mutation{other_split, true},
};

class MutationProduct : public testing::TestWithParam<VariantInfo> {};

TEST_P(MutationProduct, IsRefusedOrHarmless) {
  const VariantInfo& variant = GetParam();
  const std::uint32_t ranks = 3;
  const bool library = variant.of_library || variant.variant == kLibraryVariant;
  const Machine& on = machine(library ? "h100-8" : "virtual-64-nmc");
  std::vector<Node> nodes;
  for (const std::uint64_t seed : {1ul, 2ul, 3ul}) nodes.emplace_back(on, ranks, seed);
  for (const HostThreads host : {HostThreads::single, HostThreads::per_rank}) {
    if (variant.on_cores && host == HostThreads::single) continue;  // has a host per rank anyway
    const CollectiveRequest request{.collective = variant.collective,
                                    .variant = variant.variant,
                                    .bytes = Bytes{64 * 3 * 2},
                                    .ranks = ranks,
                                    .prelaunch = host == HostThreads::per_rank && !variant.on_cores,
                                    .in_place = variant.in_place,
                                    .host = host};
    const Result<Program> program = plan_collective(request, on);
    ASSERT_TRUE(program) << to_string(program.error());
    ASSERT_TRUE(verify(*program, on));
    expect_refused_or_harmless(*program, on, describe(request), kMutations, nodes);
  }
}

std::string name_of(const testing::TestParamInfo<VariantInfo>& info) {
  std::string name = fmt::format("{}_{}", info.param.collective, info.param.variant);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, MutationProduct, testing::ValuesIn(list_variants()), name_of);

TEST(Mutation, OfT3IsRefusedOrHarmless) {
  const std::uint32_t ranks = 3;
  const Machine& on = machine("mi300x-8+t3");
  std::vector<Node> nodes;
  for (const std::uint64_t seed : {1ul, 2ul, 3ul}) nodes.emplace_back(on, ranks, seed);
  for (const T3Preset& preset : list_t3_presets()) {
    for (const std::uint64_t split_k : {1U, 2U}) {
      const T3Request request{.gemm = {24, 16, 8, DType::f32},
                              .collective = preset.collective,
                              .algorithm = preset.algorithm,
                              .ranks = ranks,
                              .tiling = Tiling{.tile_m = 4, .tile_n = 16},
                              .split_k = split_k,
                              .pieces = 2};
      const auto plan = plan_t3(request, on);
      ASSERT_TRUE(plan) << to_string(plan.error());
      ASSERT_TRUE(verify(plan->program, on));
      const std::string what = fmt::format("{} {}, split_k {}", preset.algorithm, preset.collective, split_k);
      expect_refused_or_harmless(plan->program, on, what, kMutations, nodes);
      expect_refused_or_harmless(plan->program, on, what, kTrackedMutations, nodes);
    }
  }
}

// What must never pass, whatever the variant: each of these breaks every program in which it is possible.
TEST(Mutation, LostCopiesWaitsAndSignalsAreRefused) {
  for (const VariantInfo& variant : list_variants()) {
    const bool library = variant.of_library || variant.variant == kLibraryVariant;
    const Machine& on = machine(library ? "h100-8" : "virtual-64-nmc");
    const CollectiveRequest request{.collective = variant.collective,
                                    .variant = variant.variant,
                                    .bytes = Bytes{64 * 4},
                                    .ranks = 4,
                                    .prelaunch = !variant.on_cores,
                                    .in_place = variant.in_place};
    const Result<Program> program = plan_collective(request, on);
    ASSERT_TRUE(program) << to_string(program.error());
    for_each_command(*program, [&](std::size_t q, std::size_t c) {
      const Command& command = program->queues[q].commands[c];
      const bool needed = moves_bytes(command) || std::holds_alternative<Signal>(command) ||
                          std::holds_alternative<Kernel>(command) || std::holds_alternative<Submit>(command) ||
                          std::holds_alternative<Trigger>(command);
      if (!needed) return;
      Program mutant = *program;
      auto& commands = mutant.queues[q].commands;
      commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(c));
      EXPECT_FALSE(verify(std::move(mutant), on)) << describe(request) << ": without " << name_command(*program, q, c);
    });
  }
}

}  // namespace mutation_test
}  // namespace cortado::product
