#include "cortado/study.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "serve/serve.hpp"

namespace cortado::serve {
namespace study_test {

ServeRequest request_of(const char* model) {
  ServeRequest request;
  request.model = load_model(model).value();
  request.arrivals = Generated{.requests = 200, .rate = 20, .input = {512, 512}, .output = {32, 32}};
  return request;
}

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

/// Steps of the table over those of the whole-model study with serial. That study does not include the host time
/// between steps.
class StepRatios {
 public:
  StepRatios(const char* model, const Layout& layout, const Phase& types, const Machine& machine)
      : model_(load_model(model).value()),
        layout_(layout),
        types_(types),
        machine_(changed(machine)),
        study_(machine_),
        costs_(make_step_costs(model_, layout, types, {.max_sequences = 512}, machine_).value()) {}

  double decode(std::uint64_t batch, std::uint64_t context) {
    return costs_.decode(batch, static_cast<double>(context)) /
           whole({.kind = PhaseKind::decode, .batch = batch, .context = context});
  }
  double prompt(std::uint32_t tokens, std::uint32_t context) {
    return costs_.step(0, 0, {{tokens, context}}, 1) /
           whole({.kind = PhaseKind::prefill, .tokens = tokens, .context = context});
  }

 private:
  static Machine changed(Machine machine) {
    machine.timing->serving->sequence = {};
    machine.memory_bytes = Bytes{std::uint64_t{1} << 40};
    return machine;
  }
  double whole(Phase phase) {
    phase.dtype = types_.dtype;
    phase.kv_dtype = types_.kv_dtype;
    return study_.run({model_, layout_, phase}, {.systems = {"serial"}}).value().rows.front().seconds;
  }

  Model model_;
  Layout layout_;
  Phase types_;
  Machine machine_;
  pipeline::ModelStudy study_;
  StepCosts costs_;
};

constexpr double kStepBound = 0.03;

TEST(StepCosts, AreThoseOfTheModelStudy) {
  StepRatios steps("llama-3.1-70b", {.tp = 8}, {.dtype = DType::f8, .kv_dtype = DType::f8}, mi300x());
  for (const std::uint64_t batch : {1U, 5U, 40U, 300U}) {
    for (const std::uint64_t context : {100U, 3000U}) {
      EXPECT_NEAR(steps.decode(batch, context), 1, kStepBound) << batch << " " << context;
    }
  }
  for (const std::uint32_t tokens : {300U, 513U, 2500U})
    EXPECT_NEAR(steps.prompt(tokens, 1000), 1, kStepBound) << tokens;
}

/// One row more than whole tiles, the worst places of lines between powers of two, and anywhere.
TEST(StepCosts, FollowTheTilesOfGemms) {
  const Machine h100 = load_machine("h100-8").value();
  for (const Machine* machine : {&h100, &mi300x()}) {
    for (const char* model : {"llama-3.1-8b", "qwen2.5-7b", "gpt-oss-120b"}) {
      StepRatios steps(model, {}, {}, *machine);
      std::vector<std::uint32_t> counts{17, 65, 129, 193, 257, 385, 513, 641, 1025, 1601, 2049, 4097};
      Random random(1);
      for (int i = 0; i < 60; ++i) counts.push_back(static_cast<std::uint32_t>(1 + random.below(8192)));
      for (const std::uint32_t tokens : counts) {
        EXPECT_NEAR(steps.prompt(tokens, 0), 1, kStepBound) << machine->name << " " << model << " " << tokens;
        const std::uint64_t batch = 1 + tokens % 512;
        EXPECT_NEAR(steps.decode(batch, 777), 1, kStepBound) << machine->name << " " << model << " " << batch;
      }
    }
  }
}

/// vLLM reports 78,897 blocks of 16 tokens for Llama-3-8B in f16 on one MI300X (ROCm blog on vLLM, 2024).
TEST(Serving, PoolHoldsAsManyTokensAsMeasured) {
  const ServeReport report = ServingStudy(mi300x()).run(request_of("llama-3.1-8b")).value();
  EXPECT_NEAR(static_cast<double>(report.pool_pages) / 78'897, 1, 0.03);
}

TEST(Serving, SameSeedSameBytes) {
  ServeRequest request = request_of("llama-3.1-8b");
  request.replicas = 2;
  request.ways = {kHbmOnly, kRecompute};
  const std::string one = report::to_json(serve_document(ServingStudy(mi300x()).run(request).value()));
  const std::string two = report::to_json(serve_document(ServingStudy(mi300x()).run(request).value()));
  EXPECT_EQ(one, two);
}

/// A conversation's earlier turns are in the GPU's memory: less is computed, and no request waits longer.
TEST(Serving, PrefixesHelpConversations) {
  ServeRequest request = request_of("llama-3.1-8b");
  request.arrivals = Generated{.requests = 100, .rate = 2, .input = {2048, 2048}, .output = {16, 16}, .turns = 5};
  request.ways = {kRecompute, kHbmOnly};
  const ServeReport report = ServingStudy(mi300x()).run(request).value();
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].tally.hbm_tokens, 0U);
  EXPECT_GT(report.rows[1].tally.hbm_tokens, report.rows[1].tally.prompt_tokens / 3);
  EXPECT_LT(report.rows[1].ttft.p90, report.rows[0].ttft.p90);
}

/// The verdict follows from the table: some 20 requests per second are served, however many more arrive.
TEST(Serving, OverloadAgreesWithTheThroughput) {
  ServeRequest request = request_of("llama-3.1-8b");
  ServingStudy study(mi300x());
  const auto row_of = [&](std::uint64_t requests, double rate) {
    request.arrivals = Generated{.requests = requests, .rate = rate, .input = {1024, 1024}, .output = {256, 256}};
    return study.run(request).value().rows[0];
  };
  for (const auto& [requests, rate] : {std::pair(300U, 40.0), {300U, 200.0}, {300U, 500.0}, {3000U, 500.0}}) {
    const ServeRow row = row_of(requests, rate);
    ASSERT_TRUE(row.overload) << requests << " " << rate;
    EXPECT_DOUBLE_EQ(row.overload->served, requests / row.seconds());
    EXPECT_NEAR(row.overload->arriving / rate, 1, 0.15);
  }
  for (const auto& [requests, rate] : {std::pair(300U, 2.0), {300U, 12.0}, {2000U, 16.0}}) {
    EXPECT_FALSE(row_of(requests, rate).overload) << requests << " " << rate;
  }
}

TEST(Serving, ReplicasShareTheLoad) {
  ServeRequest request = request_of("llama-3.1-8b");
  request.arrivals = Generated{.requests = 400, .input = {512, 512}, .output = {64, 64}};
  const double one = ServingStudy(mi300x()).run(request).value().rows[0].seconds();
  request.replicas = 4;
  const double four = ServingStudy(mi300x()).run(request).value().rows[0].seconds();
  EXPECT_GT(one / four, 1.5);
  EXPECT_LT(one / four, 4.01);
}

/// The same load, generated or read, gives the same answer.
TEST(Serving, AGeneratedLoadIsThatOfItsTrace) {
  ServeRequest request = request_of("llama-3.1-8b");
  const Generated generated{.requests = 400, .rate = 60, .input = {100, 1500}, .output = {1, 100}};
  request.arrivals = generated;
  request.replicas = 4;
  ServingStudy study(mi300x());
  const ServeRow made = study.run(request).value().rows[0];
  const std::string path = testing::TempDir() + "cortado-generated-load.jsonl";
  {
    std::ofstream trace(path);
    const auto source = generate(generated, {});
    while (source->next_ns().value()) {
      const Request one = source->take();
      // Times are read as milliseconds and rounded down to nanoseconds.
      trace << fmt::format("{{\"timestamp\": {}.{:06}5, \"input_length\": {}, \"output_length\": {}}}\n",
                           one.arrival_ns / 1'000'000, one.arrival_ns % 1'000'000, one.input, one.output);
    }
  }
  request.arrivals = path;
  const ServeRow read = study.run(request).value().rows[0];
  std::remove(path.c_str());
  EXPECT_EQ(made.tally.finished, 400U);
  EXPECT_EQ(read.tally.finished, 400U);
  EXPECT_EQ(made.tally.end_ns, read.tally.end_ns);
  EXPECT_EQ(made.tally.steps, read.tally.steps);
  EXPECT_EQ(made.ttft.mean, read.ttft.mean);
  EXPECT_EQ(made.ttft.p99, read.ttft.p99);
  EXPECT_EQ(made.latency.p90, read.latency.p90);
}

TEST(Serving, TracesHaveStepsOfAllReplicas) {
  ServeRequest request = request_of("llama-3.1-8b");
  request.replicas = 2;
  const ServeReport report = ServingStudy(mi300x()).run(request, {.trace = true}).value();
  ASSERT_TRUE(report.timeline);
  EXPECT_EQ(report.timeline->tracks.size(), 6U);
  EXPECT_FALSE(report.timeline_cut);
  EXPECT_GT(report.timeline->spans.size(), 100U);
}

/// The same prompt on each of two replicas in turn: what one computed the other fetches, if they share host memory.
TEST(Serving, ReplicasMayShareHostMemory) {
  const std::string path = testing::TempDir() + "cortado-shared-tier.jsonl";
  {
    std::ofstream trace(path);
    for (int i = 0; i < 8; ++i) {
      trace << R"({"timestamp": )" << i * 2000
            << R"(, "input_length": 2000, "output_length": 2, "hash_ids": [1, 2, 3, 4]})"
            << "\n";
    }
  }
  ServeRequest request = request_of("llama-3.1-8b");
  request.arrivals = path;
  request.replicas = 2;
  request.ways = {"b2b"};
  request.host_tier = Bytes{std::uint64_t{1} << 34};
  const ServeReport apart = ServingStudy(mi300x()).run(request).value();
  request.shared_tier = true;
  const ServeReport together = ServingStudy(mi300x()).run(request).value();
  std::remove(path.c_str());
  EXPECT_EQ(apart.rows[0].tally.finished, 8U);
  EXPECT_EQ(together.rows[0].tally.finished, 8U);
  EXPECT_EQ(apart.rows[0].tally.host_tokens, 0U);
  EXPECT_EQ(together.rows[0].tally.host_tokens, 124U * 16U);  // of the other's first; later ones are in the GPU
}

/// Two prompts with the same blocks: all of the second but its last block of 16 tokens, which has the last token.
TEST(Serving, FindsBlocksOfATraceByPages) {
  const std::string path = testing::TempDir() + "cortado-same-prompts.jsonl";
  ServeRequest request = request_of("llama-3.1-8b");
  request.arrivals = path;
  ServingStudy study(mi300x());
  const auto found = [&](std::uint32_t input, const char* ids) {
    std::ofstream trace(path);
    for (const char* at : {"1000000", "2000000"}) {
      trace << fmt::format("{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 1, \"hash_ids\": [{}]}}\n",
                           at, input, ids);
    }
    trace.close();
    const ServeRow row = study.run(request).value().rows[0];
    EXPECT_NEAR(row.seconds(), 1000, 1);  // not 2000: time begins with the first arrival
    return row.tally.hbm_tokens;
  };
  EXPECT_EQ(found(1024, "1, 2"), 1008U);
  EXPECT_EQ(found(512, "1"), 496U);
  EXPECT_EQ(found(1000, "1, 2"), 992U);
  EXPECT_EQ(found(1000, "1"), 512U);
  request.page = 128;
  EXPECT_EQ(found(1024, "1, 2"), 896U);
  std::remove(path.c_str());
}

/// What does not fit the tier was not stored before, and the report says so.
TEST(Serving, SaysWhatHostMemoryDoesNotHold) {
  ServeRequest request = request_of("llama-3.1-8b");
  request.arrivals = Generated{.requests = 10, .input = {2048, 2048}, .output = {1, 1}, .hit_rate = 0.5};
  request.ways = {"b2b"};
  request.host_tier = Bytes{std::uint64_t{10} * 1024 * 131072};  // all of it: 128 KiB a token
  const ServeReport all = ServingStudy(mi300x()).run(request).value();
  EXPECT_TRUE(all.notes.empty());
  EXPECT_EQ(all.rows[0].tally.host_tokens, 10U * 1024U);
  request.host_tier = *request.host_tier / 2;
  const ServeReport half = ServingStudy(mi300x()).run(request).value();
  EXPECT_EQ(half.notes.size(), 1U);
  EXPECT_EQ(half.rows[0].tally.host_tokens, 10U * 512U);
}

/// An engine cannot know which prompts will be found again: it stores them all, whatever the hit rate.
TEST(Serving, StoresEveryPromptInATier) {
  ServeRequest request = request_of("llama-3.1-8b");
  request.host_tier = Bytes{std::uint64_t{1} << 40};
  request.ways = {"loop", kRecompute};
  const auto run = [&](double hit_rate) {
    request.arrivals = Generated{.requests = 20, .input = {2048, 2048}, .output = {1, 1}, .hit_rate = hit_rate};
    return ServingStudy(mi300x()).run(request).value();
  };
  const ServeReport none = run(0);
  EXPECT_EQ(none.rows[0].tally.stores, 20U);
  EXPECT_EQ(none.rows[1].tally.stores, 0U);
  EXPECT_GT(none.rows[0].seconds(), none.rows[1].seconds());
  // One block of 128 is found: 1/127 less to store, and nearly the same time.
  EXPECT_NEAR(run(0.01).rows[0].seconds() / none.rows[0].seconds(), 1, 0.03);
}

std::string refusal(const ServeRequest& request) {
  const auto report = ServingStudy(mi300x()).run(request);
  return report ? "" : report.error().errors.front().code;
}

TEST(Serving, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    ServeRequest request = request_of("llama-3.1-8b");
    change(request);
    return refusal(request);
  };
  EXPECT_EQ(refused([](ServeRequest&) {}), "");
  EXPECT_EQ(refused([](ServeRequest& r) { r.replicas = 9; }), "model.layout");
  EXPECT_EQ(refused([](ServeRequest& r) { r.replicas = 0; }), "model.layout");
  EXPECT_EQ(refused([](ServeRequest& r) { r.layout.tp = 3; }), "model.layout");
  EXPECT_EQ(refused([](ServeRequest& r) { r.limits.max_tokens = 16; }), "serve.limits");
  EXPECT_EQ(refused([](ServeRequest& r) { r.limits.max_tokens = 1U << 30; }), "serve.limits");
  EXPECT_EQ(refused([](ServeRequest& r) { r.memory_share = 1.5; }), "serve.limits");
  EXPECT_EQ(refused([](ServeRequest& r) {
              r.arrivals = std::string("t.jsonl");
              r.page = 48;
            }),
            "serve.limits");
  EXPECT_EQ(refused([](ServeRequest& r) { r.host_tier = Bytes{0}; }), "serve.tier");
  // A block of 16 tokens has 2 MiB, and each replica needs one.
  EXPECT_EQ(refused([](ServeRequest& r) { r.host_tier = Bytes{(2U << 20) - 1}; }), "serve.tier");
  EXPECT_EQ(refused([](ServeRequest& r) { r.host_tier = Bytes{2U << 20}; }), "");
  EXPECT_EQ(refused([](ServeRequest& r) {
              r.host_tier = Bytes{3U << 20};
              r.replicas = 2;
            }),
            "serve.tier");
  EXPECT_EQ(refused([](ServeRequest& r) { r.ways = {"b2b"}; }), "serve.tier");
  EXPECT_EQ(refused([](ServeRequest& r) { r.memory_share = 0.05; }), "model.memory");
  EXPECT_EQ(refused([](ServeRequest& r) { r.arrivals = std::string("/no/such/trace"); }), "serve.trace");
  EXPECT_EQ(refused([](ServeRequest& r) {
              r.host_tier = Bytes{1U << 30};
              r.ways = {"b3b"};
            }),
            "serve.way");
}

TEST(Serving, CanBeInterrupted) {
  ServeRequest request = request_of("llama-3.1-8b");
  std::get<Generated>(request.arrivals).requests = 100'000;
  ServeOptions options;
  options.progress = [](std::size_t, std::size_t) { return false; };
  const auto report = ServingStudy(mi300x()).run(request, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().errors.front().code, "serve.interrupted");
}

}  // namespace study_test
}  // namespace cortado::serve
