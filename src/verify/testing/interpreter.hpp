// Runs a program on real bytes in a random order that rules 1 to 4 and 7 of cortado/program.hpp allow: the test of the
// verifier itself. A program that the verifier accepts must give the right bytes whatever the seed.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/program.hpp"

namespace cortado::verifier::testing {

struct Outcome {
  bool finished = false;          ///< false: every queue is stuck in a wait
  std::uint64_t wrong_bytes = 0;  ///< output bytes that differ from the contract, over all iterations; and updates that
                                  ///< come before their tracker has started over
  bool right() const { return finished && wrong_bytes == 0; }
};

/// Elements of all types are treated as little-endian integers of their size with wraparound, so that sums and GEMMs
/// are exact in every order.
Outcome interpret(const Program& program, std::uint32_t iterations, std::uint64_t seed);

}  // namespace cortado::verifier::testing
