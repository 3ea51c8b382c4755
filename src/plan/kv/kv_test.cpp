#include "plan/kv.hpp"

#include <gtest/gtest.h>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

namespace cortado::plan::kv_test {

KvRequest small_request() {
  return {.ranks = 4, .group = 2, .blocks = 5, .layers = 3, .fragments = 6, .fragment = Bytes{4096}, .seed = 7};
}

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

/// With everything that a strategy may need.
const Machine& codesign() {
  static const Machine machine = load_machine("mi300x-8+codesign").value();
  return machine;
}

TEST(KvPlans, AreProvedByEveryStrategy) {
  for (const KvStrategy& strategy : kv_strategies()) {
    const auto program = strategy.plan(small_request(), codesign());
    ASSERT_TRUE(program.has_value()) << strategy.name << ": " << program.error().message;
    const auto proved = verify(*program, codesign());
    EXPECT_TRUE(proved.has_value()) << strategy.name << ": " << proved.error().front().message;
  }
}

TEST(KvPlans, NeedWhatNoMachineOfTodayHas) {
  for (const std::string_view name : {"b2b-list", "b2b-device", "mcast"}) {
    const KvStrategy& strategy = *find_kv_strategy(name).value().strategy;
    const auto program = strategy.plan(small_request(), mi300x());
    ASSERT_FALSE(program.has_value()) << name;
    EXPECT_EQ(program.error().code, "kv.feature") << name;
    const auto proved = verify(strategy.plan(small_request(), codesign()).value(), mi300x());
    ASSERT_FALSE(proved.has_value()) << name;
    EXPECT_EQ(proved.error().front().code, "verify.machine") << name;
  }
}

TEST(KvPlans, MoveBothWaysAtOnce) {
  KvRequest request = small_request();
  request.direction = KvDirection::both;
  for (const std::string_view name : {"loop", "batch", "b2b/3", "b2b-prelaunch", "kernel"}) {
    const auto strategy = find_kv_strategy(name);
    ASSERT_TRUE(strategy.has_value()) << name;
    request.engines = strategy->engines;
    const auto program = strategy->strategy->plan(request, mi300x());
    ASSERT_TRUE(program.has_value()) << name << ": " << program.error().message;
    EXPECT_TRUE(verify(*program, mi300x()).has_value()) << name;
    std::uint64_t host_buffers = 0;
    for (const Buffer& buffer : program->buffers) host_buffers += buffer.host ? 1U : 0U;
    EXPECT_EQ(host_buffers, 8U) << name;  // one of each direction for each of 4 ranks
  }
}

TEST(KvPlans, ScatterBlocksByTheSeed) {
  const KvStrategy& b2b = *find_kv_strategy("b2b").value().strategy;
  KvRequest request = small_request();
  const Program one = b2b.plan(request, mi300x()).value();
  EXPECT_EQ(one, b2b.plan(request, mi300x()).value());
  request.seed = 8;
  EXPECT_NE(one, b2b.plan(request, mi300x()).value());
  EXPECT_EQ(parse_program(to_json(one)).value(), one);
}

/// 5 blocks of 6 fragments on 4 ranks: 120 copies, each with its signal, or one signal a rank.
TEST(KvPlans, CountCopiesAndSignals) {
  const auto counts_of = [](std::string_view name) {
    return count(find_kv_strategy(name).value().strategy->plan(small_request(), mi300x()).value());
  };
  EXPECT_EQ(counts_of("loop").commands, 120U);
  EXPECT_EQ(counts_of("loop").signals, 120U);
  EXPECT_EQ(counts_of("b2b").commands, 120U);
  EXPECT_EQ(counts_of("b2b").signals, 4U);
  EXPECT_EQ(counts_of("b2b-layers").signals, 12U);      // of 3 layers
  EXPECT_EQ(counts_of("bcst").commands, 60U);           // one read for two GPUs
  EXPECT_EQ(counts_of("shard+gather").commands, 120U);  // 60 from the host, 60 to the other one
}

TEST(KvPlans, AreRefusedWhereTheyDoNotFit) {
  const auto refusal = [](std::string_view name, const KvRequest& request) {
    const auto program = find_kv_strategy(name).value().strategy->plan(request, mi300x());
    return program ? std::string() : program.error().code;
  };
  KvRequest alone = small_request();
  alone.group = 1;
  EXPECT_EQ(refusal("bcst", alone), "kv.replicated");
  EXPECT_EQ(refusal("shard+gather", alone), "kv.replicated");
  KvRequest whole = small_request();
  whole.layers = 1;
  EXPECT_EQ(refusal("b2b-layers", whole), "kv.layers");
  KvRequest none = small_request();
  none.blocks = 0;
  EXPECT_EQ(refusal("b2b", none), "kv.request");
  KvRequest huge = small_request();
  huge.fragment = Bytes{std::uint64_t{1} << 29};
  huge.blocks = 500;
  EXPECT_EQ(refusal("b2b", huge), "kv.memory");
  KvRequest many = small_request();
  many.ranks = 1;
  many.group = 1;
  many.blocks = 13'000;  // 78,000 packets of 28 bytes, more than 2 MiB
  EXPECT_EQ(refusal("b2b", many), "kv.ring");
  EXPECT_EQ(find_kv_strategy("b2b/0").error().code, "kv.strategy");
  EXPECT_EQ(find_kv_strategy("loop/2").error().code, "kv.strategy");
  EXPECT_EQ(find_kv_strategy("magic").error().code, "kv.strategy");
}

TEST(KvPlans, NeedHostMemoryForCopiesOnly) {
  Program program = find_kv_strategy("b2b").value().strategy->plan(small_request(), mi300x()).value();
  for (Buffer& buffer : program.buffers) {
    if (buffer.host) buffer.host = 9;
  }
  const auto proved = verify(program, mi300x());
  ASSERT_FALSE(proved.has_value());
  EXPECT_EQ(proved.error().front().code, "verify.machine");
}

}  // namespace cortado::plan::kv_test
