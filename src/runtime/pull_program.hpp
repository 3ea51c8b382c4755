// Collectives in which ranks take what they need from the memory of the others, as programs (cortado/program.hpp): one
// host queue and one stream per rank.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "cortado/communicator.hpp"
#include "cortado/program.hpp"

namespace cortado::runtime {

/// Everything that such a program depends on.
struct PullRequest {
  OperationKind kind = OperationKind::all_gather;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t element_bytes = 1;
  std::uint64_t in_place = 0;               ///< a bit for each rank whose operation is in place
  std::vector<std::uint64_t> send_bytes{};  ///< if blocks differ in size: [from * ranks + to]
  friend auto operator<=>(const PullRequest&, const PullRequest&) = default;
};

/// Names of the signals of each rank, without its number: `enter` is raised when its inputs are ready, `summed` when
/// its part of a sum is, `exit` when it no longer reads from others. Each is raised once.
inline constexpr const char* kEnter = "enter";
inline constexpr const char* kSummed = "summed";
inline constexpr const char* kExit = "exit";

/// The machine that programs are proved for: one whose GPUs can all reach each other, like processes on one computer.
inline constexpr const char* kPullMachine = "virtual-64";

/// Buffers `send`, `recv` and, for operations in place, `both`; a rank has only those that it uses in the operation. A
/// rank waits for all ranks to enter, and at the end for those that read from it. In an all-reduce it sums a part.
Program plan_pull(const PullRequest& request);

}  // namespace cortado::runtime
