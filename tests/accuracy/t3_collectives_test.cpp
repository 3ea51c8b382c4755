// Ring collectives on the machine of the T3 paper, against what third-party notes on it (arXiv 2401.16677) publish.
//
// Fitted (cores.copy_rate and cores.sharpness of t3-ring-16, one set for all three machines):
//   all-reduce on 8 of 80 compute units 41 % slower than on all, on 16 of 80 7 % slower.
// Not independent (150 GB/s of the published link is read as the rate of one direction because it explains them):
//   reduce-scatter by memory that adds, prelaunched, 7 % faster than by compute units on 8 GPUs, 3 % on 16.
// Predicted:
//   a GEMM on 64 of 80 compute units 21 % slower.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gemm/gemm.hpp"
#include "pipeline/choose.hpp"

namespace cortado {
namespace t3_collectives_test {

constexpr double kPoint = 0.01;

struct Model {
  std::uint64_t hidden;
  std::uint64_t tokens;
  Bytes tensor() const { return Bytes{hidden * tokens * size_of(DType::f16).value}; }
};
constexpr Model kMegaGpt2{3072, 16384};
constexpr Model kTnlg{4256, 8192};

double microseconds_of(const Machine& machine, const CollectiveRequest& request) {
  const auto time = pipeline::simulated_cost(machine)->collective(request);
  EXPECT_TRUE(time) << to_string(time.error());
  return time ? microseconds(*time) : 1;
}

/// In place. Engines have their commands beforehand and wait for a trigger, as T3 programs them.
double microseconds_of(const Machine& machine, Collective collective, const std::string& variant, Bytes bytes) {
  return microseconds_of(machine, {.collective = collective,
                                   .variant = variant,
                                   .bytes = bytes,
                                   .prelaunch = !variant.starts_with("cores"),
                                   .in_place = true,
                                   .dtype = DType::f16,
                                   .host = HostThreads::per_rank});
}

double geomean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

class T3Ring : public testing::TestWithParam<const char*> {
 protected:
  const Machine machine_ = load_machine(GetParam()).value();
};

/// Over tensors of 6 MB to 192 MB, the sizes of the paper's own validation.
double slowdown_of_all_reduce(const Machine& machine, std::uint32_t units) {
  std::vector<double> ratios;
  for (std::uint64_t megabytes = 6; megabytes <= 192; megabytes *= 2) {
    CollectiveRequest request{.collective = "all-reduce",
                              .variant = "cores-ring",
                              .bytes = Bytes{megabytes * 1'000'000},
                              .dtype = DType::f16};
    const double all = microseconds_of(machine, request);
    request.compute_units = units;
    ratios.push_back(microseconds_of(machine, request) / all);
  }
  return geomean(ratios) - 1;
}

TEST_P(T3Ring, AllReduceOnFewComputeUnits) {
  EXPECT_NEAR(slowdown_of_all_reduce(machine_, 8), 0.41, 5 * kPoint);
  EXPECT_NEAR(slowdown_of_all_reduce(machine_, 16), 0.07, 5 * kPoint);
}

// Steps of chunk / 150 GB/s + 0.5 us; at the end of a reduction 2 chunks are read and 1 is written at 1 TB/s, less what
// the cache of 16 MiB holds of 3 N - 1 chunks or so. Launch, start and flags to the host add a few microseconds.
TEST_P(T3Ring, StepsTakeTheLinkAndItsLatency) {
  const double steps = machine_.gpus - 1;
  for (const Model& model : {kMegaGpt2, kTnlg}) {
    const double chunk = static_cast<double>(model.tensor().value) / machine_.gpus;
    const double step = chunk / 150e3 + 0.5;
    const double sum = 3 * chunk / 1000e3;
    const auto time = [&](Collective collective, const char* variant) {
      return microseconds_of(machine_, collective, variant, model.tensor());
    };
    const double gather = time("all-gather", "cores-ring");
    EXPECT_NEAR(gather, steps * step + 5, 0.01 * gather);
    const double scatter = time("reduce-scatter", "cores-ring");
    EXPECT_NEAR(scatter, steps * step + 5 + sum, 0.01 * scatter);
    EXPECT_NEAR(time("all-reduce", "cores-ring"), 2 * steps * step + 5 + sum, 0.01 * (gather + scatter));
    EXPECT_NEAR(time("reduce-scatter", "add-ring"), steps * step + 2, 0.01 * scatter);
    EXPECT_NEAR(time("all-gather", "ring"), steps * step + 2, 0.01 * gather);
  }
}

std::string name_of(const testing::TestParamInfo<const char*>& info) {
  return fmt::format("Of{}", load_machine(info.param).value().gpus);
}

INSTANTIATE_TEST_SUITE_P(Machines, T3Ring, testing::Values("t3-ring-8", "t3-ring-16", "t3-ring-32"), name_of);

double gain_by_adding_memory(const char* name, const Model& model) {
  const Machine machine = load_machine(name).value();
  const auto time = [&](const char* variant) {
    return microseconds_of(machine, "reduce-scatter", variant, model.tensor());
  };
  return time("cores-ring") / time("add-ring") - 1;
}

TEST(T3Collectives, MemoryThatAddsSavesTheLastReduction) {
  for (const Model& model : {kMegaGpt2, kTnlg}) {
    EXPECT_NEAR(gain_by_adding_memory("t3-ring-8", model), 0.07, 2 * kPoint);
    EXPECT_NEAR(gain_by_adding_memory("t3-ring-16", model), 0.03, 2 * kPoint);
  }
}

// The sub-layers that end in an all-reduce: K is the hidden size times 1 (OP), 4 (FC-1 and FC-2) and 3 (IP), cut by the
// number of GPUs.
TEST(T3Collectives, ProductsOn64Of80ComputeUnits) {
  const Machine machine = load_machine("t3-ring-16").value();
  std::vector<double> ratios;
  for (const Model& model : {kMegaGpt2, kTnlg}) {
    for (const std::uint64_t gpus : {8U, 16U}) {
      for (const std::uint64_t factor : {1U, 4U, 3U}) {
        const GemmShape shape{
            .m = model.tokens, .n = model.hidden, .k = factor * model.hidden / gpus, .dtype = DType::f16};
        const auto seconds = [&](std::uint32_t units) {
          return estimate_gemm(shape, choose_tiling(shape, machine, units), machine, units).seconds;
        };
        ratios.push_back(seconds(64) / seconds(80));
      }
    }
  }
  EXPECT_NEAR(geomean(ratios) - 1, 0.21, 5 * kPoint);
}

}  // namespace t3_collectives_test
}  // namespace cortado
