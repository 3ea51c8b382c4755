// What an engine needs from the node around it, and observers of its work.
#pragma once

#include <cstdint>

#include "cortado/packets.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device::soft {

class EngineHost {
 public:
  EngineHost() = default;
  EngineHost(const EngineHost&) = delete;
  EngineHost& operator=(const EngineHost&) = delete;
  virtual ~EngineHost() = default;

  /// A TRAP packet raises an interrupt.
  virtual void trap(const SdmaQueue& queue, std::uint32_t context) = 0;
  /// The queue has been stopped.
  virtual void fault(EngineFault fault) = 0;
  /// What a TIMESTAMP packet of the queue records now.
  virtual std::uint64_t timestamp(const SdmaQueue& queue) = 0;
};

/// The position of a packet.
struct PacketPlace {
  std::uint64_t offset = 0;  ///< monotonic byte offset in the ring; in an indirect buffer, its caller's
  std::uint64_t index = 0;   ///< packets that the queue fetched before
};

/// Sees packets start and end. Calls for one queue come one at a time, those for different queues at any time.
class QueueObserver {
 public:
  QueueObserver() = default;
  QueueObserver(const QueueObserver&) = delete;
  QueueObserver& operator=(const QueueObserver&) = delete;
  virtual ~QueueObserver() = default;

  virtual void fetched(const SdmaQueue& queue, const sdma::Packet& packet, const PacketPlace& place) = 0;
  /// Asked each time before a packet that moves no bytes is tried; false: not yet.
  virtual bool due(const SdmaQueue&, const sdma::Packet&, const PacketPlace&) { return true; }
  /// The queue has nothing to do or cannot continue until it gets a doorbell beyond `announced`, a ring offset.
  virtual void rests(const SdmaQueue&, std::uint64_t /*announced*/) {}
  /// All bytes of the packet have moved, its condition holds, its word is written.
  virtual void finished(const SdmaQueue& queue, const sdma::Packet& packet, const PacketPlace& place) = 0;
};

}  // namespace cortado::device::soft
