// verify.contract
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace contract_test {

using testing::commands_of;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::point_to_point;
using ::testing::SizeIs;

void expect_error(const Program& program, const std::string& fragment) {
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty()) << fragment;
  EXPECT_EQ(errors[0].code, "verify.contract") << to_string(errors[0]);
  EXPECT_THAT(errors[0].message, HasSubstr(fragment));
  EXPECT_FALSE(errors[0].hint.empty());
}

TEST(VerifyContract, OutputThatNobodyWrites) {
  Program program = point_to_point();
  auto& copy = std::get<Copy>(commands_of(program, "dma")[0]);
  copy.src.width = copy.dst.width = {48};
  expect_error(program, "output out[48, 64) of rank 1 should be in[48, 64) but is never written");
}

TEST(VerifyContract, WrongSourceIsNamedWithItsWriter) {
  Program program = testing::all_gather(2);
  std::get<Copy>(commands_of(program, "dma1.0")[0]).src.buffer =
      std::get<Copy>(commands_of(program, "dma0.0")[0]).src.buffer;
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "verify.contract");
  EXPECT_THAT(errors[0].message, HasSubstr("output out0[64, 128) of rank 0 should be in1[0, 64) but holds in0[0, 64)"));
  EXPECT_EQ(errors[0].place.queue, "dma1.0");
  EXPECT_EQ(errors[0].place.command, 0U);
}

TEST(VerifyContract, ShiftedSource) {
  Program program = testing::all_to_all(2);
  std::get<Copy>(commands_of(program, "dma0.0")[0]).src.offset = {4};
  expect_error(program, "should be in0[0, 64) but holds in0[4, 68)");
}

TEST(VerifyContract, DataOfTheIterationBefore) {
  // The output is copied from scratch before this iteration's input gets there: always one iteration behind.
  Program program = point_to_point();
  program.buffers.push_back({"scratch", {0}, {64}, BufferRole::scratch});
  const Region in = make_region({0}, {0}, {64});
  const Region out = make_region({1}, {0}, {64});
  const Region scratch = make_region({2}, {0}, {64});
  commands_of(program, "dma") = {Copy{scratch, out}, Timestamp{"t"}, Copy{in, scratch}, Signal{{0}}};
  expect_error(program, "should be the bytes in[0, 64) of this iteration but holds those of the previous iteration");
  commands_of(program, "dma") = {Copy{in, scratch}, Timestamp{"t"}, Copy{scratch, out}, Signal{{0}}};
  EXPECT_THAT(errors_of(program), IsEmpty());
}

TEST(VerifyContract, BytesThatComeFromNowhere) {
  Program program = point_to_point();
  program.buffers.push_back({"scratch", {0}, {64}, BufferRole::scratch});
  commands_of(program, "dma")[0] = Copy{make_region({2}, {0}, {64}), make_region({1}, {0}, {64})};
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0].message, HasSubstr("should be in[0, 64) but got bytes that were never written; last written by "
                                           "copy scratch[0+64] -> out[0+64]"));
  EXPECT_EQ(errors[0].place.queue, "dma");
}

TEST(VerifyContract, ContributionThatIsMissing) {
  Program program = testing::reduce_scatter(3);
  auto& kernel = std::get<Kernel>(commands_of(program, "stream1")[1]);
  kernel.sources.erase(kernel.sources.begin() + 2);
  expect_error(program,
               "output out1[0, 64) of rank 1 lacks the contribution of rank 2 (in2[64, 128)); it holds in0[64, "
               "128) + in1[64, 128)");
}

TEST(VerifyContract, ContributionThatIsCountedTwice) {
  Program program = testing::reduce_scatter(3);
  auto& kernel = std::get<Kernel>(commands_of(program, "stream0")[1]);
  kernel.sources.push_back(kernel.sources[2]);
  expect_error(program, "counts the contribution of rank 2 (in2[0, 64)) 2 times instead of 1");
}

TEST(VerifyContract, SumsOfOtherElementTypes) {
  Program program = testing::reduce_scatter(2);
  std::get<Kernel>(commands_of(program, "stream0")[1]).dtype = DType::f16;
  expect_error(program, "is a sum of the right terms but of other elements");
}

TEST(VerifyContract, AddingCopiesSumUp) {
  // out = in0 + in1: a copy and an adding copy behind it, both on one queue with a Timestamp between.
  ProgramBuilder builder("test", "test", 2);
  const BufferId in0 = builder.buffer("in0", {0}, {64}, BufferRole::input);
  const BufferId in1 = builder.buffer("in1", {1}, {64}, BufferRole::input);
  const BufferId out = builder.buffer("out", {1}, {64}, BufferRole::output);
  const auto whole = [](BufferId id) { return make_region(id, {0}, {64}); };
  builder.contract({"sum", {{whole(out), {whole(in0), whole(in1)}, DType::f32}}});
  const SignalId done = builder.signal("done");
  const QueueId dma = builder.dma_queue("dma", {0}, {3});
  builder.add(dma, Copy{whole(in1), whole(out)}).add(dma, Timestamp{"t"});
  builder.add(dma, Copy{whole(in0), whole(out), CopyOp::add, DType::f32}).add(dma, Signal{done});
  const QueueId host = builder.host_queue("host");
  builder.add(host, Submit{dma}).add(host, Wait{done});
  Program program = std::move(builder).finish();
  EXPECT_THAT(errors_of(program), IsEmpty());
  std::get<Copy>(commands_of(program, "dma")[2]).src = whole(in1);
  expect_error(program, "lacks the contribution of rank 0");
}

TEST(VerifyContract, AccumulatingAcrossIterationsIsWrong) {
  // The output is never cleared: right in the first iteration only if it held zeros, which nobody wrote.
  Program program = point_to_point();
  auto& copy = std::get<Copy>(commands_of(program, "dma")[0]);
  copy.op = CopyOp::add;
  expect_error(program, "got bytes that were never written");
}

TEST(VerifyContract, InPlaceExchangeIsFollowed) {
  EXPECT_THAT(errors_of(testing::swap_in_place()), IsEmpty());
  Program program = testing::swap_in_place();
  std::get<Swap>(commands_of(program, "dma")[0]).a.offset = {0};
  expect_error(program, "buffer0[0, 64) of rank 0 should be buffer0[0, 64) but holds buffer1[0, 64)");
}

TEST(VerifyContract, GemmResultsEqualNoInput) {
  Program program = testing::gemm_with_tile_signals();
  program.contract.clauses[0].output = make_region({3}, {0}, {64});  // `remote`, which gets the result
  program.buffers[4].role = BufferRole::scratch;                     // `copy`
  expect_error(program, "should be a[0, 16) but holds a[0+16] * b[0+16 x 4 rows, pitch 16]");
}

TEST(VerifyContract, ClausesWithOtherRowsThanTheirTerms) {
  // A packed 64-byte input becomes the 16-byte wide first column panel of the output.
  ProgramBuilder builder("test", "test", 1);
  const BufferId in = builder.buffer("in", {0}, {64}, BufferRole::input);
  const BufferId out = builder.buffer("out", {0}, {256}, BufferRole::inout);
  const Region panel{out, {0}, {16}, 4, {64}};
  builder.contract({"unpack", {{panel, {make_region(in, {0}, {64})}, DType::u8}}});
  const SignalId done = builder.signal("done");
  const QueueId dma = builder.dma_queue("dma", {0}, {2});
  builder.add(dma, Copy{{in, {0}, {16}, 4, {16}}, panel}).add(dma, Signal{done});
  const QueueId host = builder.host_queue("host");
  builder.add(host, Submit{dma}).add(host, Wait{done});
  Program program = std::move(builder).finish();
  EXPECT_THAT(errors_of(program), IsEmpty());
  std::get<Copy>(commands_of(program, "dma")[0]).src.offset = {0};
  std::get<Copy>(commands_of(program, "dma")[0]).src.pitch = {0};
  EXPECT_FALSE(errors_of(program).empty());
}

TEST(VerifyContract, EveryByteOfAnOutputIsCovered) {
  Program program = point_to_point();
  auto& copy = std::get<Copy>(commands_of(program, "dma")[0]);
  copy.src.width = copy.dst.width = {48};
  program.contract = point_to_point_contract(copy.src, copy.dst);
  expect_error(program, "48 of 64 bytes of output buffer out of rank 1 are covered by the contract");
  // Twice the same bytes are covered once; together the clauses cover all.
  copy.src.width = copy.dst.width = {64};
  program.contract.clauses.push_back({make_region({1}, {32}, {16}), {make_region({0}, {32}, {16})}});
  expect_error(program, "48 of 64 bytes of output buffer out of rank 1 are covered by the contract");
  program.contract.clauses.push_back({make_region({1}, {32}, {32}), {make_region({0}, {32}, {32})}});
  EXPECT_THAT(errors_of(program), IsEmpty());
  program.contract.clauses.clear();
  expect_error(program, "0 of 64 bytes of output buffer out of rank 1 are covered by the contract");
}

TEST(VerifyContract, SomeBytesOfAnInoutBufferAreCovered) {
  Program program = testing::swap_in_place();
  std::erase_if(program.contract.clauses, [](const Clause& clause) { return clause.output.offset.value == 0; });
  EXPECT_THAT(errors_of(program), IsEmpty());
  std::erase_if(program.contract.clauses, [](const Clause& clause) { return clause.output.buffer == BufferId{1}; });
  const auto errors = errors_of(program);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "verify.contract");
  EXPECT_EQ(errors[0].place.rank, RankId{1});
  EXPECT_THAT(errors[0].message, HasSubstr("0 of 128 bytes of inout buffer buffer1 of rank 1 are covered"));
}

TEST(VerifyContract, AProgramHasAnOutput) {
  Program program = point_to_point();
  program.contract.clauses.clear();
  program.buffers[1].role = BufferRole::scratch;
  expect_error(program, "the program has no output");
  program.buffers[1] = {"out", {1}, {0}, BufferRole::output};
  commands_of(program, "dma").erase(commands_of(program, "dma").begin());
  expect_error(program, "the program has no output");
}

TEST(VerifyContract, CallersUseWhatItNames) {
  Program program = point_to_point();
  program.buffers[0].role = BufferRole::output;
  program.contract.clauses.push_back({make_region({0}, {0}, {64}), {make_region({0}, {0}, {64})}});
  EXPECT_THAT(errors_of(program).front().message, HasSubstr("an input of the contract is in output buffer in"));
  program.buffers[0].role = BufferRole::inout;
  EXPECT_THAT(errors_of(program), IsEmpty());
  program.buffers[0].role = BufferRole::input;
  EXPECT_THAT(errors_of(program).front().message, HasSubstr("an output of the contract is in input buffer in"));
}

TEST(VerifyContract, CoverageCountsColumnsOfMatricesOnce) {
  // 4 rows of 16 of every 64 bytes, and two rows of the next 8: 4 * 16 + 2 * 8.
  Program program = point_to_point(256);
  program.buffers[1].role = BufferRole::inout;
  const auto columns = [](BufferId buffer, std::uint64_t offset, std::uint64_t width, std::uint64_t rows) {
    return Region{buffer, {offset}, {width}, rows, {64}};
  };
  program.contract.clauses = {{columns({1}, 0, 16, 4), {columns({0}, 0, 16, 4)}},
                              {columns({1}, 8, 16, 2), {columns({0}, 8, 16, 2)}}};
  const auto verified = verify(program, testing::test_machine(2));
  ASSERT_TRUE(verified) << to_string(verified.error().front());
  const auto coverage = output_coverage(*verified);
  ASSERT_TRUE(coverage);
  EXPECT_EQ(coverage->covered, Bytes{80});
  EXPECT_EQ(coverage->whole, Bytes{256});
  const auto unproved = check_program(program, testing::test_machine(2), {.skip_rules = {"verify.contract"}});
  ASSERT_TRUE(unproved);
  EXPECT_FALSE(output_coverage(*unproved));
}

}  // namespace contract_test
}  // namespace cortado::verifier
