// One execution of two iterations: every queue goes on as long as it can.
//
// Counters only grow and a wait that is satisfied stays so, hence running a queue never takes away what another one
// could do: if this execution cannot finish, none can, and the set of steps it reaches is the largest possible.
//
// Groups of tiles are the exception: here each runs behind the one before it, as if earlier tiles that wait held all
// compute units (rule 8 of cortado/program.hpp). A program that needs a later group for an earlier one finishes with
// luck only, and counts as one that does not.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/unrolled.hpp"

namespace cortado::verifier {

struct Execution {
  static constexpr std::uint32_t kNever = ~0U;

  std::vector<Node> order;              ///< steps and crossings as they happened
  std::vector<std::uint32_t> position;  ///< of a node in `order`; kNever if it did not happen
  std::vector<Node> stands_at;          ///< of a queue: the node it could not run; the end of its chain if it finished
  std::vector<std::uint32_t> submits;   ///< how often a queue was submitted
  std::vector<std::uint64_t> counters;  ///< final values of the signals

  bool happened(Node node) const { return position[node] != kNever; }
  bool complete() const { return complete_steps == total_steps; }

  std::uint32_t complete_steps = 0;
  std::uint32_t total_steps = 0;
};

/// Waits for equality are run as "at least" (verify.equal_wait looks at the difference).
Execution execute(const Unrolled& unrolled);

}  // namespace cortado::verifier
