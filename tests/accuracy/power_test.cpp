// Clocks and caps of power; goals_test.cpp compares the published numbers of CompPow and DMA-Latte.
#include <cmath>

#include <gtest/gtest.h>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "gemm/gemm.hpp"

namespace cortado {
namespace power_test {

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
