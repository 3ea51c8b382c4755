#include "ir/tiles.hpp"

#include <algorithm>
#include <iterator>

namespace cortado {
namespace {

std::uint64_t tiles_along(std::uint64_t extent, std::uint64_t tile) {
  return extent == 0 || tile == 0 ? 0 : (extent - 1) / tile + 1;
}

}  // namespace

std::vector<OutputBlock> output_blocks(const Gemm& gemm) {
  if (!gemm.outputs.empty()) return gemm.outputs;
  return {{0, 0, gemm.m, gemm.n, gemm.c, CopyOp::store}};
}

std::uint64_t tile_count(const Gemm& gemm, const OutputBlock& block) {
  return tiles_along(block.rows, gemm.tile_m) * tiles_along(block.columns, gemm.tile_n);
}

std::uint64_t tile_count(const Gemm& gemm) {
  if (gemm.outputs.empty()) return tiles_along(gemm.m, gemm.tile_m) * tiles_along(gemm.n, gemm.tile_n);
  std::uint64_t tiles = 0;
  for (const OutputBlock& block : gemm.outputs) tiles += tile_count(gemm, block);
  return tiles;
}

Gemm block_gemm(const Gemm& gemm, const OutputBlock& block) {
  const Bytes element = size_of(gemm.dtype);
  Gemm part;
  part.a = gemm.a;
  part.a.offset = gemm.a.row_offset(block.row);
  part.a.rows = block.rows;
  part.b = gemm.b;
  part.b.offset = gemm.b.offset + element * block.column;
  part.b.width = element * block.columns;
  part.c = block.to;
  part.m = block.rows;
  part.n = block.columns;
  part.k = gemm.k;
  part.dtype = gemm.dtype;
  part.accumulate = gemm.accumulate;
  part.tile_m = gemm.tile_m;
  part.tile_n = gemm.tile_n;
  part.split_k = gemm.split_k;
  return part;
}

std::span<const TileWait> waits_of_tile(const Gemm& gemm, std::uint64_t tile) {
  const auto end = std::ranges::upper_bound(gemm.waits, tile, {}, &TileWait::tiles);
  if (end == gemm.waits.begin()) return {};
  const auto begin = std::ranges::lower_bound(gemm.waits, std::prev(end)->tiles, {}, &TileWait::tiles);
  return {begin, end};
}

}  // namespace cortado
