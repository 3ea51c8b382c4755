#include "verify/tile_groups.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/tiles.hpp"

namespace cortado::verifier {
namespace {

/// Part of a matrix region; rows and columns are counted in elements.
Region block(const Region& matrix, DType dtype, TileRange rows, TileRange columns) {
  const Bytes element = size_of(dtype);
  return {matrix.buffer, matrix.row_offset(rows.begin) + element * columns.begin,
          element * (columns.end - columns.begin), rows.end - rows.begin, matrix.pitch};
}

/// A rectangle of the tiles of a Gemm without an output map.
void add_tiles(const Gemm& gemm, TileRange tile_rows, TileRange tile_columns, std::vector<Gemm>& all) {
  if (tile_rows.begin == tile_rows.end || tile_columns.begin == tile_columns.end) return;
  const TileRange rows{tile_rows.begin * gemm.tile_m, std::min(tile_rows.end * gemm.tile_m, gemm.m)};
  const TileRange columns{tile_columns.begin * gemm.tile_n, std::min(tile_columns.end * gemm.tile_n, gemm.n)};
  Gemm part = gemm;
  part.a = block(gemm.a, gemm.dtype, rows, {0, gemm.k});
  part.b = block(gemm.b, gemm.dtype, {0, gemm.k}, columns);
  part.c = block(gemm.c, gemm.dtype, rows, columns);
  part.m = rows.end - rows.begin;
  part.n = columns.end - columns.begin;
  all.push_back(std::move(part));
}

/// A range of tiles, counted in row-major order, of a Gemm without an output map: the rest of the first tile row, whole
/// tile rows, and the beginning of the last one.
void add_tiles(const Gemm& gemm, TileRange tiles, std::vector<Gemm>& all) {
  const std::uint64_t columns = (gemm.n - 1) / gemm.tile_n + 1;
  const std::uint64_t first = tiles.begin / columns;
  const std::uint64_t last = tiles.end / columns;
  if (first == last) return add_tiles(gemm, {first, first + 1}, {tiles.begin % columns, tiles.end % columns}, all);
  const bool starts_inside = tiles.begin % columns != 0;
  if (starts_inside) add_tiles(gemm, {first, first + 1}, {tiles.begin % columns, columns}, all);
  add_tiles(gemm, {first + (starts_inside ? 1 : 0), last}, {0, columns}, all);
  add_tiles(gemm, {last, last + 1}, {0, tiles.end % columns}, all);
}

/// Each run of consecutive rows becomes one region.
void add_rows(const Region& region, const std::vector<std::uint64_t>& rows, AccessKind kind, Accesses& all) {
  std::vector<std::uint64_t> sorted = rows;
  std::ranges::sort(sorted);
  const auto doubles = std::ranges::unique(sorted);
  sorted.erase(doubles.begin(), doubles.end());
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    all.push_back({{region.buffer, region.row_offset(sorted[i]), region.width, end - i, region.pitch}, kind});
    i = end;
  }
}

}  // namespace

std::vector<TileRange> tile_groups(const Gemm& gemm) {
  std::vector<std::uint64_t> cuts{0, tile_count(gemm)};
  for (const TileSignal& raise : gemm.raises) cuts.push_back(raise.tiles);
  for (const TileWait& wait : gemm.waits) cuts.push_back(wait.tiles);
  std::ranges::sort(cuts);
  const auto doubles = std::ranges::unique(cuts);
  cuts.erase(doubles.begin(), doubles.end());
  std::vector<TileRange> groups;
  for (std::size_t i = 1; i < cuts.size(); ++i) groups.push_back({cuts[i - 1], cuts[i]});
  return groups;
}

TileRange tile_group(const Gemm& gemm, std::size_t part) {
  if (!gemm.waits.empty()) return tile_groups(gemm)[part];
  return {part == 0 ? 0 : gemm.raises[part - 1].tiles,
          part < gemm.raises.size() ? gemm.raises[part].tiles : tile_count(gemm)};
}

std::vector<Gemm> tile_gemms(const Gemm& gemm, TileRange tiles) {
  std::vector<Gemm> all;
  std::uint64_t first = 0;  // tile of the block
  for (const OutputBlock& block : output_blocks(gemm)) {
    const std::uint64_t end = first + tile_count(gemm, block);
    const TileRange here{std::max(tiles.begin, first), std::min(tiles.end, end)};
    if (here.begin < here.end) {
      const std::size_t before = all.size();
      add_tiles(block_gemm(gemm, block), {here.begin - first, here.end - first}, all);
      for (std::size_t i = before; i < all.size() && !gemm.outputs.empty(); ++i) {
        all[i].outputs = {{0, 0, all[i].m, all[i].n, std::exchange(all[i].c, Region{}), block.op}};
      }
    }
    first = end;
  }
  return all;
}

Accesses tile_accesses(const Gemm& gemm, TileRange tiles) {
  Accesses all;
  for (const Gemm& part : tile_gemms(gemm, tiles)) std::ranges::copy(accesses(Command{part}), std::back_inserter(all));
  return all;
}

Accesses row_accesses(const Kernel& kernel) {
  if (kernel.op == KernelOp::reduce) return accesses(Command{kernel});
  Accesses all;
  const Region& source = kernel.sources.front();
  if (kernel.op == KernelOp::gather_rows) {
    add_rows(source, kernel.rows, AccessKind::read, all);
    all.push_back({kernel.dst, AccessKind::write});
  } else {
    all.push_back({source, AccessKind::read});
    add_rows(kernel.dst, kernel.rows, AccessKind::write, all);
  }
  return all;
}

}  // namespace cortado::verifier
