// GEMMs fused with the following collective, by every preset of T3: planned, proved, and run on the embedded node,
// plain and adversarial. Sums of GEMMs are compared up to the roundings that product_check.hpp states; what is not
// summed is exact.
#include "plan/t3.hpp"

#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "harness.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::product {
namespace t3_test {

class T3Product : public testing::TestWithParam<std::uint32_t> {
 protected:
  void check(T3Request request, const Machine& on, const std::vector<DType>& dtypes, Node& plain, Node& adversarial) {
    request.ranks = GetParam();
    for (const DType dtype : dtypes) {
      request.gemm.dtype = dtype;
      for (const T3Axis axis : {T3Axis::rows, T3Axis::columns}) {
        request.axis = axis;
        for (const std::uint64_t split_k : {1U, 2U}) {
          request.split_k = split_k;
          SCOPED_TRACE(fmt::format("{} {} of {}, chunks of {}, split_k {}, {} pieces, on {}", request.algorithm,
                                   request.collective, to_string(request.gemm), name_of(axis), split_k, request.pieces,
                                   on.name));
          const auto plan = plan_t3(request, on);
          ASSERT_TRUE(plan) << to_string(plan.error());
          const auto verified = verify(plan->program, on);
          ASSERT_TRUE(verified) << to_text(verified.error());
          ASSERT_EQ(plain.run(*verified), "");
          ASSERT_EQ(adversarial.run(*verified), "");
        }
      }
    }
  }

  /// Even chunks of one piece, and uneven ones of several.
  void check_shapes(T3Request request, const Machine& on, const std::vector<DType>& dtypes) {
    Node plain(on, GetParam(), std::nullopt);
    Node adversarial(on, GetParam(), 23);
    request.tiling = Tiling{.tile_m = 4, .tile_n = 8};
    request.gemm = {32, 32, 24, DType::f32};
    request.pieces = 1;
    check(request, on, dtypes, plain, adversarial);
    request.gemm = {61, 35, 19, DType::f32};
    request.pieces = 3;
    check(request, on, dtypes, plain, adversarial);
  }

  void check(const T3Request& request) {
    check_shapes(request, machine("mi300x-8+t3"), {DType::f32, DType::bf16, DType::f16});
    // The ring of 8 has no link that closes a ring of fewer, and GEMMs of one type.
    if (request.algorithm == "ring" && GetParam() == 8) check_shapes(request, machine("t3-ring-8"), {DType::f16});
  }
};

TEST_P(T3Product, ReduceScatter) {
  check({.collective = "reduce-scatter", .algorithm = "ring"});
  check({.collective = "reduce-scatter", .algorithm = "direct"});
  check({.collective = "reduce-scatter", .algorithm = "engines"});
}

TEST_P(T3Product, AllGather) {
  check({.collective = "all-gather", .algorithm = "ring"});
  check({.collective = "all-gather", .algorithm = "direct"});
}

TEST_P(T3Product, AllToAll) {
  check({.collective = "all-to-all", .algorithm = "direct"});
  check({.collective = "all-to-all", .algorithm = "engines"});
}

INSTANTIATE_TEST_SUITE_P(Ranks, T3Product, testing::ValuesIn(swept_ranks({2, 3, 4, 8})));

}  // namespace t3_test
}  // namespace cortado::product
