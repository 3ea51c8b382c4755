#include "plan/kv.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/study.hpp"

#include "pipeline/kv/fetch_times.hpp"
#include "pipeline/kv/host_copy.hpp"
#include "pipeline/kv/study.hpp"
#include "pipeline/kv/transfer.hpp"

namespace cortado::pipeline::kv_test {

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

/// With everything that a strategy may need.
const Machine& codesign() {
  static const Machine machine = load_machine("mi300x-8+codesign").value();
  return machine;
}

/// Real bytes in random tables, whatever order the engines take.
TEST(KvTransfers, HaveEveryByteRightOnTheEmbeddedNode) {
  const plan::KvRequest request{
      .ranks = 2, .group = 2, .blocks = 7, .layers = 3, .fragments = 6, .fragment = Bytes{1024}, .seed = 3};
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}}) {
    TargetRequest asked{.name = "soft", .gpus = 2};
    RunOptions options{.iterations = 3};
    options.device.check = device::CheckOutputs::every;
    if (seed > 0) {
      asked.soft.adversarial_seed = seed;
      options.device.adversarial_seed = seed;
    }
    const auto target = open_target(asked, codesign()).value();
    for (const plan::KvStrategy& strategy : plan::kv_strategies()) {
      const auto program = prove(strategy.plan(request, codesign()), codesign());
      ASSERT_TRUE(program.has_value()) << strategy.name;
      const auto run = target->run(*program, options);
      ASSERT_TRUE(run.has_value()) << strategy.name << ": " << run.error().errors.front().message;
      ASSERT_TRUE(run->check.has_value());
      EXPECT_EQ(run->check->wrong, 0U) << strategy.name;
      EXPECT_GT(run->check->checked, 0U) << strategy.name;
    }
  }
}

/// 16 tokens of Llama-3.1-70B on 8 GPUs: 160 fragments of 1 KV head x 128 x 16 x 2 bytes = 4 KiB.
TEST(KvRequests, FollowFromTheModel) {
  const Model model = load_model("llama-3.1-70b").value();
  const plan::KvRequest parts = kv_request(model, {.tp = 8}, mi300x()).value();
  EXPECT_EQ(parts.fragments, 160U);
  EXPECT_EQ(parts.fragment, Bytes{4096});
  EXPECT_EQ(parts.group, 1U);
  const plan::KvRequest whole = kv_request(model, {.tp = 8, .layout = "cross-layer"}, mi300x()).value();
  EXPECT_EQ(whole.fragments, 1U);
  EXPECT_EQ(whole.fragment, Bytes{655360});
  // 576 values of a latent on every GPU: 18 KiB in each of 61 layers.
  const plan::KvRequest latents = kv_request(load_model("deepseek-v3").value(), {.tp = 8}, mi300x()).value();
  EXPECT_EQ(latents.fragments, 61U);
  EXPECT_EQ(latents.fragment, Bytes{18432});
  EXPECT_EQ(latents.group, 8U);
  EXPECT_EQ(kv_request(model, {.tp = 3}, mi300x()).error().code, "kv.tp");
  EXPECT_EQ(kv_request(model, {.tp = 8, .layout = "rows"}, mi300x()).error().code, "kv.layout");
  EXPECT_EQ(kv_request(model, {}, load_machine("virtual-64").value()).error().code, "kv.machine");
}

/// One call each: 5.38 us and 4 KiB at 41 GB/s; packets of one's own take the host 0.045 us before the doorbell and the
/// engine 0.507 us.
TEST(KvCosts, AreLinesThroughSimulations) {
  KvFetchQuestion question{.model = load_model("llama-3.1-70b").value(), .tp = 8};
  question.strategy = "loop";
  const auto loop = kv_fetch_cost(question, mi300x());
  ASSERT_TRUE(loop.has_value());
  EXPECT_NEAR(loop->seconds_per_block, 160 * (5.38e-6 + 4096 / 41e9), 2e-6);
  EXPECT_NEAR(loop->host_seconds_per_block, 160 * 5e-6, 1e-6);
  EXPECT_EQ(loop->link_bytes_per_block, 160 * 4096);
  question.strategy = "b2b";
  const auto b2b = kv_fetch_cost(question, mi300x());
  ASSERT_TRUE(b2b.has_value());
  EXPECT_NEAR(b2b->seconds_per_block, 160 * (0.045e-6 + 0.507e-6), 1e-6);
  EXPECT_EQ(b2b->compute_units, 0U);
  question.layout = "cross-layer";
  const auto whole = kv_fetch_cost(question, mi300x());
  ASSERT_TRUE(whole.has_value());
  EXPECT_NEAR(whole->seconds_per_block, 655360 / 55e9, 2e-7);
}

/// They do not fill a batch call: the line through many blocks begins far above the time of one.
TEST(KvCosts, OfFewBlocksAreThoseOfTheTransfer) {
  const Machine machine = load_machine("h100-8").value();
  const Model model = load_model("llama-3.1-8b").value();
  const auto cost = kv_fetch_cost({.model = model, .tp = 2, .strategy = "batch"}, machine);
  ASSERT_TRUE(cost.has_value());
  auto request = kv_request(model, {.tp = 2}, machine);
  ASSERT_TRUE(request.has_value());
  const auto strategy = plan::find_kv_strategy("batch");
  ASSERT_TRUE(strategy.has_value());
  ASSERT_GE(cost->few.size(), 3U);
  EXPECT_EQ(cost->few.front().blocks, 1U);
  for (std::size_t i = 0; i + 1 < cost->few.size(); ++i) {
    request->blocks = cost->few[i].blocks;
    const auto transfer = simulate_kv(*strategy, *request, machine);
    ASSERT_TRUE(transfer.has_value());
    EXPECT_DOUBLE_EQ(cost->few[i].seconds, transfer->seconds) << request->blocks;
    EXPECT_LT(cost->few[i].seconds, cost->few[i + 1].seconds);
  }
  const auto& last = cost->few.back();
  EXPECT_NEAR(last.seconds, cost->seconds_fixed + static_cast<double>(last.blocks) * cost->seconds_per_block, 1e-9);
}

/// Every step takes 1 ms and 10 us per token, and 1 us for a thousand tokens before it.
KvEngine plain_engine() {
  return {.step = [](std::uint64_t tokens, std::uint64_t context, bool) -> Outcome<Nanoseconds> {
            return Nanoseconds{static_cast<std::int64_t>(1'000'000 + 10'000 * tokens + context)};
          },
          .by_layers = [](const std::string&, std::uint64_t) { return std::nullopt; }};
}

/// As an engine: in steps of at most 8192 tokens, with what was computed before as context.
TEST(KvStudies, RecomputeInStepsOfAnEngine) {
  KvStudyRequest request{.model = load_model("llama-3.1-8b").value(), .tokens = 8191, .strategies = {"b2b"}};
  EXPECT_DOUBLE_EQ(study_kv(request, mi300x(), plain_engine()).value().recompute_seconds, 1e-3 + 81.92e-3);
  request.tokens = 9999;
  EXPECT_DOUBLE_EQ(study_kv(request, mi300x(), plain_engine()).value().recompute_seconds, 2e-3 + 100e-3 + 8.192e-6);
}

/// What FetchTimes rests on: it does not simulate a number of blocks if a smaller one takes too long. Lists are not
/// like than eight blocks are one packet.
TEST(KvCosts, MoreBlocksNeverTakeLess) {
  const Machine h100 = load_machine("h100-8").value();
  for (const Machine* machine : {&h100, &codesign()}) {
    for (const char* layout : {"layer", "per-layer"}) {
      for (const char* model : {"deepseek-v3", "llama-3.1-8b"}) {
        const auto request =
            kv_request(load_model(model).value(), {.tp = 8, .tokens = 1, .layout = layout}, *machine).value();
        FetchTimes times(request, *machine);
        std::vector<std::string> names;
        for (const plan::KvStrategy& strategy : plan::kv_strategies()) {
          names.emplace_back(strategy.name);
          if (strategy.engines) names.push_back(names.back() + "/3");
        }
        times.add(names, 1, 1);
        EXPECT_GE(times.size(), 8U);
        for (std::size_t way = 0; way < times.size(); ++way) {
          double before = 0;
          for (std::uint64_t blocks = 1; blocks < 10; ++blocks) {
            const double seconds = times.at(way, blocks).value().alone_seconds();
            const double least = kv_lists(times.strategy(way)) ? 0 : before;
            EXPECT_GE(seconds, least) << times.name(way) << " " << blocks << " " << model << " " << machine->name;
            before = seconds;
          }
        }
      }
    }
  }
}

/// Whatever is known before, and also for equals.
TEST(KvCosts, TheFastestIsTheLeastOfAll) {
  const auto request =
      kv_request(load_model("llama-3.1-8b").value(), {.tp = 8, .layout = "cross-layer"}, mi300x()).value();
  FetchTimes times(request, mi300x());
  const std::vector<std::string> names{"loop", "b2b-prelaunch", "kernel", "b2b", "b2b"};
  for (const auto& added : times.add(names, 7, 2)) EXPECT_TRUE(added);
  for (const std::uint64_t blocks : {7U, 100U, 1U, 30U, 5000U}) {
    const auto best = times.fastest(blocks).value();
    for (std::size_t way = 0; way < times.size(); ++way) {
      const double seconds = times.at(way, blocks).value().alone_seconds();
      EXPECT_LE(times.at_least(way, blocks), seconds);
      EXPECT_LE(best.transfer.alone_seconds(), seconds);
      if (seconds == best.transfer.alone_seconds()) {
        EXPECT_LE(best.way, way);
      }
    }
  }
}

/// Nothing hides what is submitted ahead for a request alone: it takes as long as without a trigger, which waits for
/// the same packets.
TEST(KvCosts, PacketsThatAreSubmittedAheadTakeTheirTime) {
  auto request = kv_request(load_model("llama-3.1-8b").value(), {}, mi300x()).value();
  request.blocks = 50;
  const auto ahead = simulate_kv(plan::find_kv_strategy("b2b-prelaunch").value(), request, mi300x()).value();
  const auto b2b = simulate_kv(plan::find_kv_strategy("b2b").value(), request, mi300x()).value();
  EXPECT_EQ(b2b.ahead_seconds, 0);
  EXPECT_GT(ahead.ahead_seconds, 0.95 * ahead.host_seconds);
  EXPECT_LT(ahead.ahead_seconds, ahead.host_seconds);  // the trigger comes after
  EXPECT_NEAR(ahead.alone_seconds() / b2b.alone_seconds(), 1, 0.01);
}

/// Whatever length is asked about. Steps take 0.2 ms, those of 101 to 110 tokens twice that, and those of more than 256
/// ten times: who wins changes back and forth.
TEST(KvStudies, BreakEvenIsTheShortestPrefixThatWins) {
  KvEngine engine = plain_engine();
  engine.step = [](std::uint64_t tokens, std::uint64_t, bool) -> Outcome<Nanoseconds> {
    if (tokens > 256) return Nanoseconds{2'000'000};
    return Nanoseconds{tokens > 100 && tokens <= 110 ? 400'000 : 200'000};
  };
  const auto study = [&](std::uint64_t tokens, const char* strategy) {
    return study_kv({.model = load_model("llama-3.1-8b").value(),
                     .blocks = {.layout = "cross-layer"},
                     .tokens = tokens,
                     .strategies = {strategy}},
                    mi300x(), engine)
        .value();
  };
  for (const char* strategy : {"loop", "b2b"}) {
    const std::uint64_t longest = 300;
    std::optional<std::uint64_t> shortest;
    for (std::uint64_t tokens = 1; tokens <= longest; ++tokens) {
      const KvReport report = study(tokens, strategy);
      if (report.fetch && !shortest) shortest = tokens;
      EXPECT_EQ(report.break_even_tokens, shortest) << strategy << " " << tokens;
    }
    EXPECT_TRUE(shortest);
  }
}

/// 83.4 GB/s of the link, less the start and the end of 100 blocks of 2 MiB.
TEST(HostCopies, ShareTheLinkBetweenDirections) {
  const Machine machine = load_machine("h100-8").value();
  const auto target = simulator();
  const auto one = host_copy(Bytes{2 << 20}, 100, "b2b", plan::KvDirection::fetch, machine, *target);
  const auto both = host_copy(Bytes{2 << 20}, 100, "b2b", plan::KvDirection::both, machine, *target);
  ASSERT_TRUE(one.has_value() && both.has_value());
  EXPECT_NEAR(one->gbps, 51.6, 0.2);
  EXPECT_NEAR(both->gbps, 83.2, 0.4);
}

}  // namespace cortado::pipeline::kv_test
