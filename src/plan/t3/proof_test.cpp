// Every preset is proved, for 2 to 8 ranks, GEMMs that divide evenly and ones that do not, rows and columns, splits of
// k and any number of pieces. Wrong maps are rejected by the verifier, which names what is missing.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "plan/t3/testing.hpp"
#include "tests/support/sanitized.hpp"

namespace cortado::plan {
namespace t3_proof_test {

std::string text(const std::vector<Diagnostic>& errors) {
  std::string all;
  for (const Diagnostic& error : errors) all += to_string(error) + "\n";
  return all;
}

class T3Proof : public testing::TestWithParam<std::uint32_t> {
 protected:
  void prove(const T3Request& request) {
    SCOPED_TRACE(fmt::format("{} {} {} {} ranks by {}, {} pieces, split {}", request.collective, request.algorithm,
                             to_string(request.gemm), request.ranks, name_of(request.axis), request.pieces,
                             request.split_k));
    const T3Plan plan = t3_for_test(request, machine_);
    const auto verified = verify(plan.program, machine_);
    ASSERT_TRUE(verified) << text(verified.error());
  }

  const Machine machine_ = machine_for_test("mi300x-8+t3");
};

TEST_P(T3Proof, EveryPreset) {
  for (const T3Preset& preset : list_t3_presets()) {
    T3Request request{.collective = preset.collective, .algorithm = preset.algorithm, .ranks = GetParam()};
    request.gemm = {64, 48, 32};
    prove(request);
    request.gemm = {37, 19, 12, DType::f32};
    request.tiling = Tiling{3, 4, 1};
    for (const T3Axis axis : {T3Axis::rows, T3Axis::columns}) {
      request.axis = axis;
      for (const std::uint64_t pieces : {1U, 2U, 7U}) {
        request.pieces = pieces;
        request.split_k = pieces == 2 ? 3 : 1;
        prove(request);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, T3Proof, testing::ValuesIn(swept_ranks({2, 3, 4, 8})));

// Pieces of sender and receiver need not be the same: memory counts bytes.
TEST_F(T3Proof, PiecesOfNeighboursMayDiffer) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const DmaOperation pass_on{RankId{(rank + 1) % 4}, CopyOp::add};
    maps.push_back(T3Map(4)
                       .remote_map((rank + 3) % 4, pass_on.to, CopyOp::add)
                       .dma_map((rank + 2) % 4, pass_on, 2, 1 + rank)
                       .dma_map((rank + 1) % 4, pass_on, 2, 4 - rank)
                       .keep(rank, 2));
  }
  const auto plan = plan_t3({.gemm = {48, 16, 8}, .ranks = 4, .tiling = Tiling{2, 8, 1}}, maps, machine_);
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_EQ(plan->pieces, 4U);
  const auto verified = verify(plan->program, machine_);
  EXPECT_TRUE(verified) << text(verified.error());
}

class T3WrongMap : public testing::Test {
 protected:
  /// The errors of the ring reduce-scatter of 4 ranks with another map for rank 1.
  std::vector<Diagnostic> errors(const T3Map& wrong) {
    for (const T3Preset& preset : list_t3_presets()) {
      if (preset.collective != "reduce-scatter" || preset.algorithm != "ring") continue;
      std::vector<T3Map> maps = preset.maps(4, 1);
      maps[1] = wrong;
      const auto plan = plan_t3({.gemm = {16, 16, 8}, .ranks = 4, .tiling = Tiling{4, 8, 1}}, maps, machine_);
      if (!plan) {
        ADD_FAILURE() << to_string(plan.error());
        return {};
      }
      const auto verified = verify(plan->program, machine_);
      return verified ? std::vector<Diagnostic>{} : verified.error();
    }
    ADD_FAILURE() << "no ring";
    return {};
  }

  static constexpr DmaOperation kNext{RankId{2}, CopyOp::add};
  const Machine machine_ = machine_for_test("mi300x-8+t3");
};

TEST_F(T3WrongMap, TheRightOneIsProved) {
  const T3Map right =
      T3Map(4).remote_map(0, kNext.to, CopyOp::add).dma_map(3, kNext, 2).dma_map(2, kNext, 2).keep(1, 2);
  EXPECT_EQ(text(errors(right)), "");
}

TEST_F(T3WrongMap, CountsThatAreNeverReachedOrExceeded) {
  for (const std::uint64_t updates : {0U, 1U, 3U}) {
    EXPECT_FALSE(
        errors(T3Map(4).remote_map(0, kNext.to, CopyOp::add).dma_map(3, kNext, updates).dma_map(2, kNext, 2).keep(1, 2))
            .empty())
        << updates;
  }
}

TEST_F(T3WrongMap, OutputThatIsNotMapped) {
  EXPECT_FALSE(errors(T3Map(4).remote_map(0, kNext.to, CopyOp::add).dma_map(3, kNext, 2).keep(1, 2)).empty());
  EXPECT_FALSE(errors(T3Map(4)).empty());
}

TEST_F(T3WrongMap, OutputThatIsMappedTwice) {
  EXPECT_FALSE(errors(T3Map(4)
                          .remote_map(0, kNext.to, CopyOp::add)
                          .dma_map(3, kNext, 2)
                          .dma_map(3, kNext, 2)
                          .dma_map(2, kNext, 2)
                          .keep(1, 2))
                   .empty());
}

TEST_F(T3WrongMap, WrongNeighbour) {
  EXPECT_FALSE(
      errors(T3Map(4).remote_map(0, RankId{3}, CopyOp::add).dma_map(3, kNext, 2).dma_map(2, kNext, 2).keep(1, 2))
          .empty());
  EXPECT_FALSE(errors(T3Map(4)
                          .remote_map(0, kNext.to, CopyOp::add)
                          .dma_map(3, kNext, 2)
                          .dma_map(2, {RankId{0}, CopyOp::add}, 2)
                          .keep(1, 2))
                   .empty());
}

TEST_F(T3WrongMap, StoresWhereSumsBelong) {
  EXPECT_FALSE(
      errors(T3Map(4).remote_map(0, kNext.to, CopyOp::store).dma_map(3, kNext, 2).dma_map(2, kNext, 2).keep(1, 2))
          .empty());
}

}  // namespace t3_proof_test
}  // namespace cortado::plan
