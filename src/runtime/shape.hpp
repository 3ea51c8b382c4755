// Which arguments of operations fit together.
#pragma once

#include <cstdint>

#include "cortado/communicator.hpp"
#include "cortado/result.hpp"

namespace cortado::runtime {

/// How the blocks of an operation are arranged in its buffers.
struct Shape {
  std::uint64_t block_bytes = 0;  ///< for all-to-all with counts, the largest of this rank
  std::uint32_t blocks = 1;       ///< in what a rank sends
};

/// Rejects buffers that do not fit together (runtime.arguments).
Result<Shape> shape_of(const Operation& operation, std::uint32_t rank, std::uint32_t ranks);

bool reduces(OperationKind kind);
bool has_root(OperationKind kind);
/// In these operations, only the root sends.
bool root_sends(OperationKind kind);
bool overlap(Sent a, Received b);

}  // namespace cortado::runtime
