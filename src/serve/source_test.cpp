#include "serve/source.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cortado::serve {
namespace source_test {

Generated plain(std::uint64_t requests) {
  return {.requests = requests, .input = {100, 100}, .output = {10, 10}};
}

std::vector<Request> all_of(Source& source) {
  std::vector<Request> all;
  while (source.next_ns().value()) all.push_back(source.take());
  return all;
}

TEST(Generated, PoissonHasTheRate) {
  Generated generated = plain(20'000);
  generated.rate = 50;
  const auto requests = all_of(*generate(generated, {}));
  ASSERT_EQ(requests.size(), 20'000U);
  EXPECT_EQ(requests.front().arrival_ns, 0);
  // 20000 intervals of 20 ms: 400 s; the deviation of the sum is 400 / sqrt(20000) = 2.8 s.
  EXPECT_NEAR(static_cast<double>(requests.back().arrival_ns) * 1e-9, 400, 10);
  for (std::size_t i = 1; i < requests.size(); ++i) EXPECT_LE(requests[i - 1].arrival_ns, requests[i].arrival_ns);
}

TEST(Generated, SeedsDecide) {
  Generated generated = plain(100);
  generated.rate = 10;
  generated.input = {1, 1000};
  const auto one = all_of(*generate(generated, {}));
  const auto same = all_of(*generate(generated, {}));
  generated.seed = 2;
  const auto other = all_of(*generate(generated, {}));
  std::size_t equal = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].arrival_ns, same[i].arrival_ns);
    EXPECT_EQ(one[i].input, same[i].input);
    if (one[i].input == other[i].input) ++equal;
  }
  EXPECT_LT(equal, 10U);
}

TEST(Generated, LengthsFillTheirRange) {
  Generated generated = plain(1000);
  generated.output = {3, 5};
  std::set<std::uint32_t> seen;
  for (const Request& request : all_of(*generate(generated, {}))) seen.insert(request.output);
  EXPECT_EQ(seen, (std::set<std::uint32_t>{3, 4, 5}));
}

TEST(Generated, AUserAsksAgainWhenAnswered) {
  Generated generated = plain(5);
  generated.users = 2;
  const auto source = generate(generated, {});
  const Request first = source->take();
  source->take();
  EXPECT_FALSE(source->next_ns().value());
  source->ended(first, 7);
  EXPECT_EQ(source->next_ns().value(), 7);
}

TEST(Generated, ATurnHasAllBeforeIt) {
  Generated generated = plain(4);
  generated.users = 1;
  generated.turns = 3;
  generated.think_seconds = 1e-6;
  const auto source = generate(generated, {});
  std::int64_t answered = 5000;
  std::uint64_t name = 0;
  for (const std::uint32_t input : {100U, 210U, 320U}) {
    const Request request = source->take();
    EXPECT_EQ(request.input, input);
    EXPECT_EQ(request.blocks.size(), input / 16);
    if (input == 100) name = request.blocks.at(0);
    EXPECT_EQ(request.blocks.at(0), name);
    source->ended(request, answered);
    if (input < 320) {
      EXPECT_EQ(source->next_ns().value(), answered + 1000);
    }
    answered += 5000;
  }
  const Request next = source->take();  // of another conversation
  EXPECT_EQ(next.input, 100U);
  EXPECT_NE(next.blocks.at(0), name);
  EXPECT_FALSE(source->next_ns().value());
}

TEST(Generated, ReplicasShareAllRequests) {
  Generated generated = plain(10);
  EXPECT_EQ(all_of(*generate(generated, {0, 3})).size(), 4U);
  EXPECT_EQ(all_of(*generate(generated, {1, 3})).size(), 3U);
  EXPECT_EQ(all_of(*generate(generated, {2, 3})).size(), 3U);
}

/// There is one process, whatever the number of replicas: its requests are dealt to them as those of a trace.
TEST(Generated, ReplicasTakeTurns) {
  Generated generated = plain(1000);
  generated.input = {1, 5000};
  generated.named = true;
  for (const std::optional<double> rate : {std::optional(100.0), std::optional<double>()}) {
    generated.rate = rate;
    const auto all = all_of(*generate(generated, {}));
    ASSERT_EQ(all.size(), 1000U);
    for (std::uint32_t index = 0; index < 3; ++index) {
      const auto own = all_of(*generate(generated, {index, 3}));
      ASSERT_EQ(own.size(), index == 0 ? 334U : 333U);
      for (std::size_t i = 0; i < own.size(); ++i) {
        const Request& same = all[3 * i + index];
        EXPECT_EQ(own[i].arrival_ns, same.arrival_ns);
        EXPECT_EQ(own[i].input, same.input);
        EXPECT_EQ(own[i].output, same.output);
        EXPECT_EQ(own[i].blocks.at(0), same.blocks.at(0));
      }
    }
  }
}

/// A conversation stays on its replica; those of all replicas begin when one process says so.
TEST(Generated, ReplicasTakeTurnsWithConversations) {
  Generated generated = plain(900);
  generated.rate = 90;
  generated.turns = 3;
  generated.think_seconds = 1000;  // longer than the run: later turns come after all first ones
  const auto begun = [&](const Share& share) {
    const auto source = generate(generated, share);
    std::vector<std::int64_t> times;
    for (std::uint64_t i = 0; i < generated.requests / generated.turns / share.of; ++i) {
      const Request request = source->take();
      EXPECT_EQ(request.turn, 0U);
      times.push_back(request.arrival_ns);
      source->ended(request, request.arrival_ns);
    }
    return times;
  };
  const auto all = begun({});
  for (std::uint32_t index = 0; index < 2; ++index) {
    const auto own = begun({index, 2});
    for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i], all[2 * i + index]);
  }
}

/// Users are dealt to replicas, and stay there. Each asks as often as the others, also if a replica has more of them.
TEST(Generated, UsersTakeTurns) {
  Generated generated = plain(10);
  generated.users = 5;
  const auto served = [&](const Share& share) {
    const auto source = generate(generated, share);
    std::uint64_t requests = 0;
    for (; source->next_ns().value(); ++requests) source->ended(source->take(), 0);
    return requests;
  };
  EXPECT_EQ(served({0, 2}), 6U);  // of three users
  EXPECT_EQ(served({1, 2}), 4U);
  generated.users = 2;
  EXPECT_EQ(served({0, 3}), 5U);
  EXPECT_EQ(served({1, 3}), 5U);
  EXPECT_EQ(served({2, 3}), 0U);
}

TEST(Generated, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    Generated generated = plain(1);
    change(generated);
    const Status status = check(generated);
    return !status && status.error().code == "serve.arrivals";
  };
  EXPECT_TRUE(check(plain(1)));
  EXPECT_TRUE(refused([](Generated& g) { g.requests = 0; }));
  EXPECT_TRUE(refused([](Generated& g) { g.rate = 0; }));
  EXPECT_TRUE(refused([](Generated& g) { g.users = 0; }));
  EXPECT_TRUE(refused([](Generated& g) { g.output = {0, 0}; }));
  EXPECT_TRUE(refused([](Generated& g) { g.input = {9, 8}; }));
  EXPECT_TRUE(refused([](Generated& g) { g.hit_rate = 1.5; }));
  EXPECT_TRUE(refused([](Generated& g) { g.turns = 0; }));
  EXPECT_TRUE(refused([](Generated& g) { g.turns = 1U << 31; }));
  // At 10^-12 requests per second, ten take longer than 64 bits of nanoseconds.
  EXPECT_TRUE(refused([](Generated& g) { g.rate = 1e-12; }));
  EXPECT_TRUE(refused([](Generated& g) {
    g.requests = 1'000'000;
    g.turns = 2;
    g.think_seconds = 1e5;
  }));
}

class Trace : public testing::Test {
 protected:
  ~Trace() override { std::remove(path_.c_str()); }

  Result<std::vector<Request>> read(const std::string& text, const Share& share = {}) {
    std::ofstream(path_) << text;
    CORTADO_ASSIGN_OR_RETURN(const auto source, open_trace(path_, share, 16));
    std::vector<Request> all;
    for (;;) {
      CORTADO_ASSIGN_OR_RETURN(const auto next, source->next_ns());
      if (!next) return all;
      all.push_back(source->take());
    }
  }

  /// Line of the error; 0: none.
  std::uint32_t refused_at(const std::string& text) {
    const auto all = read(text);
    if (all) return 0;
    EXPECT_EQ(all.error().code, "serve.trace");
    EXPECT_FALSE(all.error().hint.empty());
    return all.error().place.line;
  }

  std::string path_ =
      testing::TempDir() + "serve_trace_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

constexpr const char* kGood = R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]})"
                              "\n";

TEST_F(Trace, ReadsTheMooncakeForm) {
  const auto all =
      read(std::string(kGood) +
           "\n{\"timestamp\": 27482.5, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": []}\n");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->at(0).blocks.size(), 37U);  // 592 of 600 tokens
  EXPECT_EQ(all->at(1).blocks.size(), 0U);
  EXPECT_EQ(all->at(1).arrival_ns, 27'482'500'000);
  EXPECT_EQ(all->at(1).input, 6955U);
}

/// Names are of blocks of 512 tokens, of which each has 32 of 16. A last block that is not full is another one if it
/// has another length.
TEST_F(Trace, PartsOfTheSameBlockHaveTheSameName) {
  const auto line = [](std::uint32_t input, const char* ids) {
    return fmt::format("{{\"timestamp\": 0, \"input_length\": {}, \"output_length\": 1, \"hash_ids\": [{}]}}\n", input,
                       ids);
  };
  const auto all = read(line(1000, "1, 2") + line(1000, "1, 2") + line(1000, "1, 3") + line(1024, "1, 2") +
                        line(1000, "1") + line(1000, "18446744073709551615, 2"));
  ASSERT_TRUE(all);
  const auto same = [&](std::size_t other) {
    const BlockNames& a = all->at(0).blocks;
    const BlockNames& b = all->at(other).blocks;
    std::uint32_t blocks = 0;
    while (blocks < std::min(a.size(), b.size()) && a.at(blocks) == b.at(blocks)) ++blocks;
    return blocks;
  };
  EXPECT_EQ(same(1), 62U);
  EXPECT_EQ(same(2), 32U);
  EXPECT_EQ(same(3), 32U);
  EXPECT_EQ(same(4), 32U);
  EXPECT_EQ(all->at(4).blocks.size(), 32U);
  EXPECT_EQ(same(5), 0U);
  std::set<std::uint64_t> names;
  for (std::uint32_t i = 0; i < 62; ++i) names.insert(all->at(0).blocks.at(i));
  EXPECT_EQ(names.size(), 62U);
}

/// A part of a trace is a trace.
TEST_F(Trace, TimeBeginsWithTheFirstRequest) {
  const auto line = [](std::uint64_t ms) {
    return fmt::format("{{\"timestamp\": {}, \"input_length\": 6, \"output_length\": 1}}\n", ms);
  };
  const std::string text = line(1'000'000) + line(1'000'010) + line(1'000'030);
  EXPECT_EQ(read(text)->at(0).arrival_ns, 0);
  EXPECT_EQ(read(text)->at(2).arrival_ns, 30'000'000);
  EXPECT_EQ(read(text, {1, 2})->at(0).arrival_ns, 10'000'000);
}

TEST_F(Trace, ReplicasTakeTurns) {
  const auto second = read(std::string(kGood) + kGood + kGood, {1, 2});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->size(), 1U);
}

TEST_F(Trace, NamesTheLineThatIsWrong) {
  const std::string good = kGood;
  EXPECT_EQ(refused_at(good + "{\"timestamp\": 1"), 2U);
  EXPECT_EQ(refused_at(good + good + "[1]\n"), 3U);
  EXPECT_EQ(refused_at(R"({"timestamp": -1, "input_length": 6, "output_length": 5})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": "soon", "input_length": 6, "output_length": 5})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 6.5, "output_length": 5})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": -6, "output_length": 5})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 0, "output_length": 5})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 6, "output_length": 1e30})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 6})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 6, "output_length": 5, "hash_ids": [1, 2]})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 2048, "output_length": 5, "hash_ids": [1, 2, 3]})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 6, "output_length": 5, "hash_ids": ["a"]})"), 1U);
  EXPECT_EQ(refused_at(R"({"timestamp": 1, "input_length": 6, "input_length": 7, "output_length": 5})"), 1U);
}

TEST_F(Trace, RefusesTimesThatGoBack) {
  EXPECT_EQ(refused_at("{\"timestamp\": 5, \"input_length\": 6, \"output_length\": 5}\n" + std::string(kGood)), 2U);
}

TEST_F(Trace, RefusesFilesWithoutRequests) {
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(open_trace("/no/such/file", {}, 16));
  EXPECT_FALSE(open_trace(testing::TempDir(), {}, 16));
}

}  // namespace source_test
}  // namespace cortado::serve
