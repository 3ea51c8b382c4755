// verify.bounds
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/testing/products.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace bounds_test {

using testing::commands_of;
using testing::errors_of;
using testing::point_to_point;

void expect_error(const Program& program, const std::string& fragment) {
  const auto errors = errors_of(program);
  ASSERT_FALSE(errors.empty()) << fragment;
  EXPECT_EQ(errors[0].code, "verify.bounds") << to_string(errors[0]);
  EXPECT_THAT(errors[0].message, ::testing::HasSubstr(fragment));
  EXPECT_FALSE(errors[0].hint.empty());
}

/// point_to_point() with its copy changed, buffers of 4096 bytes, and room for more.
template <class Change>
Program with_copy(Change&& change) {
  Program program = point_to_point();
  for (Buffer& buffer : program.buffers) buffer.size = {4096};
  change(std::get<Copy>(commands_of(program, "dma")[0]));
  return program;
}

/// point_to_point() with another command in place of its copy, on a compute queue if asked.
Program with_command(const Command& command, bool compute) {
  Program program = point_to_point();
  for (Buffer& buffer : program.buffers) buffer.size = {4096};
  program.buffers.push_back({"c", {0}, {4096}, BufferRole::scratch});
  commands_of(program, "dma")[0] = command;
  if (compute) {
    program.queues[1].kind = QueueKind::compute;
    program.queues[1].engine.reset();
  }
  return program;
}

TEST(VerifyBounds, RegionBeyondItsBuffer) {
  expect_error(with_copy([](Copy& copy) { copy.dst.offset = {4033}; }),
               "out[4033+64] ends at byte 4097 but buffer out has 4096 bytes");
}

TEST(VerifyBounds, HugeOffsetsDoNotWrapAround) {
  expect_error(with_copy([](Copy& copy) { copy.dst.offset = {~0ULL - 31}; }), "beyond 2^64");
  expect_error(with_copy([](Copy& copy) {
                 copy.src = {{0}, {0}, {64}, 5, {1ULL << 62U}};
                 copy.dst = {{1}, {0}, {64}, 5, {64}};
               }),
               "beyond 2^64");
  // 2^63 bytes in a buffer that claims to have them.
  Program program = with_copy([](Copy& copy) { copy.src.offset = {1ULL << 63U}; });
  program.buffers[0].size = {~0ULL};
  expect_error(program, "ends at byte");
}

TEST(VerifyBounds, EmptyRegions) {
  expect_error(with_copy([](Copy& copy) { copy.src.width = copy.dst.width = {0}; }), "is empty");
  expect_error(with_copy([](Copy& copy) { copy.src.rows = copy.dst.rows = 0; }), "is empty");
}

TEST(VerifyBounds, RowsThatOverlapThemselves) {
  expect_error(with_copy([](Copy& copy) { copy.dst = {{1}, {0}, {64}, 2, {63}}; }), "pitch 63 is less than width 64");
}

TEST(VerifyBounds, ShapesOfACopyDiffer) {
  expect_error(with_copy([](Copy& copy) { copy.dst.width = {32}; }), "different shapes");
  // As many bytes, but other rows.
  expect_error(with_copy([](Copy& copy) { copy.dst = {{1}, {0}, {32}, 2, {32}}; }), "different shapes");
}

TEST(VerifyBounds, SourceAndDestinationOverlap) {
  expect_error(with_copy([](Copy& copy) { copy.dst = make_region({0}, {63}, {64}); }), "overlap");
  const auto side_by_side = with_copy([](Copy& copy) {
    copy.src = {{0}, {0}, {32}, 8, {64}};
    copy.dst = {{0}, {32}, {32}, 8, {64}};
  });
  for (const Diagnostic& error : errors_of(side_by_side)) EXPECT_NE(error.code, "verify.bounds") << error.message;
}

TEST(VerifyBounds, AddNeedsWholeElements) {
  expect_error(with_copy([](Copy& copy) {
                 copy.op = CopyOp::add;
                 copy.dtype = DType::f32;
                 copy.src.offset = {2};
               }),
               "whole f32 elements");
}

TEST(VerifyBounds, BroadcastsAndSwapsArePlainRanges) {
  const Region strided{{0}, {0}, {32}, 2, {64}};
  expect_error(with_command(Swap{strided, {{1}, {0}, {32}, 2, {64}}}, false), "several rows");
  expect_error(with_command(Swap{make_region({0}, {0}, {64}), make_region({0}, {32}, {64})}, false), "overlap");
  expect_error(
      with_command(Broadcast{make_region({0}, {0}, {64}), make_region({1}, {0}, {64}), make_region({1}, {32}, {64})},
                   false),
      "overlap");
  expect_error(
      with_command(Broadcast{make_region({0}, {0}, {64}), make_region({1}, {0}, {64}), make_region({1}, {64}, {32})},
                   false),
      "different shapes");
}

Gemm small_gemm() {
  // 4 x 2 times 2 x 8 elements of f32.
  Gemm gemm{{{0}, {0}, {8}, 4, {8}}, {{1}, {0}, {32}, 2, {32}}, {{2}, {0}, {32}, 4, {32}}, 4, 8, 2};
  gemm.tile_m = 2;
  gemm.tile_n = 4;
  return gemm;
}

TEST(VerifyBounds, GemmShapes) {
  Gemm gemm = small_gemm();
  gemm.k = 3;
  expect_error(with_command(gemm, true), "A is in[0+8 x 4 rows, pitch 8] but must have 4 rows of 3 f32 elements");
  gemm = small_gemm();
  gemm.c.buffer = {0};
  expect_error(with_command(gemm, true), "overlap");
  gemm = small_gemm();
  gemm.tile_n = 0;
  expect_error(with_command(gemm, true), "empty matrix or tile");
  gemm = small_gemm();
  gemm.n = 1ULL << 63U;
  expect_error(with_command(gemm, true), "must have");
}

TEST(VerifyBounds, OutputMapsHaveEveryElementOnce) {
  // The 4 x 8 elements of C as a left and a right half.
  Gemm mapped = small_gemm();
  mapped.c = {};
  mapped.outputs = {{0, 0, 4, 4, {{2}, {0}, {16}, 4, {16}}}, {0, 4, 4, 4, {{2}, {64}, {16}, 4, {16}}}};
  mapped.raises = {{4, {0}, 1}};
  for (const Diagnostic& error : testing::errors_of(with_command(mapped, true))) {
    EXPECT_NE(error.code, "verify.bounds") << to_string(error);
  }
  const auto refused = [&](const auto& change, const char* fragment) {
    Gemm gemm = mapped;
    change(gemm);
    expect_error(with_command(gemm, true), fragment);
  };
  refused(
      [](Gemm& g) { g.outputs[1].column = 3; },
      "block 0 (rows 0 to 4, columns 0 to 4) and block 1 (rows 0 to 4, columns 3 to 7) both contain some element of C");
  refused([](Gemm& g) { g.outputs.pop_back(); }, "the output map has no block for row 0, column 4 of C");
  refused(
      [](Gemm& g) {
        g.outputs[1].rows = 3;
        g.outputs[1].to.rows = 3;
      },
      "the output map has no block for row 3, column 4 of C");
  refused([](Gemm& g) { g.outputs[1].column = 5; },
          "block 1 (rows 0 to 4, columns 5 to 9) is empty or leaves the 4 x 8");
  refused([](Gemm& g) { g.outputs[1].rows = 0; }, "is empty or leaves");
  refused([](Gemm& g) { g.outputs[1].row = ~0ULL; }, "is empty or leaves");
  refused(
      [](Gemm& g) { g.outputs[1].to.width = {12}; },
      "the place of block 1 (rows 0 to 4, columns 4 to 8) is c[64+12 x 4 rows, pitch 16] but must have 4 rows of 4");
  refused([](Gemm& g) { g.outputs[1].to.offset = {32}; }, "go to the same bytes");
  refused([](Gemm& g) { g.outputs[1].to = {{0}, {0}, {16}, 4, {16}}; }, "overlap");
  refused([](Gemm& g) { g.accumulate = true; }, "an output map that accumulates");
  refused([](Gemm& g) { g.c = g.outputs[0].to; }, "an output map and a region C");
  // Two tiles of 2 x 4 in each block.
  refused([](Gemm& g) { g.raises[0].tiles = 5; }, "raises a signal after 5 of 4 tiles");
}

TEST(VerifyBounds, TrackersWatchDifferentBytesInsideTheirBuffers) {
  Program program = testing::point_to_point();
  program.trackers = {{"first", make_region({1}, {0}, {40}), 1, {0}, 1},
                      {"second", make_region({1}, {40}, {25}), 1, {0}, 1}};
  expect_error(program, "out[40+25] ends at byte 65 but buffer out has 64 bytes");
  program.trackers[1].region = make_region({1}, {32}, {32});
  expect_error(program,
               "tracker first (out[0+40] of rank 1) and tracker second (out[32+32] of rank 1) watch the same bytes");
}

TEST(VerifyBounds, ProductsAreOfFloatingPoint) {
  Gemm gemm = small_gemm();
  gemm.dtype = DType::i32;
  expect_error(with_command(gemm, true), "a GEMM of i32 elements");
}

TEST(VerifyBounds, WorkgroupsThatShareTheSum) {
  Gemm gemm = small_gemm();  // k is 2
  gemm.split_k = 2;
  for (const Diagnostic& error : errors_of(with_command(gemm, true))) {
    EXPECT_NE(error.code, "verify.bounds") << error.message;
  }
  gemm.split_k = 3;
  expect_error(with_command(gemm, true), "3 workgroups share 2 steps of k");
  gemm.split_k = 0;
  expect_error(with_command(gemm, true), "0 workgroups");
}

TEST(VerifyBounds, ProductClausesFitTogether) {
  const auto changed = [](const std::function<void(ProductClause&)>& change) {
    // 4 x 8 times 8 x 3 f32.
    Program program = testing::whole_product();
    change(program.contract.products[0]);
    return program;
  };
  expect_error(changed([](ProductClause& c) { c.output.offset = {4}; }), "ends at byte 52");
  expect_error(changed([](ProductClause& c) { c.products[0].a[0].offset = {4}; }), "ends at byte 132");
  expect_error(changed([](ProductClause& c) { c.products[0].b.rows = 9; }), "ends at byte 108");
  expect_error(changed([](ProductClause& c) { c.products.clear(); }), "a product clause without products");
  expect_error(changed([](ProductClause& c) { c.products[0].a.clear(); }), "the blocks of A have 0 rows but c[0+12 x");
  expect_error(changed([](ProductClause& c) { c.products[0].a[0].rows = 3; }),
               "the blocks of A have 3 rows but c[0+12 x");
  expect_error(changed([](ProductClause& c) { c.products[0].b.rows = 7; }),
               "a block of A is a[0+32 x 4 rows, pitch 32] but must have 4 rows of 7 f32 elements");
  expect_error(changed([](ProductClause& c) { c.products[0].b.width = {8}; }), "must have 8 rows of 3 f32 elements");
  expect_error(changed([](ProductClause& c) { c.output.width = {10}; }), "does not consist of whole f32 elements");
  expect_error(changed([](ProductClause& c) { c.dtype = DType::u8; }), "a GEMM of u8 elements");
}

TEST(VerifyBounds, TileCountsOfAGemm) {
  Gemm gemm = small_gemm();  // 2 x 2 tiles
  gemm.raises = {{5, {0}, 1}};
  expect_error(with_command(gemm, true), "after 5 of 4 tiles");
  gemm.raises = {{3, {0}, 1}, {2, {0}, 1}};
  expect_error(with_command(gemm, true), "after 2 of 4 tiles, following one after 3");
}

TEST(VerifyBounds, KernelShapes) {
  const Region source{{0}, {0}, {16}, 8, {16}};
  const Region dst{{2}, {0}, {16}, 4, {16}};
  expect_error(with_command(Kernel{KernelOp::reduce, {}, dst, DType::f32, {}}, true), "reduce with 0 sources");
  expect_error(with_command(Kernel{KernelOp::reduce, {source}, dst, DType::f32, {}}, true), "different shapes");
  expect_error(with_command(Kernel{KernelOp::reduce, {dst}, dst, DType::u8, {0, 1, 2, 3}}, true), "row numbers");
  expect_error(with_command(Kernel{KernelOp::gather_rows, {source}, dst, DType::u8, {0, 1, 2}}, true),
               "3 row numbers for the 4 rows");
  expect_error(with_command(Kernel{KernelOp::gather_rows, {source}, dst, DType::u8, {0, 1, 2, 8}}, true), "row 8 of");
  expect_error(with_command(Kernel{KernelOp::scatter_rows, {dst}, source, DType::u8, {0, 1, 7, 1}}, true),
               "scatters two rows to row 1");
}

TEST(VerifyBounds, ReduceMayWriteOneOfItsSourcesButNotHalfOfIt) {
  const Region a = make_region({0}, {0}, {64});
  const Region c = make_region({2}, {0}, {64});
  const auto in_place = with_command(Kernel{KernelOp::reduce, {a, c}, c, DType::f32, {}}, true);
  for (const Diagnostic& error : errors_of(in_place)) EXPECT_NE(error.code, "verify.bounds") << error.message;
  expect_error(with_command(Kernel{KernelOp::reduce, {a, make_region({2}, {32}, {64})}, c, DType::f32, {}}, true),
               "overlap");
}

TEST(VerifyBounds, DestinationsOfASumAreOfOneShapeAndApart) {
  const Region a = make_region({0}, {0}, {32});
  const Region c = make_region({2}, {0}, {32});
  const Region beside = make_region({2}, {32}, {32});
  const auto sum = [&](std::vector<Region> also) {
    return with_command(Kernel{KernelOp::reduce, {a}, c, DType::f32, {}, std::move(also)}, true);
  };
  for (const Diagnostic& error : errors_of(sum({beside}))) EXPECT_NE(error.code, "verify.bounds") << error.message;
  expect_error(sum({make_region({2}, {16}, {32})}), "overlap");
  expect_error(sum({beside, beside}), "overlap");
  expect_error(sum({make_region({2}, {32}, {16})}), "different shapes");
}

TEST(VerifyBounds, ClausesFitTogether) {
  Program program = point_to_point();
  program.contract.clauses[0].terms[0].width = {32};
  expect_error(program, "has 64 bytes but its term in[0+32] has 32");
  program = point_to_point();
  program.contract.clauses[0].terms.clear();
  expect_error(program, "a clause without terms");
  program = point_to_point();
  program.contract.clauses[0].output.offset = {1};
  expect_error(program, "ends at byte 65");
}

}  // namespace bounds_test
}  // namespace cortado::verifier
