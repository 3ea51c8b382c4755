// One memory behind all GPUs of a node, with caches (memory.node_cache_bytes, memory.node_rate_GBps).
//
// The caches keep what was touched most recently. Let d be the number of bytes that the whole node has read and written
// since a byte was last touched. When the byte is touched again, the share 1 - min(1, cache bytes / d) of it crosses
// the boundary of a cache level and takes that much of its rate; a byte never touched before crosses it fully. Bytes
// that a command both reads and writes are fetched once. At the last level, d of a write counts from the previous
// write, not from the previous touch: changed bytes must go back to the memory even if they were just read.
//
// Example: caches of 1 MB; a copy of 1 MB runs again and again. Between two touches of a byte lie 2 MB (1 read, 1
// written), so half of what is read and half of what is written crosses: at a rate of 20 GB/s the copy moves 20 GB/s.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cortado/machine.hpp"

#include "ir/visit.hpp"
#include "sim/fluid/fluid.hpp"
#include "sim/gpu/machine_resources.hpp"

namespace cortado::sim {

class NodeMemory {
 public:
  NodeMemory(const MemoryTiming& timing, const Program& program, FluidSystem& fluid);

  /// The command, a transfer of this many bytes, touches its regions now; adds what one byte per second of it takes.
  void touch(const Command& command, Bytes bytes, UseList& uses);

 private:
  /// A run of bytes of a buffer that were touched and written together; times are the total bytes touched by the node
  /// then.
  struct Piece {
    std::uint64_t end = 0;
    std::uint64_t touched = 0;
    std::uint64_t written = 0;
  };
  static constexpr std::uint64_t kNever = 0;
  using Pieces = std::map<std::uint64_t, Piece>;  // by first byte; they cover the buffer

  struct Level {
    ResourceId resource;
    double cache_bytes;
    double crossing = 0;  // bytes of the current command
  };

  void touch(Pieces& pieces, std::uint64_t begin, std::uint64_t end, AccessKind kind);
  double miss_share(const Level& level, std::uint64_t before) const;

  std::vector<Level> levels_;
  std::vector<Pieces> buffers_;
  std::uint64_t clock_ = 1;  // bytes touched so far
};

}  // namespace cortado::sim
