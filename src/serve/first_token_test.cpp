#include "serve/first_token.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "serve/serve.hpp"

namespace cortado::serve {
namespace first_token_test {

pipeline::KvReport report_of(const char* model, const char* machine, std::uint64_t tokens,
                             std::vector<std::string> strategies = {"b2b"}) {
  const pipeline::KvStudyRequest request{
      .model = load_model(model).value(), .tokens = tokens, .strategies = std::move(strategies)};
  return study_kv_request(request, load_machine(machine).value()).value();
}

/// Complete blocks are fetched, and everything else is computed in one step. The times of all parts add up.
TEST(FirstToken, IsTheSumOfItsParts) {
  for (const std::uint64_t tokens : {16U, 992U, 1000U, 1008U, 1023U, 10000U}) {
    for (const char* model : {"llama-3.1-8b", "gpt-oss-120b"}) {
      const pipeline::KvReport report = report_of(model, "h100-8", tokens);
      ASSERT_TRUE(report.room && report.fetch_ttft_seconds);
      EXPECT_EQ(report.transfer.blocks, tokens / 16);
      EXPECT_NEAR(*report.fetch_ttft_seconds,
                  report.scheduling_seconds + report.rows[0].transfer.seconds + report.pass_seconds, 1e-8);
      EXPECT_NEAR(report.recompute_ttft_seconds, report.scheduling_seconds + report.recompute_seconds, 1e-12);
      if (tokens % 16 == 0) {
        EXPECT_DOUBLE_EQ(report.pass_seconds, report.token_seconds);
      } else {
        EXPECT_GE(report.pass_seconds, report.token_seconds);
      }
    }
  }
}

/// Eight tokens of a block that is not full cost a dense model little, and load more experts of another: no other
/// reason makes a shorter prefix slower.
TEST(FirstToken, LooseTokensAreTheOnlyStep) {
  const auto ttft = [](const char* model, std::uint64_t tokens) {
    return *report_of(model, "h100-8", tokens).fetch_ttft_seconds;
  };
  EXPECT_NEAR(ttft("llama-3.1-8b", 1000) / ttft("llama-3.1-8b", 1008), 1, 0.02);
  const pipeline::KvReport loose = report_of("gpt-oss-120b", "h100-8", 1000);
  const double others = *loose.fetch_ttft_seconds - loose.pass_seconds + loose.token_seconds;
  EXPECT_NEAR(others / ttft("gpt-oss-120b", 1008), 1, 0.02);
  EXPECT_GT(loose.pass_seconds, 3 * loose.token_seconds);
}

TEST(FirstToken, LayersAreComputedWhileOthersArrive) {
  const pipeline::KvReport report = report_of("llama-3.1-8b", "mi300x-8", 4096, {"b2b-layers"});
  EXPECT_LT(*report.fetch_ttft_seconds,
            0.99 * (report.scheduling_seconds + report.rows[0].transfer.seconds + report.pass_seconds));
}

/// One answer to one question, whatever the strategy: also where the host works longer than the engines copy, and
/// where few blocks are interpolated.
TEST(FirstToken, IsThatOfTheSameRequestAloneInAnEngine) {
  const Machine machine = load_machine("mi300x-8").value();
  ServingStudy study(machine);
  for (const char* way :
       {"loop", "batch", "b2b", "b2b/16", "b2b-prelaunch", "b2b-prelaunch/16", "b2b-layers", "kernel"}) {
    const pipeline::KvReport report = report_of("llama-3.1-8b", "mi300x-8", 16000, {way});
    ServeRequest request{.model = load_model("llama-3.1-8b").value()};
    request.arrivals = Generated{.requests = 1, .input = {16001, 16001}, .output = {1, 1}, .hit_rate = 1};
    request.host_tier = Bytes{std::uint64_t{1} << 40};
    request.ways = {way, kRecompute};
    request.limits.max_sequences = 1;
    const auto served = study.run(request).value();
    EXPECT_NEAR(served.rows[0].ttft.mean, *report.fetch_ttft_seconds, 2e-8) << way;
    EXPECT_NEAR(served.rows[1].ttft.mean, report.recompute_ttft_seconds, 1e-12) << way;
  }
  const pipeline::KvReport report = report_of("llama-3.1-8b", "mi300x-8", 16000, {"b2b-prelaunch/16"});
  EXPECT_GT(report.rows[0].transfer.ahead_seconds, 1e-3);
}

TEST(FirstToken, NothingIsFetchedOfAnIncompleteBlock) {
  const pipeline::KvReport report = report_of("llama-3.1-8b", "mi300x-8", 15);
  EXPECT_TRUE(report.rows.empty());
  EXPECT_EQ(report.choice(), "recompute");
  EXPECT_TRUE(report.room);
  EXPECT_FALSE(report.break_even_tokens);
}

}  // namespace first_token_test
}  // namespace cortado::serve
