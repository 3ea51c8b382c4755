#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "cortado/study.hpp"

namespace cortado::pipeline {
namespace model_test {

ModelReport report_of(const std::string& model, const Layout& layout, const Phase& phase,
                      const std::string& machine_name = "mi300x-8") {
  const Machine machine = load_machine(machine_name).value();
  ModelStudy study(machine);
  const auto report = study.run({load_model(model).value(), layout, phase});
  EXPECT_TRUE(report) << to_string(report.error().errors.front());
  return report.value_or(ModelReport{});
}

void expect_ordered(const ModelReport& report) {
  const double best = report.row("auto")->seconds;
  EXPECT_LE(report.row("ideal")->seconds, best + 1e-12);
  for (const SystemRow& row : report.rows) {
    if (!row.bound) {
      EXPECT_LE(best, row.seconds + 1e-12) << row.system;
    }
    EXPECT_NEAR(row.compute + row.exposed + row.bubble, row.seconds, 1e-9 * row.seconds) << row.system;
    const auto index = static_cast<std::size_t>(&row - report.rows.data());
    double exposed = 0;  // of all collectives
    for (const PairRow& pair : report.pairs) exposed += pair.times * pair.exposed_us[index] * 1e-6;
    EXPECT_NEAR(exposed, row.exposed, 1e-9 * row.seconds) << row.system;
  }
}

TEST(Model, AutoIsNeverSlowerAndIdealIsABound) {
  expect_ordered(report_of("llama-3.1-8b", {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 1024}));
  expect_ordered(
      report_of("llama-3.1-8b", {.tp = 8}, {.kind = PhaseKind::decode, .context = 1024, .dtype = DType::f8}));
  expect_ordered(report_of("mixtral-8x7b", {.ep = 8, .dp = 8}, {.kind = PhaseKind::prefill, .tokens = 512}));
  expect_ordered(report_of("llama-3.1-8b", {.fsdp = 8}, {.kind = PhaseKind::train, .tokens = 2048}));
}

TEST(Model, CutsPayWherePromptsAreLong) {
  const ModelReport report = report_of("llama-3.1-70b", {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 8192});
  EXPECT_GT(report.row("ficco")->speedup, 1.02);
  EXPECT_LT(report.row("auto")->exposed, report.row("serial")->exposed);
  // Two all-reduces a layer, one kind each; and the gathered logits.
  EXPECT_EQ(report.pairs.size(), 3U);
}

TEST(Model, OneGpuExposesNothing) {
  const ModelReport report = report_of("llama-3.1-8b", {}, {.kind = PhaseKind::prefill, .tokens = 1024});
  EXPECT_TRUE(report.pairs.empty());
  EXPECT_NEAR(report.row("serial")->exposed, 0, 1e-12);
  EXPECT_NEAR(report.row("auto")->seconds, report.row("serial")->seconds, 1e-12);
}

TEST(Model, GenerationIsPrefillAndDecodeSteps) {
  const Machine machine = load_machine("mi300x-8").value();
  ModelStudy study(machine);
  const Model llama = load_model("llama-3.1-8b").value();
  const ModelOptions serial{.systems = {"serial"}};
  const auto seconds = [&](const Phase& phase) {
    return study.run({llama, {}, phase}, serial)->row("serial")->seconds;
  };
  const double whole = seconds({.kind = PhaseKind::generate, .tokens = 256, .output = 11});
  const double prefill = seconds({.kind = PhaseKind::prefill, .tokens = 256});
  const double first = seconds({.kind = PhaseKind::decode, .context = 256});
  const double last = seconds({.kind = PhaseKind::decode, .context = 266});
  EXPECT_NEAR(whole, prefill + 5 * (first + last), 1e-9);
}

TEST(Model, PipelinesWaitAndInterleavedOnesLess) {
  Layout layout{.tp = 1, .pp = 8, .micro_batches = 8};
  const Phase phase{.kind = PhaseKind::train, .tokens = 2048};
  const ModelReport plain = report_of("llama-3.1-8b", layout, phase);
  layout.schedule = PipelineSchedule::interleaved;
  const ModelReport interleaved = report_of("llama-3.1-8b", layout, phase);
  EXPECT_GT(plain.row("serial")->bubble, 1.5 * interleaved.row("serial")->bubble);
}

TEST(Model, RefusesUnknownSystems) {
  const Machine machine = load_machine("mi300x-8").value();
  ModelStudy study(machine);
  const ModelRequest request{load_model("llama-3.1-8b").value(), {}, {.kind = PhaseKind::prefill, .tokens = 16}};
  EXPECT_EQ(study.run(request, {.systems = {"fastest"}}).error().errors.front().code, "model.system");
  EXPECT_EQ(study.run(request, {.systems = {"t3"}}).error().errors.front().code, "model.system");
}

TEST(Model, WeightsThatAreNotGatheredAheadStayExposed) {
  const Phase phase{.kind = PhaseKind::train, .tokens = 4096};
  const ModelReport ahead = report_of("llama-3.1-8b", {.fsdp = 8}, phase);
  const ModelReport late = report_of("llama-3.1-8b", {.fsdp = 8, .prefetch = 0}, phase);
  EXPECT_GT(late.row("c3")->exposed, 1.2 * ahead.row("c3")->exposed);
  EXPECT_NEAR(late.row("serial")->seconds / ahead.row("serial")->seconds, 1, 1e-9) << "serial hides nothing anyway";
}

// One pair, one answer. At less than 1 % of the time of the GEMM, several are level.
TEST(Model, PairsAreDoneAsOverlapDoesThem) {
  const Machine machine = load_machine("mi300x-8").value();
  const ModelReport report = report_of("llama-3.1-70b", {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 8192});
  const auto pair = std::ranges::find(report.pairs, "behind output, 8192x8192x1024 bf16", &PairRow::with);
  ASSERT_NE(pair, report.pairs.end());
  const auto overlap = study_overlap({.relation = Relation::collective_needs_gemm,
                                      .gemms = {{8192, 8192, 1024}},
                                      .collectives = {{.collective = "all-reduce"}}},
                                     machine);
  ASSERT_TRUE(overlap);
  EXPECT_EQ(pair->chosen, overlap->choice);
}

TEST(Model, TilesAreSearched) {
  const ModelReport report = report_of("llama-3.1-70b", {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 8192});
  ASSERT_NE(report.row("tiles"), nullptr);
  EXPECT_LT(report.row("tiles")->exposed, report.row("serial")->exposed);
  EXPECT_LE(report.row("auto")->seconds, report.row("tiles")->seconds);
}

class ModelPolicies : public testing::Test {
 protected:
  static std::vector<PolicyRow> rows(double cap_w, const std::vector<const sim::PowerPolicy*>& policies) {
    Machine machine = load_machine("mi300x-8").value();
    machine.power->cap_w = cap_w;
    ModelStudy study(machine);
    // Two layers of it: the effect of a policy does not depend on their number.
    Model model = load_model("llama-3.1-8b").value();
    model.layers.resize(2);
    const ModelRequest request{model, {.fsdp = 8}, {.kind = PhaseKind::train, .tokens = 4096}};
    const ModelOptions options{.systems = {"conccl"}};
    const auto report = study.run(request, options);
    EXPECT_TRUE(report);
    const auto all = study.run_policies(*report, "conccl", {.policies = policies}, options);
    EXPECT_TRUE(all) << to_string(all.error().errors.front());
    return all.value_or(std::vector<PolicyRow>{});
  }

  static double watts(const PolicyRow& row) { return std::accumulate(row.watts.begin(), row.watts.end(), 0.0); }
};

TEST_F(ModelPolicies, KeepToTheirLimitsAndTakeLongerForIt) {
  const std::vector<PolicyRow> all = rows(750, {sim::power_policies().begin(), sim::power_policies().end()});
  ASSERT_EQ(all.size(), 4U);
  const auto of = [&](std::string_view name) { return *std::ranges::find(all, name, &PolicyRow::policy); };
  for (const PolicyRow& row : all) {
    EXPECT_LE(watts(row), 750 * 1.001) << row.policy;
    EXPECT_NEAR(row.joules, 8 * watts(row) * row.seconds, 1e-6 * row.joules) << row.policy;
  }
  EXPECT_EQ(all.front().policy, "none");
  EXPECT_LE(watts(of("uniform-cap")), 600 * 1.001);  // 80 % of the cap
  EXPECT_GT(of("uniform-cap").seconds, 1.02 * of("none").seconds);
  EXPECT_LT(of("uniform-cap").joules_per_token, of("none").joules_per_token);
  EXPECT_LT(watts(of("component-cap")), watts(of("none")));
  EXPECT_LT(of("component-shift").watts[1], of("none").watts[1]);  // it takes from what does not bound
  // A board that may draw less throttles.
  const std::vector<PolicyRow> low = rows(500, {&sim::kNoPowerPolicy});
  EXPECT_GT(low.front().seconds, 1.1 * of("none").seconds);
  EXPECT_LT(low.front().clocks_ghz[0], of("none").clocks_ghz[0]);
}

// A GEMM behind a memory-bound kernel has the clock that power allows; it does not climb up by raise_ghz an interval
// from the one that the kernel needed.
TEST_F(ModelPolicies, ComponentsThatAreLoweredAreBackWhenTheyAreNeeded) {
  double before = 0;
  for (const double cap : {850, 750, 650, 550}) {
    const std::vector<PolicyRow> all = rows(cap, {&sim::kNoPowerPolicy, sim::find_power_policy("component-cap"),
                                                  sim::find_power_policy("component-shift")});
    ASSERT_EQ(all.size(), 3U);
    EXPECT_LT(all[1].seconds, 1.01 * all[0].seconds) << cap;
    EXPECT_LT(all[2].seconds, all[0].seconds) << cap;
    EXPECT_GT(all[2].seconds, before) << cap;  // less power, more time
    before = all[2].seconds;
  }
}

}  // namespace model_test
}  // namespace cortado::pipeline
