// The simulator against published numbers of power, with the tolerances of published/comppow.toml and dma-latte.toml.
#include <cmath>

#include <gtest/gtest.h>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "gemm/gemm.hpp"
#include "reproduce/reproduce.hpp"

namespace cortado {
namespace power_test {

const report::Reproduction& comppow() {
  static const report::Reproduction once = [] {
    const auto result = pipeline::reproduce("comppow", {}, {.threads = 2});
    EXPECT_TRUE(result) << to_string(result.error().errors.front());
    return result ? *result : report::Reproduction{};
  }();
  return once;
}

void expect_within_goal(const report::ReproducedFigure& figure) {
  ASSERT_TRUE(figure.published.goal) << figure.published.title;
  EXPECT_LE(std::abs(figure.row().error), *figure.published.goal)
      << figure.published.title << ": published " << figure.published.published << ", ours " << figure.ours;
}

TEST(CompPow, EveryFigureIsWithinItsGoal) {
  EXPECT_EQ(comppow().figures.size(), 11U);
  for (const report::ReproducedFigure& figure : comppow().figures) expect_within_goal(figure);
}

TEST(DmaLatte, PowerIsWithinItsGoal) {
  const auto result = pipeline::reproduce("dma-latte", {}, {.threads = 2});
  ASSERT_TRUE(result) << to_string(result.error().errors.front());
  for (const char* name : {"power", "power bcst", "power swap"}) {
    ASSERT_NE(result->figure(name), nullptr) << name;
    expect_within_goal(*result->figure(name));
  }
}

/// The same dies under 1000 W: nothing of mi325x-8 but its cap and memory was fitted or chosen, its clocks are
/// published.
TEST(Mi325x, ClocksAtItsCapArePredicted) {
  const Result<Machine> machine = load_machine("mi325x-8");
  ASSERT_TRUE(machine) << to_string(machine.error());
  for (const DType dtype : {DType::bf16, DType::f16, DType::f8}) {
    pipeline::PowerRequest request;
    request.gemm = GemmShape{4864, 8192, 16384, dtype};
    request.ranks = 1;
    pipeline::PowerOptions options;
    options.policies = {{&sim::kNoPowerPolicy}};
    const auto report = pipeline::study_power(request, *machine, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    const double published = sustained_clock_ghz(dtype, *machine);
    EXPECT_NEAR(report->rows.front().clocks_ghz->front(), published, 0.1 * published) << to_string(dtype);
  }
}

/// One GPU under caps that it can keep at some clock: a lower one never runs faster, and never draws more.
TEST(Caps, LowerOnesNeverRunFaster) {
  const Result<Machine> machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine) << to_string(machine.error());
  pipeline::PowerRequest request;
  request.gemm = GemmShape{4864, 4096, 8192, DType::bf16};
  request.ranks = 1;
  double time = 0;
  double watts = INFINITY;
  for (const double cap : {800.0, 750.0, 700.0, 650.0, 600.0, 550.0, 500.0, 450.0}) {
    pipeline::PowerOptions options;
    options.policies = {{&sim::kNoPowerPolicy}};
    options.cap_w = cap;
    const auto report = pipeline::study_power(request, *machine, options);
    ASSERT_TRUE(report) << to_string(report.error().errors.front());
    const report::PowerRow& row = report->rows.front();
    EXPECT_GE(row.time_us(), time) << cap;
    EXPECT_LE(row.use.watts(), watts * (1 + 1e-9)) << cap;
    EXPECT_LE(row.use.watts(), cap) << cap;
    time = row.time_us();
    watts = row.use.watts();
  }
}

}  // namespace power_test
}  // namespace cortado
