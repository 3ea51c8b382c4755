// How much of what the caller reads the contract speaks of.
#pragma once

#include <vector>

#include "cortado/program.hpp"

namespace cortado::verifier {

struct BufferCoverage {
  BufferId buffer;
  Bytes covered;  ///< by outputs of clauses and GEMMs
};

/// Of every output and inout buffer, in the order of the program. All outputs of the contract lie inside their buffers.
std::vector<BufferCoverage> buffer_coverage(const Program& program);

}  // namespace cortado::verifier
