// What cannot be planned is rejected with its code and advice.
#include <gmock/gmock.h>

#include "plan/t3/testing.hpp"

namespace cortado::plan {
namespace t3_request_test {

using testing::HasSubstr;

class T3Refusal : public testing::Test {
 protected:
  Diagnostic refused(const T3Request& request, const Machine& machine) {
    const Result<T3Plan> plan = plan_t3(request, machine);
    EXPECT_FALSE(plan);
    return plan ? Diagnostic{} : plan.error();
  }
  Diagnostic refused(const T3Request& request, const std::vector<T3Map>& maps) {
    const Result<T3Plan> plan = plan_t3(request, maps, mesh_);
    EXPECT_FALSE(plan);
    return plan ? Diagnostic{} : plan.error();
  }

  const Machine mesh_ = machine_for_test("mi300x-8+t3");
  const Machine ring_ = machine_for_test("t3-ring-8");
  const GemmShape shape_{64, 64, 32, DType::f16};
};

TEST_F(T3Refusal, MachinesWithoutTheFeatures) {
  const Diagnostic tracker = refused({.gemm = shape_}, machine_for_test("mi300x-8"));
  EXPECT_EQ(tracker.code, "t3.feature");
  EXPECT_THAT(tracker.message, HasSubstr("tracker"));
  Machine counts_only = mesh_;
  counts_only.features.near_memory_compute = false;
  const Diagnostic adding = refused({.gemm = shape_}, counts_only);
  EXPECT_EQ(adding.code, "t3.feature");
  EXPECT_THAT(adding.message, HasSubstr("near_memory_compute"));
  EXPECT_TRUE(plan_t3({.gemm = shape_, .collective = "all-gather"}, counts_only));
  EXPECT_TRUE(plan_t3({.gemm = shape_, .collective = "all-to-all"}, counts_only));
}

TEST_F(T3Refusal, LinksThatAreNotThere) {
  EXPECT_TRUE(plan_t3({.gemm = shape_}, ring_));
  const Diagnostic open = refused({.gemm = shape_, .ranks = 4}, ring_);  // GPU 3 has no link to GPU 0
  EXPECT_EQ(open.code, "t3.topology");
  EXPECT_THAT(open.message, HasSubstr("GPU 3"));
  EXPECT_EQ(refused({.gemm = shape_, .algorithm = "direct"}, ring_).code, "t3.topology");
  EXPECT_EQ(refused({.gemm = shape_, .collective = "all-to-all"}, ring_).code, "t3.topology");
  EXPECT_TRUE(plan_t3({.gemm = shape_, .ranks = 2}, ring_));
  EXPECT_TRUE(plan_t3({.gemm = shape_, .algorithm = "ring", .ranks = 5}, mesh_));
}

TEST_F(T3Refusal, Names) {
  const Diagnostic collective = refused({.gemm = shape_, .collective = "scatter"}, mesh_);
  EXPECT_EQ(collective.code, "t3.collective");
  EXPECT_THAT(collective.hint, HasSubstr("known: all-gather, all-to-all, reduce-scatter"));
  const Diagnostic algorithm = refused({.gemm = shape_, .algorithm = "rings"}, mesh_);
  EXPECT_EQ(algorithm.code, "t3.algorithm");
  EXPECT_THAT(algorithm.hint, HasSubstr("did you mean ring?"));
  EXPECT_EQ(refused({.gemm = shape_, .collective = "all-to-all", .algorithm = "ring"}, mesh_).code, "t3.algorithm");
  const Result<T3Axis> axis = find_t3_axis("row");
  ASSERT_FALSE(axis);
  EXPECT_EQ(axis.error().code, "t3.axis");
}

TEST_F(T3Refusal, RanksAndShapes) {
  EXPECT_EQ(refused({.gemm = shape_, .ranks = 1}, mesh_).code, "t3.ranks");
  EXPECT_EQ(refused({.gemm = shape_, .ranks = 9}, mesh_).code, "t3.ranks");
  EXPECT_EQ(refused({.gemm = {7, 3, 32}, .ranks = 8}, mesh_).code, "t3.shape");
  EXPECT_EQ(refused({.gemm = {64, 3, 32}, .ranks = 8, .axis = T3Axis::columns}, mesh_).code, "t3.shape");
  EXPECT_TRUE(plan_t3({.gemm = {7, 3, 32}, .collective = "all-gather", .ranks = 8}, mesh_));
  EXPECT_EQ(refused({.gemm = {64, 64, 32, DType::i32}}, mesh_).code, "gemm.dtype");
  EXPECT_EQ(refused({.gemm = {0, 64, 32}}, mesh_).code, "gemm.shape");
  EXPECT_EQ(refused({.gemm = {64, 64, 32, DType::f16, true}}, mesh_).code, "t3.accumulate");
  EXPECT_EQ(refused({.gemm = shape_, .tiling = Tiling{0, 16, 1}}, mesh_).code, "t3.tiling");
  EXPECT_EQ(refused({.gemm = shape_, .split_k = 33}, mesh_).code, "t3.tiling");
}

// A of 2^20 x 2^10, C of 2^20 x 2^14 of 2 bytes: 32 GiB of C fit 192 GB, eight times that do not.
TEST_F(T3Refusal, Memory) {
  const GemmShape large{1 << 20, 1 << 14, 1 << 10};
  EXPECT_TRUE(plan_t3({.gemm = large}, mesh_));
  EXPECT_EQ(refused({.gemm = large, .collective = "all-gather"}, mesh_).code, "t3.memory");
}

TEST_F(T3Refusal, MapsThatNoProgramCanBeMadeOf) {
  const T3Request request{.gemm = shape_, .ranks = 2};
  T3Map good(2);
  good.keep(0, 1).keep(1, 1);
  EXPECT_TRUE(plan_t3(request, {good, good}, mesh_));
  EXPECT_EQ(refused(request, {good}).code, "t3.map");
  EXPECT_EQ(refused(request, {good, T3Map(3)}).code, "t3.map");
  EXPECT_EQ(refused(request, {good, T3Map(2).keep(2, 1)}).code, "t3.map");
  EXPECT_EQ(refused(request, {good, T3Map(2).remote_map(1, RankId{2}, CopyOp::store)}).code, "t3.map");
  const Diagnostic pieces = refused(request, {good, T3Map(2).dma_map(1, DmaOperation{RankId{0}}, 1, 0)});
  EXPECT_EQ(pieces.code, "t3.map");
  EXPECT_THAT(pieces.message, HasSubstr("chunk 1 (slot 1) of rank 1"));
}

TEST_F(T3Refusal, MapsPastANeighbour) {
  std::vector<T3Map> maps(8, T3Map(8));
  maps[3].remote_map(5, RankId{5}, CopyOp::add);
  const Result<T3Plan> plan = plan_t3({.gemm = shape_}, maps, ring_);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "t3.map");
  EXPECT_THAT(plan.error().message, HasSubstr("chunk 5 (slot 5) of rank 3: it goes to rank 5"));
}

}  // namespace t3_request_test
}  // namespace cortado::plan
