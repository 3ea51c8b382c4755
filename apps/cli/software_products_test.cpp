#include "software_products.hpp"

#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado::cli {
namespace software_products_test {

/// Two GPUs that multiply 1000 x 1000 x 5000 each: 2 * 10^10 flops per iteration.
Program products() {
  Gemm gemm;
  gemm.m = 1000;
  gemm.n = 1000;
  gemm.k = 5000;
  gemm.dtype = DType::bf16;
  Queue queue;
  queue.kind = QueueKind::compute;
  queue.commands = {gemm, Timestamp{}};
  Program program;
  program.queues = {queue, queue};
  return program;
}

TEST(SoftwareProducts, ALongRunIsAnnounced) {
  // 200 * 2 * 10^10 = 4 * 10^12 flops at 2 * 10^10 per second take 200 seconds.
  const auto warning = software_products_warning(products(), 200, [](DType dtype) {
    EXPECT_EQ(dtype, DType::bf16);
    return 2e10;
  });
  EXPECT_EQ(warning.value_or("none"),
            "4.0 TFLOP of GEMMs will run in software on this computer: about 3 minutes at the 20 GFLOP/s measured "
            "here; --iters 1 takes least time; --on sim predicts the time on GPUs within seconds");
  // 2 * 10^10 flops at 5 * 10^8 per second take 40 seconds.
  EXPECT_EQ(
      software_products_warning(products(), 1, [](DType) { return 5e8; }).value_or("none"),
      "20 GFLOP of GEMMs will run in software on this computer: about 40 seconds at the 500000000 FLOP/s measured "
      "here; --on sim predicts the time on GPUs within seconds");
}

TEST(SoftwareProducts, HalfAMinuteIsNot) {
  EXPECT_EQ(software_products_warning(products(), 30, [](DType) { return 2e10; }), std::nullopt);
  EXPECT_NE(software_products_warning(products(), 31, [](DType) { return 2e10; }), std::nullopt);
}

TEST(SoftwareProducts, NothingIsMeasuredWithoutProducts) {
  Program program = products();
  for (Queue& queue : program.queues) queue.commands.erase(queue.commands.begin());
  const auto never = [](DType) -> double {
    ADD_FAILURE() << "measured";
    return 1;
  };
  EXPECT_EQ(software_products_warning(program, 1'000'000, never), std::nullopt);
}

TEST(SoftwareProducts, DurationsAreRounded) {
  EXPECT_EQ(rough_duration(42.4), "about 42 seconds");
  EXPECT_EQ(rough_duration(281), "about 5 minutes");
  EXPECT_EQ(rough_duration(3 * 3600 + 60), "about 3 hours");
}

}  // namespace software_products_test
}  // namespace cortado::cli
