// Collectives of ranks that take what they need out of the memory of the others, as programs (cortado/program.hpp): a
// host queue and a stream for each rank.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "cortado/communicator.hpp"
#include "cortado/program.hpp"

namespace cortado::runtime {

/// All that such a program depends on.
struct PullRequest {
  OperationKind kind = OperationKind::all_gather;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t element_bytes = 1;
  std::uint64_t in_place = 0;               ///< a bit for each rank whose operation is in place
  std::vector<std::uint64_t> send_bytes{};  ///< with counts: [from * ranks + to]
  friend auto operator<=>(const PullRequest&, const PullRequest&) = default;
};

/// Names of the signals of each rank, without its number: `enter` is raised when its inputs are there, `summed` when
/// its part of a sum is, `exit` when it reads no more of others. All are raised once.
inline constexpr const char* kEnter = "enter";
inline constexpr const char* kSummed = "summed";
inline constexpr const char* kExit = "exit";

/// The machine that programs are proved for: one whose GPUs all reach each other, as processes of one computer do.
inline constexpr const char* kPullMachine = "virtual-64";

/// Buffers `send`, `recv` and, of operations in place, `both`; ranks that have none in an operation have none in it.
/// A rank waits for all ranks to enter and at the end for those that read from it. Of all-reduce it sums a part.
Program plan_pull(const PullRequest& request);

}  // namespace cortado::runtime
