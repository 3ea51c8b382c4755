// How many of the bytes that callers read are covered by the contract.
#pragma once

#include <vector>

#include "cortado/program.hpp"

#include "verify/rule.hpp"

namespace cortado::verifier {

struct BufferCoverage {
  BufferId buffer;
  Bytes covered;  ///< by outputs of clauses and GEMMs
};

/// For every output and inout buffer, in program order. All outputs of the contract must lie inside their buffers.
std::vector<BufferCoverage> buffer_coverage(const Program& program);

/// The part of verify.contract that asks whether the contract says enough: it covers output buffers, and it names only
/// bytes that the caller reads or writes.
void check_coverage(const Program& program, Findings& findings);

}  // namespace cortado::verifier
