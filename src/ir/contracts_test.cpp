#include <gtest/gtest.h>

#include "cortado/program.hpp"

namespace cortado {
namespace contracts_test {

Region whole(std::uint32_t buffer, std::uint64_t bytes) {
  return make_region({buffer}, {}, {bytes});
}

// Buffers 0..2 are inputs of 3, 2 and 0 bytes (uneven), 10 and 11 are outputs of 5 bytes.
TEST(AllGatherContract, PlacesUnevenBlocksOneAfterAnother) {
  const Contract contract = all_gather_contract({whole(0, 3), whole(1, 2), whole(2, 0)}, {whole(10, 5), whole(11, 5)});
  ASSERT_EQ(contract.clauses.size(), 4u);  // 2 outputs x 2 blocks that are not empty
  EXPECT_EQ(contract.clauses[1].output, make_region({10}, {3}, {2}));
  EXPECT_EQ(contract.clauses[1].terms, std::vector{whole(1, 2)});
}

TEST(AllToAllContract, TransposesBlocks) {
  const auto block = [](std::uint32_t rank, std::uint64_t i) { return make_region({rank}, {i * 8}, {8}); };
  const auto of = [&](std::uint32_t base, std::uint32_t rank) {
    return std::vector{block(base + rank, 0), block(base + rank, 1)};
  };
  const Contract contract = all_to_all_contract({of(0, 0), of(0, 1)}, {of(10, 0), of(10, 1)});
  ASSERT_EQ(contract.clauses.size(), 4u);
  EXPECT_EQ(contract.clauses[1].output, block(10, 1));             // rank 0 receives, from rank 1,
  EXPECT_EQ(contract.clauses[1].terms, std::vector{block(1, 0)});  // the block that rank 1 holds for rank 0
}

TEST(ReduceScatterContract, SumsBlockROfEveryRank) {
  const auto block = [](std::uint32_t rank, std::uint64_t i) { return make_region({rank}, {i * 4}, {4}); };
  const Contract contract = reduce_scatter_contract({{block(0, 0), block(0, 1)}, {block(1, 0), block(1, 1)}},
                                                    {whole(10, 4), whole(11, 4)}, DType::f32);
  ASSERT_EQ(contract.clauses.size(), 2u);
  EXPECT_EQ(contract.clauses[1].output, whole(11, 4));
  EXPECT_EQ(contract.clauses[1].terms, (std::vector{block(0, 1), block(1, 1)}));
  EXPECT_EQ(contract.clauses[1].dtype, DType::f32);
}

TEST(ProductClause, HasTheOperandsOfTheGemm) {
  const Gemm gemm{whole(0, 8), whole(1, 8), whole(2, 4), 1, 1, 2, DType::f32};
  const ProductClause clause = product_clause(gemm);
  EXPECT_EQ(clause.output, whole(2, 4));
  EXPECT_EQ(clause.products, (std::vector<Product>{{{whole(0, 8)}, whole(1, 8)}}));
  EXPECT_EQ(clause.dtype, DType::f32);
}

TEST(OtherContracts, HaveOneClauseAnOutput) {
  EXPECT_EQ(all_reduce_contract({whole(0, 4), whole(1, 4)}, {whole(2, 4), whole(3, 4)}, DType::i32).clauses.size(), 2u);
  EXPECT_EQ(broadcast_contract(whole(0, 4), {whole(1, 4), whole(2, 4)}).clauses.size(), 2u);
  EXPECT_EQ(gather_contract({whole(0, 4), whole(1, 4)}, whole(2, 8)).clauses[1].output, make_region({2}, {4}, {4}));
  EXPECT_EQ(scatter_contract({whole(0, 4), whole(0, 4)}, {whole(1, 4), whole(2, 4)}).clauses.size(), 2u);
  EXPECT_EQ(point_to_point_contract(whole(0, 4), whole(1, 4)).clauses.size(), 1u);
}

}  // namespace contracts_test
}  // namespace cortado
