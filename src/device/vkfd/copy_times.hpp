// How long the transfers of a DMA queue take on the modelled machine. The simulator is asked, and its answers are kept:
// programs repeat themselves.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"

#include "device/vkfd/page_table.hpp"

namespace cortado::device::vkfd {

/// A transfer as the simulator knows them; memories are GPUs or kHostMemory.
struct Move {
  enum class Kind : std::uint8_t { copy, broadcast, swap } kind = Kind::copy;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t second = 0;  ///< of a broadcast
  std::uint64_t bytes = 0;   ///< of one destination
  friend auto operator<=>(const Move&, const Move&) = default;
};

/// None for packets that move no bytes. Fills and writes count as copies within the GPU of the engine.
std::optional<Move> move_of(const sdma::Packet& packet, std::uint32_t gpu, const Home& home);

class CopyTimes {
 public:
  /// The machine has timing.
  explicit CopyTimes(const Machine& machine);

  /// Nanoseconds since the engine read the first of the packets.
  struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  /// Of packets that stand behind one another in a queue, on a machine that does nothing else. Good until the next
  /// call.
  const std::vector<Span>& of(std::uint32_t gpu, std::uint32_t engine, const std::vector<Move>& moves);

 private:
  std::vector<Span> simulate(std::uint32_t gpu, std::uint32_t engine, const std::vector<Move>& moves) const;
  std::uint32_t place(std::uint32_t gpu, std::uint32_t memory) const;

  Machine machine_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::vector<Move>>, std::vector<Span>> known_;
};

}  // namespace cortado::device::vkfd
