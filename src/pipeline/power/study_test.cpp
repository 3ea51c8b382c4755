#include "cortado/study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "plan/choose.hpp"

namespace cortado::pipeline {
namespace study_test {

using testing::ElementsAre;
using testing::HasSubstr;

/// MI300X with round numbers: 20 W idle in each component and in the rest, no losses: 80 W. Nominal 2 GHz everywhere.
Machine machine_with_power() {
  Result<Machine> machine = load_machine("mi300x-8");
  EXPECT_TRUE(machine) << to_string(machine.error());
  ComponentPower component;
  component.idle_w = 20;
  component.leakage_w = 30;
  component.clock_w = 30;
  component.nominal_ghz = 2;
  component.curve = {{0.5, 2}, {0.7, 1}};
  cortado::Power power;
  power.cap_w = 750;
  power.control_interval = {100'000};
  power.clock_step_ghz = 0.05;
  power.leakage_exponent = 2;
  power.rest_idle_w = 20;
  power.xcd = power.iod = power.hbm = component;
  power.bf16_flop = 0.8e-12;
  power.hbm_byte = 30e-12;
  power.link_byte = 50e-12;
  machine->power = power;
  return *std::move(machine);
}

PowerRequest both_on_two_ranks() {
  PowerRequest request;
  request.gemm = GemmShape{2048, 2048, 2048, DType::bf16};
  request.collective = CollectiveRequest{.collective = "all-gather", .variant = "pcpy", .bytes = 8_MiB, .ranks = 2};
  request.collective->in_place = true;
  return request;
}

report::PowerReport study(const PowerRequest& request, const PowerOptions& options = {}) {
  const auto report = study_power(request, machine_with_power(), options);
  EXPECT_TRUE(report) << to_string(report.error().errors.front());
  return report ? *report : report::PowerReport{};
}

Diagnostic refusal(const PowerRequest& request, const PowerOptions& options, const Machine& machine) {
  const auto report = study_power(request, machine, options);
  EXPECT_FALSE(report);
  return report ? Diagnostic{} : report.error().errors.front();
}

TEST(PowerStudy, AnyStrategyDoesBoth) {
  PowerRequest request = both_on_two_ranks();
  request.ranks = 2;
  request.strategy = "conccl/b2b-prelaunch";
  const PowerOptions unmanaged{.managed = false};
  const report::PowerReport beside = study(request, unmanaged);
  EXPECT_EQ(beside.strategy, "conccl/b2b-prelaunch");
  EXPECT_EQ(beside.variant, "pcpy");  // of the collective alone
  request.strategy = "hetero-fused-1d";
  request.relation = Relation::gemm_needs_collective;
  const report::PowerReport cut = study(request, unmanaged);
  EXPECT_EQ(cut.strategy, "hetero-fused-1d/2");
  EXPECT_EQ(cut.bytes, 8_MiB);  // A: 2048 x 2048 elements of two bytes
  ASSERT_EQ(cut.rows.size(), 3U);
  EXPECT_GT(cut.rows[2].use.seconds, cut.rows[0].use.seconds);  // both take longer than the GEMM alone
  request.strategy = "serial";
  EXPECT_EQ(refusal(request, unmanaged, machine_with_power()).code, "overlap.program");
}

// As `model` does: nothing is left below what GEMMs draw with all clocks at their lowest.
TEST(PowerStudy, RefusesWhatTheLowestClocksExceed) {
  const Machine machine = load_machine("mi300x-8").value();
  PowerRequest request;
  request.gemm = GemmShape{4096, 14336, 4096, DType::bf16};
  request.ranks = 1;
  const GemmModel model(*request.gemm, choose_tiling(*request.gemm, machine, machine.compute_units), machine);
  const double least = least_gemm_watts(model, machine, machine.compute_units);
  const auto report = study_power(request, machine, {.policies = {{&sim::kNoPowerPolicy}}, .cap_w = 1.001 * least});
  ASSERT_TRUE(report) << to_string(report.error().errors.front());
  EXPECT_NEAR(report->rows.front().use.watts(), least, 0.02 * least);
  const auto refused = [&](const PowerOptions& options) { return refusal(request, options, machine); };
  const Diagnostic cap = refused({.policies = {{&sim::kNoPowerPolicy}}, .cap_w = 200});
  EXPECT_EQ(cap.code, "power.cap");
  EXPECT_THAT(cap.message, HasSubstr("W at the lowest clocks, but the cap is 200 W"));
  const Diagnostic limit = refused({.policies = {{sim::find_power_policy("uniform-cap")}}, .limit_w = 200});
  EXPECT_THAT(limit.message, HasSubstr("W at the lowest clocks, but the limit is 200 W"));
}

// A small GEMM draws more while its kernel runs than on average over an interval, in which others start.
TEST(PowerStudy, TellsWhyALimitAboveTheMeanSlowsWorkDown) {
  const Machine machine = load_machine("mi300x-8").value();
  PowerRequest request;
  request.gemm = GemmShape{1, 8192, 1024, DType::bf16};
  request.ranks = 1;
  const auto told = [&](double limit) {
    const auto report =
        study_power(request, machine, {.policies = {{sim::find_power_policy("uniform-cap")}}, .limit_w = limit});
    EXPECT_TRUE(report);
    return report::to_text(report::power_document(report.value()));
  };
  EXPECT_THAT(told(430), HasSubstr("although it draws less than the limit on average"));
  EXPECT_THAT(told(750), testing::Not(HasSubstr("although it draws less")));
}

TEST(PowerStudy, HasEachAloneAndBothUnderEveryPolicy) {
  const report::PowerReport report = study(both_on_two_ranks(), {.threads = 2});
  std::vector<std::string> names;
  for (const report::PowerRow& row : report.rows) names.push_back(row.what + " " + row.policy);
  EXPECT_THAT(names, ElementsAre("gemm none", "gemm uniform-cap", "gemm component-cap", "gemm component-shift",
                                 "collective none", "collective uniform-cap", "collective component-cap",
                                 "collective component-shift", "both none", "both uniform-cap", "both component-cap",
                                 "both component-shift"));
  EXPECT_EQ(report.gemm, "2048x2048x2048 bf16");
  EXPECT_EQ(report.variant, "pcpy");
  EXPECT_EQ(report.ranks, 2U);
  EXPECT_DOUBLE_EQ(report.idle_w, 80);
  EXPECT_EQ(report.cap_w, 750);
  EXPECT_EQ(report.limit_w, 600);  // 80 % of the cap
  for (const report::PowerRow& row : report.rows) {
    EXPECT_GT(row.use.watts(), 80) << row.what << " " << row.policy;
    // Twenty iterations and forty intervals of 100 us, by the time that one iteration takes without management.
    EXPECT_GE(row.iterations, 20U);
    EXPECT_GE(row.time_us() * row.iterations, 0.5 * 40 * 100) << row.what << " " << row.policy;
    EXPECT_EQ(row.tflops.has_value(), row.what != "collective");
    ASSERT_TRUE(row.change && row.clocks_ghz && row.peak_w);
    if (row.policy == "none") {
      EXPECT_EQ(row.change->time, 0);
      EXPECT_EQ(row.change->energy, 0);
    }
    EXPECT_TRUE(row.over_time.empty());
  }
  // Energies of the GEMM alone: every multiplication and addition is in it, on both GPUs.
  const report::PowerRow& gemm = *report.row("gemm", "none");
  EXPECT_GT(gemm.use.energy[EnergyPart::xcd_products], 0);
  EXPECT_EQ(gemm.use.energy[EnergyPart::iod_links], 0);
  EXPECT_NEAR(*gemm.tflops, 2.0 * 2048 * 2048 * 2048 / gemm.use.seconds / 1e12, 1e-9);
}

TEST(PowerStudy, DoesNotDependOnTheNumberOfThreads) {
  PowerOptions options;
  options.policies = {{sim::find_power_policy("component-cap")}};
  options.over_time = true;
  const std::string one = to_json(report::power_document(study(both_on_two_ranks(), options)));
  options.threads = 3;
  EXPECT_EQ(one, to_json(report::power_document(study(both_on_two_ranks(), options))));
}

TEST(PowerStudy, PolicyNoneIsAlwaysThere) {
  PowerRequest request = both_on_two_ranks();
  request.collective.reset();
  request.ranks = 1;
  PowerOptions options;
  options.policies = {{sim::find_power_policy("component-shift"), &sim::kNoPowerPolicy}};
  options.over_time = true;
  const report::PowerReport report = study(request, options);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].policy, "none");
  EXPECT_EQ(report.rows[1].policy, "component-shift");
  EXPECT_EQ(report.ranks, 1U);
  EXPECT_FALSE(report.limit_w);
  // About 400 samples of a run: managed clocks make it longer or shorter.
  EXPECT_GT(report.rows[0].over_time.size(), 100U);
}

TEST(PowerStudy, LibrariesTakeComputeUnits) {
  PowerRequest request;
  request.collective =
      CollectiveRequest{.collective = "all-gather", .variant = kCoresVariants, .bytes = 8_MiB, .ranks = 2};
  request.collective->in_place = true;
  PowerOptions options;
  options.policies = {{&sim::kNoPowerPolicy}};
  const report::PowerReport report = study(request, options);
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_EQ(report.rows[0].what, "collective");
  EXPECT_EQ(report.variant, "library");
}

TEST(PowerStudy, ClocksThatAreNotManaged) {
  PowerOptions options;
  options.managed = false;
  const report::PowerReport report = study(both_on_two_ranks(), options);
  ASSERT_EQ(report.rows.size(), 3U);
  EXPECT_EQ(report.rows[0].policy, "unmanaged");
  EXPECT_FALSE(report.rows[0].clocks_ghz || report.rows[0].change || report.cap_w);
}

TEST(PowerStudy, WrongRequestsAreRefused) {
  const Machine machine = machine_with_power();
  EXPECT_EQ(refusal({}, {}, machine).code, "power.request");
  EXPECT_EQ(refusal(both_on_two_ranks(), {.cap_w = 80}, machine).code, "power.cap");
  EXPECT_EQ(
      refusal(both_on_two_ranks(), {.policies = {{sim::find_power_policy("component-cap")}}, .limit_w = 500}, machine)
          .code,
      "power.limit");
  EXPECT_EQ(refusal(both_on_two_ranks(), {.managed = false, .cap_w = 500}, machine).code, "power.unmanaged");
  PowerRequest many;
  many.gemm = both_on_two_ranks().gemm;
  many.ranks = 9;
  EXPECT_EQ(refusal(many, {}, machine).code, "plan.ranks");
  PowerRequest unknown = both_on_two_ranks();
  unknown.collective->variant = kCoresVariants;
  unknown.collective->collective = "gather";  // no kernels do it
  EXPECT_EQ(refusal(unknown, {}, machine).code, "plan.auto");
  Machine silent = machine;
  silent.power.reset();
  EXPECT_EQ(refusal(both_on_two_ranks(), {}, silent).code, "power.machine");
  EXPECT_EQ(refusal(both_on_two_ranks(), {.managed = false}, silent).code, "power.machine");
}

TEST(PowerStudy, PoliciesThatTheMachineCannotDoAreLeftOutUnlessTheyAreNamed) {
  Machine machine = machine_with_power();
  machine.power->hbm.reset();
  const auto all = study_power(both_on_two_ranks(), machine);
  ASSERT_TRUE(all) << to_string(all.error().errors.front());
  EXPECT_EQ(all->rows.size(), 9U);  // three cases under three policies
  ASSERT_EQ(all->skipped.size(), 1U);
  EXPECT_EQ(all->skipped[0].name, "component-shift");
  EXPECT_EQ(all->skipped[0].reason.code, "power.component");
  EXPECT_EQ(refusal(both_on_two_ranks(), {.policies = {{sim::find_power_policy("component-shift")}}}, machine).code,
            "power.component");
}

TEST(PowerStudy, CanBeInterrupted) {
  const auto stop = [](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 15U);  // three programs, each once and under four policies
    return done < 4;
  };
  EXPECT_EQ(refusal(both_on_two_ranks(), {.progress = stop}, machine_with_power()).code, "power.interrupted");
}

TEST(PowerPolicies, AreParsedByName) {
  const auto policies = sim::parse_power_policies({"component-cap", "none", "component-cap"});
  ASSERT_TRUE(policies);
  EXPECT_THAT(*policies, ElementsAre(sim::find_power_policy("component-cap"), &sim::kNoPowerPolicy));
  const auto wrong = sim::parse_power_policies({"component-cop"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "power.policy");
  EXPECT_THAT(wrong.error().hint, HasSubstr("did you mean component-cap?"));
  for (const sim::PowerPolicy* policy : sim::power_policies()) EXPECT_FALSE(policy->summary.empty()) << policy->name;
}

}  // namespace study_test
}  // namespace cortado::pipeline
