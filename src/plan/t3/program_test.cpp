// The programs of small maps, command by command, compared with what was worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ir/tiles.hpp"
#include "plan/t3/testing.hpp"

namespace cortado::plan {
namespace t3_program_test {

using testing::ElementsAre;

/// "out1[48+24]"
std::string bytes_of(const Program& program, const Region& region) {
  return fmt::format("{}[{}+{}]", program.buffer(region.buffer).name, region.offset.value, region.bytes().value);
}

const Queue& queue_named(const Program& program, const std::string& name) {
  for (const Queue& queue : program.queues) {
    if (queue.name == name) return queue;
  }
  ADD_FAILURE() << "no queue " << name;
  return program.queues.front();
}

const Gemm& product_of(const Program& program, std::uint32_t rank) {
  return std::get<Gemm>(queue_named(program, fmt::format("compute{}", rank)).commands.at(0));
}

/// "rows 6+3 columns 0+6 += out1[0+72]" for every block that a rank makes.
std::vector<std::string> blocks(const Program& program, std::uint32_t rank) {
  std::vector<std::string> found;
  for (const OutputBlock& block : product_of(program, rank).outputs) {
    found.push_back(fmt::format("rows {}+{} columns {}+{} {} {}", block.row, block.rows, block.column, block.columns,
                                block.op == CopyOp::add ? "+=" : "=", bytes_of(program, block.to)));
  }
  return found;
}

/// "chunk1.piece0.rank0 chunks0[0+48] x2" for every tracker of a rank.
std::vector<std::string> trackers(const Program& program, std::uint32_t rank) {
  std::vector<std::string> found;
  for (const Tracker& tracker : program.trackers) {
    if (rank_of(program, tracker.region) != rank) continue;
    found.push_back(fmt::format("{} {} x{}", tracker.name, bytes_of(program, tracker.region), tracker.updates));
  }
  return found;
}

/// "wait chunk1.piece0.rank0.complete" and "copy chunks0[0+48] += out1[0+48]" on the engines of a rank.
std::vector<std::string> engines(const Program& program, std::uint32_t rank) {
  std::vector<std::string> found;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::dma || queue.rank != RankId{rank}) continue;
    for (const Command& command : queue.commands) {
      if (const auto* wait = std::get_if<Wait>(&command)) {
        found.push_back("wait " + program.signals.at(wait->signal.value).name);
      }
      if (const auto* copy = std::get_if<Copy>(&command)) {
        found.push_back(fmt::format("copy {} {} {}", bytes_of(program, copy->src), copy->op == CopyOp::add ? "+=" : "=",
                                    bytes_of(program, copy->dst)));
      }
    }
  }
  return found;
}

class T3Program : public testing::Test {
 protected:
  const Machine machine_ = machine_for_test("mi300x-8+t3");
};

// 12 x 6 of 4 bytes on 4 ranks: chunk c is rows 3c to 3c+2, 72 bytes. Rank 1 makes chunk 0 for rank 2, then 3 and 2 to
// be passed on, then its own. Rank 1 never holds chunk 0: chunks1 has chunks 2 and 3. Tiles of 2 rows: a chunk has two
// rows of tiles, of 2 and of 1 rows.
TEST_F(T3Program, RingReduceScatter) {
  const T3Plan plan = t3_for_test(
      {.gemm = {12, 6, 5, DType::f32}, .algorithm = "ring", .ranks = 4, .tiling = Tiling{2, 4, 1}, .pieces = 2},
      machine_);
  const Program& program = plan.program;
  EXPECT_EQ(plan.chunks, 4U);
  EXPECT_EQ(plan.pieces, 2U);
  EXPECT_EQ(plan.axis, T3Axis::rows);
  EXPECT_EQ(plan.footprint, Bytes{12 * 5 * 4 + 5 * 6 * 4 + 3 * 72});  // A, B, two chunks to pass on, and the own one
  EXPECT_THAT(blocks(program, 1),
              ElementsAre("rows 0+3 columns 0+6 += chunks2[0+72]",   // slots 0 and 3 of rank 2 are passed on
                          "rows 9+3 columns 0+6 += chunks1[72+72]",  // slots 2 and 3 of rank 1
                          "rows 6+3 columns 0+6 += chunks1[0+72]", "rows 3+3 columns 0+6 += out1[0+72]"));
  EXPECT_EQ(tile_count(product_of(program, 1)), 4 * 2 * 2U);
  EXPECT_THAT(trackers(program, 1),
              ElementsAre("chunk3.piece0.rank1 chunks1[72+48] x2", "chunk3.piece1.rank1 chunks1[120+24] x2",
                          "chunk2.piece0.rank1 chunks1[0+48] x2", "chunk2.piece1.rank1 chunks1[48+24] x2",
                          "chunk1.piece0.rank1 out1[0+48] x2", "chunk1.piece1.rank1 out1[48+24] x2"));
  EXPECT_THAT(engines(program, 1),
              ElementsAre("wait chunk3.piece0.rank1.complete", "copy chunks1[72+48] += chunks2[72+48]",
                          "wait chunk3.piece1.rank1.complete", "copy chunks1[120+24] += chunks2[120+24]",
                          "wait chunk2.piece0.rank1.complete", "copy chunks1[0+48] += out2[0+48]",
                          "wait chunk2.piece1.rank1.complete", "copy chunks1[48+24] += out2[48+24]"));
  EXPECT_EQ(plan.program.contract.products.size(), 4U);
  EXPECT_EQ(plan.program.contract.products[1].products.size(), 4U);
}

// Engines are submitted before the barrier, the GEMM after it; the host waits for both pieces of its chunk.
TEST_F(T3Program, HostOfARing) {
  const T3Plan plan = t3_for_test(
      {.gemm = {12, 6, 5, DType::f32}, .algorithm = "ring", .ranks = 3, .tiling = Tiling{2, 4, 1}, .pieces = 2},
      machine_);
  const Program& program = plan.program;
  std::vector<std::string> story;
  for (const Command& command : queue_named(program, "host1").commands) {
    if (const auto* submit = std::get_if<Submit>(&command)) {
      story.push_back(program.queue(submit->queue).kind == QueueKind::dma ? "submit engine" : "submit product");
    } else if (const auto* wait = std::get_if<Wait>(&command)) {
      story.push_back(fmt::format("wait {} >= {}", program.signals.at(wait->signal.value).name, wait->value));
    } else if (const auto* signal = std::get_if<Signal>(&command)) {
      story.push_back("signal " + program.signals.at(signal->signal.value).name);
    } else if (const auto* time = std::get_if<Timestamp>(&command)) {
      story.push_back(time->label);
    }
  }
  const std::string engine_done =
      fmt::format("wait dma1.{}.done0 >= 1", machine_.present_engines(EngineClass::peer).front().value);
  EXPECT_THAT(story, ElementsAre("submit engine", "signal enter1", "wait enter.go >= 1", "begin", "submit product",
                                 "wait chunk1.rank1.complete >= 2", "wait compute1.done0 >= 1", engine_done, "end"));
}

// Three workgroups share a tile: what a rank stores counts 3. The second chunk meets the stores of the neighbour's
// first, 3 + 3; later ones meet a DMA command, 3 + 1.
TEST_F(T3Program, SplitsOfKAreCounted) {
  const T3Plan plan = t3_for_test(
      {.gemm = {8, 4, 6, DType::f32}, .algorithm = "ring", .ranks = 4, .tiling = Tiling{2, 4, 1}, .split_k = 3},
      machine_);
  EXPECT_EQ(plan.tiling.split_k, 3U);
  EXPECT_EQ(product_of(plan.program, 0).split_k, 3U);
  EXPECT_THAT(trackers(plan.program, 0),
              ElementsAre("chunk2.piece0.rank0 chunks0[32+32] x6", "chunk1.piece0.rank0 chunks0[0+32] x4",
                          "chunk0.piece0.rank0 out0[0+32] x4"));
  const T3Plan two = t3_for_test(
      {.gemm = {8, 4, 6, DType::f32}, .algorithm = "ring", .ranks = 2, .tiling = Tiling{2, 4, 1}, .split_k = 3},
      machine_);
  EXPECT_THAT(trackers(two.program, 0), ElementsAre("chunk0.piece0.rank0 out0[0+64] x6"));
  EXPECT_TRUE(engines(two.program, 0).empty());
}

// 4 x 10 of 2 bytes, columns on 3 ranks: 4, 3 and 3 of them. Stores go straight to their ranks, next one first; nothing
// is left for engines. Two pieces of 2 rows each are made in turns.
TEST_F(T3Program, DirectReduceScatterOfColumns) {
  const T3Plan plan = t3_for_test({.gemm = {4, 10, 7}, .ranks = 3, .tiling = Tiling{2, 2, 2}, .pieces = 2}, machine_);
  EXPECT_EQ(plan.algorithm, "direct");
  EXPECT_EQ(plan.axis, T3Axis::columns);
  EXPECT_THAT(blocks(plan.program, 1),
              ElementsAre("rows 0+2 columns 7+3 += out2[0+12]", "rows 0+2 columns 0+4 += out0[0+16]",
                          "rows 0+2 columns 4+3 += out1[0+12]", "rows 2+2 columns 7+3 += out2[12+12]",
                          "rows 2+2 columns 0+4 += out0[16+16]", "rows 2+2 columns 4+3 += out1[12+12]"));
  EXPECT_THAT(trackers(plan.program, 1),
              ElementsAre("chunk1.piece0.rank1 out1[0+12] x6", "chunk1.piece1.rank1 out1[12+12] x6"));
  EXPECT_TRUE(engines(plan.program, 1).empty());
  const ProductClause& clause = plan.program.contract.products.at(1);
  EXPECT_EQ(clause.output.width, Bytes{6});
  EXPECT_EQ(clause.products.at(2).b.offset, Bytes{8});
  EXPECT_EQ(clause.products.at(2).b.width, Bytes{6});
  EXPECT_EQ(clause.products.at(2).b.pitch, Bytes{20});
}

// 6 x 2 of 4 bytes on 3 ranks, chunks of 2 rows, one piece each: rank 1 stores those of ranks 2 and 0 at home, and
// engines add each to the sum; its own sum has had its own stores and two copies.
TEST_F(T3Program, ReduceScatterByEngines) {
  const T3Plan plan = t3_for_test(
      {.gemm = {6, 2, 3, DType::f32}, .algorithm = "engines", .ranks = 3, .tiling = Tiling{2, 2, 1}}, machine_);
  EXPECT_THAT(blocks(plan.program, 1),
              ElementsAre("rows 4+2 columns 0+2 = chunks1[16+16]", "rows 0+2 columns 0+2 = chunks1[0+16]",
                          "rows 2+2 columns 0+2 += out1[0+16]"));
  EXPECT_THAT(trackers(plan.program, 1),
              ElementsAre("chunk2.piece0.rank1 chunks1[16+16] x1", "chunk0.piece0.rank1 chunks1[0+16] x1",
                          "chunk1.piece0.rank1 out1[0+16] x3"));
  EXPECT_THAT(engines(plan.program, 1),
              testing::UnorderedElementsAre("wait chunk2.piece0.rank1.complete", "copy chunks1[16+16] += out2[0+16]",
                                            "wait chunk0.piece0.rank1.complete", "copy chunks1[0+16] += out0[0+16]"));
}

// A chunk of a ring is stored on the neighbour before that rank computes its own part: 4 MiB are 64 entries of 64 KiB.
TEST_F(T3Program, AChunkThatCannotBeWatchedAsAWholeIsRefused) {
  Machine ring = machine_for_test("t3-ring-8");
  const T3Request request{.gemm = {8192, 2048, 64, DType::f16}};
  ring.features.tracker->entries = 64;
  EXPECT_TRUE(plan_t3(request, ring));
  ring.features.tracker->entries = 63;
  const auto refused = plan_t3(request, ring);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "t3.entries");
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("chunk 7 of rank 0, 4MiB, needs 64 tracker entries on rank 1"));
}

// 4 x 2 of 4 bytes, two pieces of 16. Rank 1 passes on its own pieces and those of rank 0, each one after an own piece
// that is computed later; it keeps what rank 2 computed, which rank 0 brings.
TEST_F(T3Program, RingAllGather) {
  const T3Plan plan = t3_for_test({.gemm = {4, 2, 3, DType::f32},
                                   .collective = "all-gather",
                                   .algorithm = "ring",
                                   .ranks = 3,
                                   .tiling = Tiling{2, 2, 1},
                                   .pieces = 2},
                                  machine_);
  EXPECT_EQ(plan.chunks, 1U);
  EXPECT_THAT(blocks(plan.program, 1), ElementsAre("rows 0+4 columns 0+2 = out1[32+32]"));
  EXPECT_THAT(trackers(plan.program, 1),
              ElementsAre("chunk1.piece0.rank1 out1[32+16] x1", "chunk1.piece1.rank1 out1[48+16] x1",
                          "chunk0.piece0.rank1 out1[0+16] x1", "chunk0.piece1.rank1 out1[16+16] x1",
                          "chunk2.piece0.rank1 out1[64+16] x1", "chunk2.piece1.rank1 out1[80+16] x1"));
  EXPECT_THAT(engines(plan.program, 1),
              ElementsAre("wait chunk1.piece0.rank1.complete", "copy out1[32+16] = out2[32+16]",
                          "wait chunk1.piece1.rank1.complete", "copy out1[48+16] = out2[48+16]",
                          "wait chunk0.piece0.rank1.complete", "copy out1[0+16] = out2[0+16]",
                          "wait chunk0.piece1.rank1.complete", "copy out1[16+16] = out2[16+16]"));
}

TEST_F(T3Program, DirectAllGather) {
  const T3Plan plan = t3_for_test(
      {.gemm = {4, 2, 3, DType::f32}, .collective = "all-gather", .ranks = 3, .tiling = Tiling{2, 2, 1}}, machine_);
  EXPECT_EQ(plan.algorithm, "direct");
  EXPECT_THAT(engines(plan.program, 1),
              ElementsAre("wait chunk1.piece0.rank1.complete", "copy out1[32+32] = out2[32+32]",
                          "wait chunk1.piece0.rank1.complete", "copy out1[32+32] = out0[32+32]"));
}

// 5 x 3 of 4 bytes on 2 ranks: rows 0..2 for rank 0, 3..4 for rank 1. What rank r makes lands in slot r: out0 has two
// slots of 36 bytes, out1 two of 24. Two workgroups share a tile and add up their parts.
TEST_F(T3Program, AllToAll) {
  const T3Plan plan = t3_for_test(
      {.gemm = {5, 3, 2, DType::f32}, .collective = "all-to-all", .ranks = 2, .tiling = Tiling{2, 2, 2}}, machine_);
  EXPECT_THAT(blocks(plan.program, 0),
              ElementsAre("rows 3+2 columns 0+3 += out1[0+24]", "rows 0+3 columns 0+3 += out0[0+36]"));
  EXPECT_THAT(blocks(plan.program, 1),
              ElementsAre("rows 0+3 columns 0+3 += out0[36+36]", "rows 3+2 columns 0+3 += out1[24+24]"));
  EXPECT_THAT(trackers(plan.program, 1),
              ElementsAre("chunk1.piece0.rank1 out1[24+24] x2", "chunk0.piece0.rank1 out1[0+24] x2"));
  EXPECT_TRUE(engines(plan.program, 0).empty());
}

// 256 entries of 64 KiB on t3-ring-8, sixteen of them 1 MiB. Rows of tiles of 128 x 4096 x 2 bytes have that: one a
// piece, so 2048 / 8 / 128. Those of 128 x 1024 x 2 bytes are 256 KiB: four to a piece, so 8192 / 8 / 128 / 4.
TEST_F(T3Program, PiecesAreRowsOfTilesOrSixteenEntries) {
  const Machine ring = machine_for_test("t3-ring-8");
  const Tiling tiling{128, 128, 1};
  EXPECT_EQ(t3_for_test({.gemm = {2048, 4096, 64, DType::f16}, .tiling = tiling, .axis = T3Axis::rows}, ring).pieces,
            2U);
  EXPECT_EQ(t3_for_test({.gemm = {8192, 1024, 64, DType::f16}, .tiling = tiling}, ring).pieces, 2U);
  EXPECT_EQ(t3_for_test({.gemm = {2048, 1024, 64, DType::f16}, .tiling = tiling, .pieces = 9}, ring).pieces, 2U);
}

}  // namespace t3_program_test
}  // namespace cortado::plan
