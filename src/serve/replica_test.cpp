#include "serve/replica.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "serve/testing.hpp"

namespace cortado::serve {
namespace replica_test {

ReplicaConfig config_of(std::uint64_t pages) {
  return {.limits = {.max_tokens = 1024, .max_sequences = 64}, .pages = pages, .context = 100'000};
}

Tally run(std::deque<Request> requests, const ReplicaConfig& config) {
  ListSource source(std::move(requests));
  auto tally = serve_all(source, plain_costs(), config);
  EXPECT_TRUE(tally);
  EXPECT_EQ(source.ended_count(), tally->arrived);
  EXPECT_EQ(tally->arrived, tally->finished + tally->refused());
  return *std::move(tally);
}

/// The prompt in one step of 1 ms + 100 x 10 us, then four tokens of 1.01 ms each.
TEST(Replica, OneRequestAlone) {
  const Tally tally = run({request_of(100, 5)}, config_of(100));
  ASSERT_EQ(tally.ttft.size(), 1U);
  EXPECT_NEAR(tally.ttft[0], 2e-3, 1e-9);
  EXPECT_NEAR(tally.tpot[0], 1.01e-3, 1e-9);
  EXPECT_NEAR(tally.latency[0], 6.04e-3, 1e-9);
  EXPECT_EQ(tally.steps, 5U);
  EXPECT_EQ(tally.output_tokens, 5U);
}

/// 2500 tokens in chunks of 1024, 1024 and 452.
TEST(Replica, LongPromptsComeInChunks) {
  const Tally tally = run({request_of(2500, 1)}, config_of(1000));
  EXPECT_NEAR(tally.ttft[0], 3e-3 + 2500e-5, 1e-9);
  EXPECT_EQ(tally.steps, 3U);
  EXPECT_TRUE(tally.tpot.empty());
}

/// The second arrives while the first decodes: it waits for the end of the running step.
TEST(Replica, ArrivalsWaitForTheStepThatRuns) {
  const std::int64_t arrival = 2'500'000;  // the first's second step ends at 3.01 ms
  const Tally tally = run({request_of(100, 50), request_of(200, 1, arrival)}, config_of(100));
  ASSERT_EQ(tally.ttft.size(), 2U);
  // The second request ends first: 1 ms + (200 + 1) x 10 us after 3.01 ms.
  EXPECT_NEAR(tally.ttft[0], 3.01e-3 + 3.01e-3 - 2.5e-3, 1e-9);
}

/// All decode together; when one is left alone at the end, its steps are shorter.
TEST(Replica, SequencesThatEndLeaveTheBatch) {
  const Tally tally = run({request_of(10, 11), request_of(10, 21)}, config_of(100));
  // 1 ms + 20 tokens; 10 steps of 2 tokens, then 10 of 1.
  EXPECT_NEAR(tally.latency[0], 1.2e-3 + 10 * 1.02e-3, 1e-9);
  EXPECT_NEAR(tally.latency[1], 1.2e-3 + 10 * 1.02e-3 + 10 * 1.01e-3, 1e-9);
}

TEST(Replica, NoMoreSequencesThanAllowed) {
  ReplicaConfig config = config_of(1000);
  config.limits.max_sequences = 1;
  const Tally tally = run({request_of(10, 2), request_of(10, 2)}, config);
  EXPECT_NEAR(tally.latency[0], 1.1e-3 + 1.01e-3, 1e-9);
  EXPECT_NEAR(tally.latency[1], 2 * (1.1e-3 + 1.01e-3), 1e-9);
}

TEST(Replica, RefusesAndCountsWhatCannotBeServed) {
  ReplicaConfig config = config_of(10);  // 160 tokens
  config.context = 1000;
  const Tally tally = run({request_of(150, 11), request_of(990, 11), request_of(5, 0), request_of(150, 10)}, config);
  EXPECT_EQ(tally.refused_pool, 1U);
  EXPECT_EQ(tally.refused_length, 1U);
  EXPECT_EQ(tally.refused_empty, 1U);
  EXPECT_EQ(tally.finished, 1U);
}

/// Two sequences that end with 160 tokens do not fit in 15 pages of 16: the second loses its pages and is recomputed.
TEST(Replica, PreemptsTheLastWhenPagesRunOut) {
  const Tally tally = run({request_of(80, 80), request_of(80, 80)}, config_of(15));
  EXPECT_EQ(tally.finished, 2U);
  EXPECT_EQ(tally.preempted, 1U);
  EXPECT_GT(tally.recomputed, 80U);
  EXPECT_GT(tally.latency[1], tally.latency[0]);
  EXPECT_LE(tally.pool_peak, 1.0);
  EXPECT_EQ(tally.output_tokens, 160U);
}

TEST(Replica, ManyInASmallPoolAllEnd) {
  std::deque<Request> requests;
  for (std::uint32_t i = 0; i < 300; ++i) {
    requests.push_back(request_of(1 + i * 37 % 200, 1 + i * 53 % 150, static_cast<std::int64_t>(i) * 100'000));
  }
  const Tally tally = run(std::move(requests), config_of(30));
  EXPECT_EQ(tally.finished, 300U);
  EXPECT_GT(tally.preempted, 0U);
  EXPECT_LE(tally.pool_peak, 1.0);
}

/// Skipping over decode steps changes nothing: with an arrival before every step, each is simulated alone. With costs
/// linear in the context, the mean of first and last is exact up to rounding to nanoseconds.
TEST(Replica, StepsAtOnceTakeAsLongAsOneByOne) {
  StepCosts::Tables tables;
  for (std::uint64_t i = 0; i <= 1024; ++i) tables.body.push_back(1e-3);
  tables.head.assign(1025, 0);
  tables.decode = Grid({1, 2}, {1, 2}, {1e-6, 2e-6, 1e-6, 2e-6});
  tables.prompt = Grid({1}, {1}, {0});
  const StepCosts costs(std::move(tables));
  ReplicaConfig config = config_of(10'000);
  config.limits.max_sequences = 2;
  ListSource alone({request_of(100, 1000)});
  const Tally at_once = serve_all(alone, costs, config).value();
  // 999 steps of 1 ms and 1 us per token of context, 101 to 1099.
  EXPECT_NEAR(at_once.latency[0], 1e-3 + 999e-3 + 1e-6 * 999 * 600, 1e-6);
  ReplicaObserver observer;
  std::vector<ReplicaSpan> spans;
  observer.spans = &spans;
  observer.max_spans = 1'000'000;
  std::deque<Request> many{request_of(100, 1000)};
  for (std::int64_t i = 0; i < 3000; ++i) many.push_back(request_of(0, 0, i * 500'000));  // refused, but looked at
  ListSource source(std::move(many));
  const Tally one_by_one = serve_all(source, costs, config, observer).value();
  EXPECT_NEAR(one_by_one.latency[0], at_once.latency[0], 1e-6);
  EXPECT_GT(spans.size(), 900U);
}

// --- Prefixes ---

Request named(std::uint32_t input, std::uint32_t output, std::uint64_t first, std::int64_t arrival_ns = 0) {
  Request request = request_of(input, output, arrival_ns);
  request.blocks = {.first = first, .count = input / 16};
  return request;
}

TEST(Replica, FindsPrefixesInTheGpu) {
  const Tally tally = run({named(160, 2, 0), named(160, 2, 0, 1'000'000'000)}, config_of(100));
  EXPECT_EQ(tally.hbm_tokens, 144U);  // all blocks but the last: one token must be computed
  EXPECT_EQ(tally.prompt_tokens, 320U);
  EXPECT_NEAR(tally.ttft[1], 1.16e-3, 1e-9);
}

TEST(Replica, RecomputesIfItIsTold) {
  ReplicaConfig config = config_of(100);
  config.reuse = Reuse::none;
  const Tally tally = run({named(160, 2, 0), named(160, 2, 0, 1'000'000'000)}, config);
  EXPECT_EQ(tally.hbm_tokens, 0U);
  EXPECT_NEAR(tally.ttft[1], 2.6e-3, 1e-9);
}

/// 1 ms and 0.1 ms a block; the host is busy for 0.5 ms.
FetchCost fetch_cost() {
  const TransferCost one{.fixed_s = 1e-3, .per_block_s = 1e-4, .host_fixed_s = 5e-4, .link_bytes_per_block = 1};
  return {.name = "test", .load = one, .store = one};
}

ReplicaConfig with_host(std::uint64_t pages, std::uint64_t blocks) {
  ReplicaConfig config = config_of(pages);
  config.reuse = Reuse::host;
  config.host_blocks = blocks;
  config.fetch = fetch_cost();
  return config;
}

/// Another prompt evicts the first from the pool; when it returns it is fetched: 9 blocks, 1.9 ms, then one chunk of
/// 16.
TEST(Replica, FetchesFromHostMemory) {
  const Tally tally =
      run({named(160, 2, 0), named(256, 2, 1000, 1'000'000'000), named(160, 2, 0, 2'000'000'000)}, with_host(17, 100));
  EXPECT_EQ(tally.host_tokens, 144U);
  EXPECT_EQ(tally.fetches, 1U);
  EXPECT_EQ(tally.stores, 2U);
  EXPECT_NEAR(tally.ttft[2], 1.9e-3 + 1.16e-3, 1e-6);
}

/// What a first request stored is already there: only the last block is computed.
TEST(Replica, StoredFromBefore) {
  Request request = named(160, 1, 0);
  request.stored = 10;
  const Tally tally = run({request}, with_host(17, 100));
  EXPECT_EQ(tally.host_tokens, 144U);
  EXPECT_NEAR(tally.ttft[0], 1.9e-3 + 1.16e-3, 1e-6);
}

/// Ten layers: the first has arrived after 0.19 ms, the last one after 1.9, and a tenth of the step of 1.16 ms
/// follows.
TEST(Replica, StartsWithTheFirstLayer) {
  Request request = named(160, 1, 0);
  request.stored = 10;
  ReplicaConfig config = with_host(17, 100);
  config.fetch->layers = 10;
  const Tally tally = run({request}, config);
  EXPECT_EQ(tally.host_tokens, 144U);
  EXPECT_EQ(tally.finished, 1U);
  EXPECT_NEAR(tally.ttft[0], 1.9e-3 + 0.116e-3, 1e-6);
  config.fetch->load.per_block_s = 1e-6;  // 1.009 ms; the step, which the host launches after 0.5 ms, takes longer
  EXPECT_NEAR(run({request}, config).ttft[0], 0.5e-3 + 1.16e-3, 1e-6);
}

/// Half of the memory bandwidth for the 1.1 ms of a block's transfer: decodes take twice as long, prompts do not.
TEST(Replica, CopiesTakeMemoryFromDecodes) {
  ReplicaConfig config = with_host(100, 100);
  config.fetch->store.host_fixed_s = 0;
  const double without = run({named(16, 3, 0)}, config).latency[0];
  config.fetch->store.memory_share = 0.5;
  const Tally with = run({named(16, 3, 0)}, config);
  EXPECT_EQ(with.stores, 1U);
  EXPECT_NEAR(with.latency[0] - without, 1.01e-3, 1e-6);  // of the step that began while it was stored
}

/// Another replica stored the prompt: with a shared tier it is found.
TEST(Replica, FindsWhatOthersStored) {
  const ReplicaConfig config = with_host(17, 100);
  const StepCosts costs = plain_costs();
  HostTier tier(100);
  ListSource first({named(160, 2, 0)});
  ListSource second({named(160, 2, 0, 1'000'000'000)});
  const ReplicaObserver nobody;
  Replica one(first, costs, config, nobody, tier);
  Replica other(second, costs, config, nobody, tier);
  while (one.turn().value()) {
  }
  while (other.turn().value()) {
  }
  EXPECT_EQ(one.finish().host_tokens, 0U);
  EXPECT_EQ(other.finish().host_tokens, 144U);
}

TEST(Replica, HostMemoryKeepsNoMoreThanFits) {
  // Two prompts of 10 blocks take turns, in a GPU for one of them and a tier for one: nothing is ever found there.
  std::deque<Request> requests;
  for (std::int64_t i = 0; i < 6; ++i) requests.push_back(named(160, 2, i % 2 == 0 ? 0 : 1000, i * 1'000'000'000));
  EXPECT_EQ(run(requests, with_host(11, 10)).host_tokens, 0U);
  EXPECT_GT(run(requests, with_host(11, 20)).host_tokens, 0U);
}

/// Submitting holds back the step that would run meanwhile: once for the fetch, once for the block that was computed.
TEST(Replica, TheHostSubmitsBeforeTheNextStep) {
  Request stored = named(160, 1, 0, 3'000'000);
  stored.stored = 10;
  const Tally with = run({request_of(100, 50), stored}, with_host(100, 100));
  EXPECT_NEAR(with.host_s, 1e-3, 1e-9);
}

/// The second prompt's step takes 2.6 ms, after the host has submitted the first one's store of 2 ms for 0.5 ms. What
/// is stored, and submitted, after the last token is no part of the time.
TEST(Replica, SharesAreOfTheTimeUpToTheLastToken) {
  ReplicaConfig config = with_host(100, 100);
  config.limits.max_sequences = 1;
  const Tally one = run({named(160, 1, 0)}, config);
  EXPECT_EQ(one.end_ns, 2'600'000);
  EXPECT_EQ(one.stores, 1U);
  EXPECT_EQ(one.store_s, 0);
  EXPECT_EQ(one.host_s, 0);
  EXPECT_NEAR(one.step_s, 2.6e-3, 1e-12);
  const Tally two = run({named(160, 1, 0), named(160, 1, 1000)}, config);
  EXPECT_EQ(two.end_ns, 5'700'000);
  EXPECT_NEAR(two.store_s, 2e-3, 1e-12);
  EXPECT_NEAR(two.host_s, 0.5e-3, 1e-12);
  EXPECT_NEAR(two.step_s, 5.2e-3, 1e-12);
  const auto rates = two.over_time.rates(two.end_ns);
  ASSERT_EQ(rates.size(), 6U);  // of 1 ms
  const std::vector<double> busy{0, 0, 0.4, 1, 0.6, 0};
  for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i].store, busy[i], 1e-9) << i;
}

/// A store of 2 ms that begins at 2.6 ms, while another replica is busy until 4 ms.
TEST(Replica, TheLastTokenOfAllEndsTheTime) {
  const ReplicaConfig config = with_host(100, 100);
  const StepCosts costs = plain_costs();
  HostTier tier(100);
  ListSource source({named(160, 1, 0)});
  const ReplicaObserver nobody;
  Replica replica(source, costs, config, nobody, tier);
  while (replica.turn().value()) {
  }
  Tally tally = replica.finish();
  EXPECT_EQ(tally.end_ns, 2'600'000);
  tally.close(4'000'000);
  EXPECT_NEAR(tally.store_s, 1.4e-3, 1e-12);
}

/// Four prefixes of 9 blocks hold 36 of 38 pages; each needs four more to go on.
TEST(Replica, RestoredPrefixesThatHoldAllPagesAreFoundOut) {
  std::deque<Request> requests;
  for (std::uint64_t i = 0; i < 4; ++i) {
    Request request = named(200, 2, i * 1000);  // 13 pages
    request.stored = 9;
    requests.push_back(request);
  }
  const Tally tally = run(std::move(requests), with_host(38, 100));
  EXPECT_EQ(tally.finished, 4U);
  EXPECT_GE(tally.deadlocks, 1U);
}

TEST(Replica, GoodputCountsWhoIsWithinLimits) {
  ReplicaConfig config = config_of(100);
  config.limits.max_sequences = 1;
  config.slo_ttft = 2e-3;
  const Tally tally = run({request_of(10, 2), request_of(10, 2)}, config);
  EXPECT_EQ(tally.good, 1U);
}

TEST(Replica, CanBeInterrupted) {
  Generated generated{.requests = 1'000'000, .rate = 100, .input = {10, 10}, .output = {10, 10}};
  const auto source = generate(generated, {});
  const auto tally =
      serve_all(*source, plain_costs(), config_of(1000), {.progress = [](std::uint64_t) { return false; }});
  ASSERT_FALSE(tally);
  EXPECT_EQ(tally.error().code, "serve.interrupted");
}

TEST(OverTime, KeepsSumsWhenBinsMerge) {
  OverTime over_time;
  double tokens = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    over_time.add({i * 1'000'000, (i + 1) * 1'000'000, {.tokens = 2, .running = 3}});
    tokens += 2;
  }
  const auto rates = over_time.rates(1'000'000'000);
  double sum = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto left = 1'000'000'000 - static_cast<std::int64_t>(i) * over_time.bin_ns();
    sum += rates[i].tokens * 1e-9 * static_cast<double>(std::min(over_time.bin_ns(), left));
    EXPECT_NEAR(rates[i].running, 3, 1e-9);
  }
  EXPECT_LE(rates.size(), OverTime::kBins);
  EXPECT_NEAR(sum, tokens, 1e-6);
}

/// Requests that arrive at a rate, with the given time to the first token of the one that arrives after t seconds.
/// Their answers are complete a second later.
Tally served_at(std::uint64_t requests, double rate, const std::function<double(double)>& ttft) {
  Tally tally{.arrived = requests, .finished = requests};
  for (std::uint64_t i = 0; i < requests; ++i) {
    const double arrival = static_cast<double>(i) / rate;
    tally.arrivals.push_back(std::llround(arrival * 1e9));
    tally.ttft.push_back(ttft(arrival));
    tally.latency.push_back(ttft(arrival) + 1);
    tally.end_ns = std::max<std::int64_t>(tally.end_ns, std::llround((arrival + tally.latency.back()) * 1e9));
  }
  return tally;
}

/// 20 requests per second arrive and 10 are served: the one that arrives after t seconds waits for t.
TEST(Overload, IsAGrowingQueue) {
  const auto overload = overload_of(served_at(1000, 20, [](double t) { return t; }));
  ASSERT_TRUE(overload);
  EXPECT_NEAR(overload->arriving, 20, 1e-9);
  EXPECT_NEAR(overload->served, 1000 / (2 * 49.95 + 1), 1e-6);
  EXPECT_FALSE(overload_of(served_at(1000, 20, [](double) { return 2; })));
  EXPECT_FALSE(overload_of(served_at(1000, 20, [](double t) { return std::min(t, 10.0); })));  // no longer grows
}

/// However many more arrive, and however few in all: the queue is what counts.
TEST(Overload, IsSeenAtAnyRate) {
  for (const double rate : {12.0, 40.0, 200.0, 500.0, 1e5}) {
    const auto overload = overload_of(served_at(3000, rate, [&](double t) { return t * (rate / 10 - 1); }));
    ASSERT_TRUE(overload) << rate;
    EXPECT_NEAR(overload->arriving, rate, 1e-3 * rate);
    EXPECT_NEAR(overload->served, 10, 0.1);
  }
  EXPECT_TRUE(overload_of(served_at(60, 500, [](double t) { return 49 * t; })));
  EXPECT_FALSE(overload_of(served_at(20, 500, [](double t) { return 49 * t; })));  // ten more than before
}

/// All at once is no rate, and what is answered long after the last arrival does not show what can be served.
TEST(Overload, NeedsTimeInWhichRequestsArrive) {
  EXPECT_FALSE(overload_of(served_at(1000, std::numeric_limits<double>::infinity(), [](double) { return 5; })));
  EXPECT_FALSE(overload_of({}));
  EXPECT_FALSE(ends_early(served_at(1000, std::numeric_limits<double>::infinity(), [](double) { return 5; })));
  EXPECT_FALSE(ends_early(served_at(1000, 10, [](double) { return 5; })));
  EXPECT_TRUE(ends_early(served_at(100, 10, [](double) { return 5; })));
}

TEST(Spread, IsByNearestRank) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.mean, 50.5);
  EXPECT_DOUBLE_EQ(spread.p50, 50);
  EXPECT_DOUBLE_EQ(spread.p90, 90);
  EXPECT_DOUBLE_EQ(spread.p99, 99);
  EXPECT_EQ(spread.values, 100U);
  EXPECT_EQ(spread_of({}).values, 0U);
}

}  // namespace replica_test
}  // namespace cortado::serve
