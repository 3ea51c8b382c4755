// How long transfers of DMA queues take on the modelled machine, according to the simulator.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"

#include "device/vkfd/page_table.hpp"

namespace cortado::device::vkfd {

/// Bytes of a transfer; the memory is that of a GPU or kHostMemory.
struct MovePlace {
  std::uint32_t memory = 0;
  std::uint64_t address = 0;
  friend auto operator<=>(const MovePlace&, const MovePlace&) = default;
};

/// A transfer in the simulator's terms.
struct Move {
  enum class Kind : std::uint8_t { copy, broadcast, swap } kind = Kind::copy;
  MovePlace from;
  MovePlace to;
  MovePlace second;         ///< of a broadcast
  std::uint64_t bytes = 0;  ///< per destination
};

/// None for packets that move no bytes. Fills and writes count as copies within the GPU of the engine.
std::optional<Move> move_of(const sdma::Packet& packet, std::uint32_t gpu, const Home& home);

/// Consecutive transfers of a queue.
struct MoveList {
  std::uint32_t gpu = 0;
  std::uint32_t engine = 0;
  std::uint64_t begin = 0;  ///< nanoseconds: when the engine reads the first of the packets
  std::vector<Move> moves{};
};

/// Nanoseconds, on the clock of MoveList::begin.
struct MoveSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class CopyTimes {
 public:
  /// The machine must have timing.
  explicit CopyTimes(const Machine& machine);

  /// The times of every move of every list, on an otherwise idle machine: lists whose transfers use the same engines,
  /// links and memories at the same time slow each other down.
  std::vector<std::vector<MoveSpan>> of(std::span<const MoveList* const> lists) const;

 private:
  MovePlace place(std::uint32_t gpu, const Move& move, MovePlace where) const;

  Machine machine_;
};

}  // namespace cortado::device::vkfd
