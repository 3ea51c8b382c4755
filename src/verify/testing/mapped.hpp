// Small hand-made programs of GEMMs with output maps and trackers (rule 7 of cortado/program.hpp). Every rank r
// multiplies a<r> (rows x 4) by b<r> (4 x 3); the sum over the ranks is cut into chunks of rows, and chunk r ends up in
// c<r> of rank r. Elements are f32, tiles 1 x 2.
#pragma once

#include <cstdint>

#include "cortado/program.hpp"

namespace cortado::verifier::testing {

struct MappedShape {
  std::uint32_t ranks = 3;
  std::uint64_t pieces = 2;  ///< per chunk, one row each; each has a tracker
  std::uint64_t split_k = 1;
};

/// The ring of T3: rank r sends to r + 1. The chunks that pass through rank r are in chunks<r>, each at its own rows.
/// Rank r computes chunk r - 1 first and stores it directly to the next rank; then chunks r - 2 to r + 1 into its own
/// memory, from where queue "dma<r>" forwards each piece as soon as its tracker fires; and finally chunk r, whose
/// trackers the host waits for. Trackers are named "t<rank>.<chunk>.<piece>".
Program ring_of_products(const MappedShape& shape);

/// Every rank adds chunk c directly to c<c>; no dma queues.
Program direct_sum_of_products(const MappedShape& shape);

}  // namespace cortado::verifier::testing
