// The packets of a queue in the order in which the engine fetches them: from the ring, and from indirect buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/packets.hpp"

#include "device/soft/packet_fault.hpp"

namespace cortado::device::soft {

class PacketStream {
 public:
  PacketStream(const std::byte* ring, std::uint64_t ring_bytes);

  /// Records a doorbell. Rejects offsets that go backwards, are not whole dwords, or lie more than a ring ahead of
  /// `read_offset`, the position of the oldest unfinished packet.
  std::optional<PacketFault> announce(std::uint64_t write_offset, std::uint64_t read_offset);

  enum class Fetch {
    packet,      ///< packet() is the next one, and the stream is positioned after it
    empty,       ///< everything announced has been fetched
    incomplete,  ///< the last announced packet is longer than its announced part
    fault,       ///< fault() says why
  };
  Fetch fetch();

  sdma::Packet& packet() { return packet_; }
  const PacketFault& fault() const { return fault_; }

  /// Ring offset of the last fetched packet; inside an indirect buffer, that of the packet that called it.
  std::uint64_t packet_offset() const { return packet_offset_; }
  /// Ring offset just past everything fetched.
  std::uint64_t offset() const { return indirect_ || !parts_.empty() ? packet_offset_ : offset_; }
  std::uint64_t announced() const { return announced_; }
  bool exhausted() const { return offset_ == announced_ && !indirect_ && parts_.empty(); }

  /// The next dwords will not be executed.
  void skip(std::uint32_t dwords) { skip_ = dwords; }

  /// Fetches from an indirect buffer until it ends. The caller must check its memory before each fetch. `to_host`: host
  /// pointer minus address, modulo 2^64.
  void enter(std::uint64_t base, std::uint32_t dwords, std::uint64_t to_host = 0);
  /// Fetches these next: the parts of the packet that was fetched last.
  void expand(std::vector<sdma::Packet> parts);
  struct IndirectBuffer {
    std::uint64_t base = 0;
    std::uint64_t dwords = 0;
    std::uint64_t next = 0;  ///< dwords fetched
    std::uint64_t to_host = 0;
  };
  const std::optional<IndirectBuffer>& indirect() const { return indirect_; }

 private:
  Fetch fetch_from_ring();
  Fetch fetch_from_indirect();
  Fetch refuse(const sdma::DecodeError& error);

  const std::byte* ring_;
  std::uint64_t ring_bytes_;
  std::uint64_t offset_ = 0;
  std::uint64_t announced_ = 0;
  std::uint64_t packet_offset_ = 0;
  std::uint64_t skip_ = 0;  // dwords
  std::optional<IndirectBuffer> indirect_;
  std::vector<sdma::Packet> parts_;  // still to be fetched, the next one last
  sdma::Packet packet_;
  PacketFault fault_;
  std::vector<std::uint32_t> unwrapped_;  // a packet that crosses the end of the ring
};

}  // namespace cortado::device::soft
