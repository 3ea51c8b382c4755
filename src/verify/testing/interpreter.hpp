// Runs a program on real bytes in a random order that rules 1 to 4 of ir/program.hpp allow: the judge over the
// verifier. A program that the verifier accepts must give the right bytes whatever the seed.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/ir/program.hpp"

namespace cortado::verifier::testing {

struct Outcome {
  bool finished = false;          ///< false: every queue waits
  std::uint64_t wrong_bytes = 0;  ///< output bytes that differ from the contract, over all iterations
  bool right() const { return finished && wrong_bytes == 0; }
};

/// Element types other than u8 are treated as sums of whole little-endian integers of their size, so that sums are
/// exact. A Gemm writes bytes that depend on its operands.
Outcome interpret(const Program& program, std::uint32_t iterations, std::uint64_t seed);

}  // namespace cortado::verifier::testing
