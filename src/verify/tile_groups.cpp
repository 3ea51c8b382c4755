#include "verify/tile_groups.hpp"

#include <algorithm>

namespace cortado::verifier {
namespace {

std::uint64_t tiles_along(std::uint64_t extent, std::uint64_t tile) {
  return (extent - 1) / tile + 1;
}

/// Part of a matrix region; rows and columns are counted in elements.
Region block(const Region& matrix, DType dtype, TileRange rows, TileRange columns) {
  const Bytes element = size_of(dtype);
  return {matrix.buffer, matrix.row_offset(rows.begin) + element * columns.begin,
          element * (columns.end - columns.begin), rows.end - rows.begin, matrix.pitch};
}

/// A rectangle of tiles.
void add_tiles(const Gemm& gemm, TileRange tile_rows, TileRange tile_columns, std::vector<Gemm>& all) {
  if (tile_rows.begin == tile_rows.end || tile_columns.begin == tile_columns.end) return;
  const TileRange rows{tile_rows.begin * gemm.tile_m, std::min(tile_rows.end * gemm.tile_m, gemm.m)};
  const TileRange columns{tile_columns.begin * gemm.tile_n, std::min(tile_columns.end * gemm.tile_n, gemm.n)};
  all.push_back({block(gemm.a, gemm.dtype, rows, {0, gemm.k}),
                 block(gemm.b, gemm.dtype, {0, gemm.k}, columns),
                 block(gemm.c, gemm.dtype, rows, columns),
                 rows.end - rows.begin,
                 columns.end - columns.begin,
                 gemm.k,
                 gemm.dtype,
                 gemm.accumulate,
                 gemm.tile_m,
                 gemm.tile_n,
                 {},
                 gemm.split_k});
}

/// Runs of consecutive rows as one region each.
void add_rows(const Region& region, const std::vector<std::uint64_t>& rows, AccessKind kind, std::vector<Access>& all) {
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

TileRange tile_group(const Gemm& gemm, std::size_t part) {
  const std::uint64_t total = tiles_along(gemm.m, gemm.tile_m) * tiles_along(gemm.n, gemm.tile_n);
  return {part == 0 ? 0 : gemm.raises[part - 1].tiles, part < gemm.raises.size() ? gemm.raises[part].tiles : total};
}

std::vector<Gemm> tile_gemms(const Gemm& gemm, TileRange tiles) {
  const std::uint64_t columns = tiles_along(gemm.n, gemm.tile_n);
  const std::uint64_t first = tiles.begin / columns;
  const std::uint64_t last = tiles.end / columns;
  std::vector<Gemm> all;
  if (first == last) {
    add_tiles(gemm, {first, first + 1}, {tiles.begin % columns, tiles.end % columns}, all);
    return all;
  }
  // A rest of the first tile row, whole tile rows, and the beginning of the last one.
  const bool starts_inside = tiles.begin % columns != 0;
  if (starts_inside) add_tiles(gemm, {first, first + 1}, {tiles.begin % columns, columns}, all);
  add_tiles(gemm, {first + (starts_inside ? 1 : 0), last}, {0, columns}, all);
  add_tiles(gemm, {last, last + 1}, {0, tiles.end % columns}, all);
  return all;
}

std::vector<Access> tile_accesses(const Gemm& gemm, TileRange tiles) {
  std::vector<Access> all;
  for (const Gemm& part : tile_gemms(gemm, tiles)) {
    all.push_back({part.a, AccessKind::read});
    all.push_back({part.b, AccessKind::read});
    all.push_back({part.c, part.accumulate ? AccessKind::read_write : AccessKind::write});
  }
  return all;
}

std::vector<Access> row_accesses(const Kernel& kernel) {
  if (kernel.op == KernelOp::reduce) return accesses(Command{kernel});
  std::vector<Access> all;
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
