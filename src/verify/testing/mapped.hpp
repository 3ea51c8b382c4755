// Small programs of GEMMs with output maps and trackers (rule 7 of cortado/program.hpp), made by hand. Every rank r
// multiplies a<r> (rows x 4) with b<r> (4 x 3); the sum over the ranks is cut into chunks of rows, and chunk r ends in
// c<r> of rank r. Elements are f32, tiles 1 x 2.
#pragma once

#include <cstdint>

#include "cortado/program.hpp"

namespace cortado::verifier::testing {

struct MappedShape {
  std::uint32_t ranks = 3;
  std::uint64_t pieces = 2;  ///< of a chunk, one row each; each has a tracker
  std::uint64_t split_k = 1;
};

/// The ring of T3: rank r sends to r + 1. The chunks that come by are in chunks<r>, each at its rows. Rank r makes
/// chunk r - 1 first and stores it straight to the next rank; chunks r - 2 to r + 1 in its own memory, from where queue
/// "dma<r>" copies a piece on as soon as its tracker says so; and last chunk r, whose trackers the host waits for.
/// Trackers are "t<rank>.<chunk>.<piece>".
Program ring_of_products(const MappedShape& shape);

/// Every rank adds chunk c straight to c<c>; no dma queues.
Program direct_sum_of_products(const MappedShape& shape);

}  // namespace cortado::verifier::testing
