// What parts of a Gemm, and kernels that move single rows, touch: finer than whole operands.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

#include "ir/visit.hpp"

namespace cortado::verifier {

/// Output tiles of a Gemm, in production order (tiles.hpp).
struct TileRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Tiles that are written after raise part-1 and before raise `part`; the last part has the rest. For a Gemm whose
/// tiles wait: group `part` of tile_groups.
TileRange tile_group(const Gemm& gemm, std::size_t part);

/// For a Gemm whose tiles wait: all tiles, cut where waits begin and where signals are raised.
std::vector<TileRange> tile_groups(const Gemm& gemm);

/// Gemms, each a rectangle of tiles, that together compute these tiles. They raise nothing; those of a Gemm with an
/// output map have a map of one block.
std::vector<Gemm> tile_gemms(const Gemm& gemm, TileRange tiles);

/// Rows of A and columns of B that these tiles read, and the pieces of C that they write.
Accesses tile_accesses(const Gemm& gemm, TileRange tiles);

/// As accesses(), but only the rows that a gather reads and only those that a scatter writes.
Accesses row_accesses(const Kernel& kernel);

}  // namespace cortado::verifier
