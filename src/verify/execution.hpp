// One execution of two iterations, in which every queue runs as far as it can.
//
// Counters only grow, and a satisfied wait stays satisfied, so running one queue never takes away what another could
// do: if this execution cannot finish, none can, and the set of steps that it reaches is the largest possible.
//
// Groups of tiles are the exception: here each one runs after the previous one, as if earlier tiles that wait held all
// compute units (rule 8 of cortado/program.hpp). A program in which an earlier group needs a later one finishes only by
// luck, and is treated as one that does not finish.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/unrolled.hpp"

namespace cortado::verifier {

struct Execution {
  static constexpr std::uint32_t kNever = ~0U;

  std::vector<Node> order;              ///< steps and crossings in the order they happened
  std::vector<std::uint32_t> position;  ///< by node: its index in `order`; kNever if it did not happen
  std::vector<Node> stands_at;          ///< by chain: the node it could not run; kNoNode if it finished
  std::vector<std::uint32_t> submits;   ///< by chain: how often it was submitted
  std::vector<std::uint64_t> counters;  ///< final values of the signals

  bool happened(Node node) const { return position[node] != kNever; }
  bool complete() const { return complete_steps == total_steps; }

  std::uint32_t complete_steps = 0;
  std::uint32_t total_steps = 0;
};

/// Waits for equality are executed as "at least"; verify.equal_wait checks the difference.
Execution execute(const Unrolled& unrolled);

}  // namespace cortado::verifier
