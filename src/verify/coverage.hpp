// How many of the bytes that callers read are covered by the contract.
#pragma once

#include <vector>

#include "cortado/program.hpp"

namespace cortado::verifier {

struct BufferCoverage {
  BufferId buffer;
  Bytes covered;  ///< by outputs of clauses and GEMMs
};

/// For every output and inout buffer, in program order. All outputs of the contract must lie inside their buffers.
std::vector<BufferCoverage> buffer_coverage(const Program& program);

}  // namespace cortado::verifier
