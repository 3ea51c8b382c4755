// Small hand-made programs whose outputs are matrix products: GEMMs computed in pieces, GEMMs of gathered operands, and
// sums of GEMMs over ranks. Elements are f32.
#pragma once

#include <cstdint>

#include "cortado/program.hpp"

namespace cortado::verifier::testing {

/// c = a * b on one rank, 4 x 8 times 8 x 3, by one Gemm of queue "stream".
Program whole_product();

/// The same with two Gemms of two rows each.
Program product_in_row_pieces();

/// The same with a Gemm over k = 0 .. 4 and another that adds k = 4 .. 8.
Program product_in_k_panels();

/// c = rows 3 1 0 2 of a, times b: a kernel gathers the rows into `chosen`, and a Gemm multiplies.
Program product_of_chosen_rows();

/// Every rank r has two rows of A in `a<r>` and its own `b<r>`; DMA queues "dma<from>.<to>" gather all of A into
/// `gathered<r>`, and c<r> = A * b<r> on queue "stream<r>".
Program product_of_gathered_blocks(std::uint32_t ranks);

/// Every rank r multiplies its two columns of A by its two rows of B into `partial<r>` (2 * ranks x 3); rank r's output
/// is rows 2r and 2r + 1 of the sum, which its queue "sum<r>" adds up from what DMA queues bring to `parts<r>`.
Program sum_of_products(std::uint32_t ranks);

}  // namespace cortado::verifier::testing
