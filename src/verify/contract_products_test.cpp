// verify.contract of programs whose outputs are matrix products
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing/products.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace contract_products_test {

using testing::commands_of;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void expect_error(const Program& program, const std::string& fragment) {
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty()) << fragment;
  EXPECT_EQ(errors[0].code, "verify.contract") << to_string(errors[0]);
  EXPECT_THAT(errors[0].message, HasSubstr(fragment));
  EXPECT_THAT(errors[0].hint, HasSubstr("product 0 of contract"));
}

Gemm& gemm_of(Program& program, const std::string& queue, std::size_t command) {
  return std::get<Gemm>(commands_of(program, queue)[command]);
}

// Matrices of products.hpp: a is 4 x 8 (rows of 32 bytes), b is 8 x 3 (rows of 12 bytes), c is 4 x 3.

TEST(VerifyProducts, HoweverTheProductIsMade) {
  EXPECT_THAT(errors_of(testing::whole_product()), IsEmpty());
  EXPECT_THAT(errors_of(testing::product_in_row_pieces()), IsEmpty());
  EXPECT_THAT(errors_of(testing::product_in_k_panels()), IsEmpty());
  EXPECT_THAT(errors_of(testing::product_of_chosen_rows()), IsEmpty());
  EXPECT_THAT(errors_of(testing::product_of_gathered_blocks(4)), IsEmpty());
  EXPECT_THAT(errors_of(testing::sum_of_products(4)), IsEmpty());
  EXPECT_THAT(errors_of(testing::gemm_with_tile_signals()), IsEmpty());
}

TEST(VerifyProducts, EveryFloatingPointType) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8}) {
    // The same bytes as more elements: 4 x 8 f32 times 8 x 3 becomes 4 x (32 / size) times as many rows.
    Program program = testing::whole_product();
    const std::uint64_t size = size_of(dtype).value;
    program.buffers[1].size = Bytes{12} * (32 / size);
    Gemm& gemm = gemm_of(program, "stream", 0);
    gemm.dtype = dtype;
    gemm.k = gemm.b.rows = 32 / size;
    gemm.n = 12 / size;
    program.contract.products[0] = {gemm.c, {{{gemm.a}, gemm.b}}, dtype};
    EXPECT_THAT(errors_of(program), IsEmpty());
  }
}

TEST(VerifyProducts, OfOtherElementsAreOtherProducts) {
  // The first 8 f16 elements of each row of A, times the 8 rows of B read as 6 f16 elements.
  Program program = testing::whole_product();
  Gemm& gemm = gemm_of(program, "stream", 0);
  gemm.dtype = DType::f16;
  gemm.n = 6;
  gemm.k = 8;
  gemm.a.width = {16};
  expect_error(program,
               "output c[0, 12) of rank 0 should be a[0+32] * b[0+12 x 8 rows, pitch 12] but holds a[0+16] * "
               "b[0+12 x 8 rows, pitch 12]");
}

TEST(VerifyProducts, RowsOfAnotherPiece) {
  Program program = testing::product_in_row_pieces();
  gemm_of(program, "stream", 1).a.offset = {32};  // rows 1 and 2 instead of 2 and 3
  expect_error(program,
               "output c[24, 36) of rank 0 should be a[64+32] * b[0+12 x 8 rows, pitch 12] but holds a[32+32] "
               "* b[0+12 x 8 rows, pitch 12]; last written by gemm");
}

TEST(VerifyProducts, PieceThatIsMissing) {
  Program program = testing::product_in_row_pieces();
  commands_of(program, "stream").erase(commands_of(program, "stream").begin() + 1);
  expect_error(program,
               "output c[24, 36) of rank 0 should be a[64+32] * b[0+12 x 8 rows, pitch 12] but is never written");
}

TEST(VerifyProducts, PanelThatIsMissing) {
  Program program = testing::product_in_k_panels();
  commands_of(program, "stream").erase(commands_of(program, "stream").begin() + 1);
  expect_error(program,
               "should be a[0+32] * b[0+12 x 8 rows, pitch 12] but holds a[0+16] * b[0+12 x 4 rows, pitch 12]");
}

TEST(VerifyProducts, PanelThatIsAddedTwice) {
  Program program = testing::product_in_k_panels();
  auto& commands = commands_of(program, "stream");
  commands.insert(commands.begin() + 1, commands[1]);
  expect_error(program, "should be a[0+32] * b[0+12 x 8 rows, pitch 12] but holds");
  // The panel again, beside the whole.
  expect_error(program, "a[16+16] * b[48+12 x 4 rows, pitch 12]");
}

TEST(VerifyProducts, PanelWithOtherRowsOfB) {
  Program program = testing::product_in_k_panels();
  gemm_of(program, "stream", 1).b.offset = {36};  // rows 3 .. 7 instead of 4 .. 8
  expect_error(program, "but holds a[0+16] * b[0+12 x 4 rows, pitch 12] + a[16+16] * b[36+12 x 4 rows, pitch 12]");
}

TEST(VerifyProducts, PanelThatForgetsTheFirst) {
  Program program = testing::product_in_k_panels();
  gemm_of(program, "stream", 1).accumulate = false;
  expect_error(program, "but holds a[16+16] * b[48+12 x 4 rows, pitch 12]");
}

TEST(VerifyProducts, AccumulatingOntoNothing) {
  Program program = testing::whole_product();
  gemm_of(program, "stream", 0).accumulate = true;
  expect_error(program, "got bytes that were never written");
}

TEST(VerifyProducts, OperandOfTheIterationBefore) {
  // B is multiplied from scratch before this iteration's B gets there.
  Program program = testing::whole_product();
  program.buffers.push_back({"late", {0}, {96}, BufferRole::scratch});
  Gemm gemm = gemm_of(program, "stream", 0);
  const Region b = gemm.b;
  gemm.b.buffer = {3};
  auto& commands = commands_of(program, "stream");
  commands = {gemm, Copy{b, gemm.b}, commands[1]};
  expect_error(program,
               "should be the product a[0+32] * b[0+12 x 8 rows, pitch 12] of this iteration but holds one with bytes "
               "of the previous iteration");
  std::swap(commands[0], commands[1]);
  EXPECT_THAT(errors_of(program), IsEmpty());
}

TEST(VerifyProducts, BOfAnotherRank) {
  Program program = testing::product_of_gathered_blocks(2);
  Gemm& gemm = gemm_of(program, "stream0", 1);
  gemm.b.buffer = gemm_of(program, "stream1", 1).b.buffer;
  expect_error(program,
               "output c0[0, 12) of rank 0 should be a0[0+16] * b0[0+12 x 4 rows, pitch 12] but holds a0[0+16] "
               "* b1[0+12 x 4 rows, pitch 12]");
}

TEST(VerifyProducts, BlocksGatheredInTheWrongPlaces) {
  Program program = testing::product_of_gathered_blocks(2);
  std::swap(std::get<Copy>(commands_of(program, "dma0.1")[0]).dst,
            std::get<Copy>(commands_of(program, "dma1.1")[0]).dst);
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty());
  EXPECT_THAT(errors[0].message, HasSubstr("output c1[0, 12) of rank 1 should be a0[0+16] * b1"));
  EXPECT_THAT(errors[0].message, HasSubstr("but holds a1[0+16] * b1"));
  EXPECT_THAT(errors[0].hint, HasSubstr("product 1 of contract"));
}

TEST(VerifyProducts, OperandThatIsNotComplete) {
  // Only rows 0 .. 4 of B are copied to where the Gemm reads all 8.
  Program program = testing::whole_product();
  program.buffers.push_back({"half", {0}, {96}, BufferRole::scratch});
  auto& commands = commands_of(program, "stream");
  Gemm gemm = std::get<Gemm>(commands[0]);
  const Region b = gemm.b;
  gemm.b.buffer = {3};
  commands = {Copy{make_region(b.buffer, {0}, {48}), make_region({3}, {0}, {48})}, gemm, commands[1]};
  expect_error(program, "should be a[0+32] * b[0+12 x 8 rows, pitch 12] but got bytes that were never written");
}

TEST(VerifyProducts, ColumnsOfKFromSeveralRanks) {
  // A is gathered by columns: its k panels come from two inputs; C must be the sum of two GEMMs.
  ProgramBuilder builder("test", "test", 2);
  const BufferId a0 = builder.buffer("a0", {0}, {32}, BufferRole::input);
  const BufferId a1 = builder.buffer("a1", {1}, {32}, BufferRole::input);
  const BufferId b = builder.buffer("b", {0}, {32}, BufferRole::input);
  const BufferId all = builder.buffer("all", {0}, {64}, BufferRole::scratch);
  const BufferId c = builder.buffer("c", {0}, {32}, BufferRole::output);
  const auto panel = [](BufferId id) { return Region{id, {0}, {8}, 4, {8}}; };  // 4 x 2
  const auto rows_of_b = [&](std::uint64_t row) { return Region{b, {row * 8}, {8}, 2, {8}}; };
  builder.contract(
      {"columns", {}, {{panel(c), {{{panel(a0)}, rows_of_b(0)}, {{panel(a1)}, rows_of_b(2)}}, DType::f32}}});
  const SignalId done = builder.signal("done");
  const SignalId there = builder.signal("there");
  const QueueId dma0 = builder.dma_queue("dma0", {0}, {2});
  const QueueId dma1 = builder.dma_queue("dma1", {1}, {2});
  builder.add(dma0, Copy{panel(a0), {all, {0}, {8}, 4, {16}}}).add(dma0, Signal{there});
  builder.add(dma1, Copy{panel(a1), {all, {8}, {8}, 4, {16}}}).add(dma1, Signal{there});
  const QueueId stream = builder.compute_queue("stream", {0});
  builder.add(stream, Wait{there, 2});
  builder.add(stream, Gemm{{all, {0}, {16}, 4, {16}}, {b, {0}, {8}, 4, {8}}, panel(c), 4, 2, 4});
  builder.add(stream, Signal{done});
  const QueueId host = builder.host_queue("host");
  for (const QueueId queue : {dma0, dma1, stream}) builder.add(host, Submit{queue});
  builder.add(host, Wait{done});
  Program program = std::move(builder).finish();
  EXPECT_THAT(errors_of(program), IsEmpty());
  std::get<Copy>(commands_of(program, "dma1")[0]).src.offset = {0};
  std::swap(program.contract.products[0].products[0].b, program.contract.products[0].products[1].b);
  expect_error(program, "lacks the contribution of rank 0 (a0[0+8] * b[16+8 x 2 rows, pitch 8])");
}

TEST(VerifyProducts, ContributionThatIsMissingOrCountedTwice) {
  Program program = testing::sum_of_products(3);
  auto& sources = std::get<Kernel>(commands_of(program, "sum0")[1]).sources;
  const Region last = sources.back();
  sources.pop_back();
  expect_error(program,
               "output c0[0, 12) of rank 0 lacks the contribution of rank 2 (a2[0+8] * b2[0+12 x 2 rows, pitch "
               "12]); it holds");
  sources = {sources[0], sources[1], last, last};
  expect_error(program,
               "counts the contribution of rank 2 (a2[0+8] * b2[0+12 x 2 rows, pitch 12]) 2 times instead of 1");
}

TEST(VerifyProducts, PartialSumsAddedAsOtherElements) {
  Program program = testing::sum_of_products(2);
  std::get<Kernel>(commands_of(program, "sum0")[1]).dtype = DType::f16;
  expect_error(program, "is a sum of the right terms but of other elements");
  // Panels of one GEMM do not join to the whole when they are added as other elements.
  program = testing::product_in_k_panels();
  program.buffers.push_back({"half", {0}, {48}, BufferRole::scratch});
  auto& commands = commands_of(program, "stream");
  Gemm second = std::get<Gemm>(commands[1]);
  const Region c = second.c;
  second.accumulate = false;
  second.c.buffer = {3};
  commands = {commands[0], second, Kernel{KernelOp::reduce, {c, second.c}, c, DType::f32, {}}, commands[2]};
  EXPECT_THAT(errors_of(program), IsEmpty());
  std::get<Kernel>(commands[2]).dtype = DType::f16;
  expect_error(program, "should be");
}

TEST(VerifyProducts, ProductsOfProductsAreNotTakenForProducts) {
  Program program = testing::gemm_with_tile_signals();
  // C = A * (A * B) is not A * B.
  auto& commands = commands_of(program, "stream");
  program.buffers.push_back({"twice", {0}, {64}, BufferRole::scratch});
  Gemm again = std::get<Gemm>(commands[0]);
  std::get<Gemm>(commands[0]).raises.clear();
  again.b = again.c;
  again.c.buffer = {5};
  commands.push_back(again);
  for (const std::size_t copy : {2U, 4U}) std::get<Copy>(commands_of(program, "dma")[copy]).src.buffer = {5};
  expect_error(program, "but holds a[0+16] * a computed matrix");
}

}  // namespace contract_products_test
}  // namespace cortado::verifier
