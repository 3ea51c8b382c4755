// What a simulation reports to a listener: bytes by the place that they pass through, compute units, packets and polls.
// The simulator does not know who listens, or why; places.hpp turns places into joules.
#pragma once

#include <cstdint>
#include <span>

#include "sim/fluid/fluid.hpp"
#include "sim/kernel/time.hpp"

namespace cortado::sim {

enum class Place : std::uint8_t {
  engine,     ///< bytes that a DMA engine writes
  link,       ///< bytes over a link, at each of its ends
  l2,         ///< bytes that compute units read and write
  cache,      ///< bytes through the last-level cache
  memory,     ///< bytes that the memory reads and writes
  flops_f32,  ///< operations of compute units, by element type
  flops_f16,
  flops_bf16,
  flops_f8,
  nowhere,  ///< the GPU is in use, though no place counts it
};

/// What one unit of a flow (a byte, or any other unit of work) does at a place of a GPU.
struct PlaceUse {
  std::uint32_t gpu = 0;
  Place place = Place::nowhere;
  double amount = 0;
};

class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  virtual void begin_flow(FlowId, std::span<const PlaceUse>, SimTime) {}
  virtual void set_rates(std::span<const RateChange>, SimTime) {}
  /// `rest`: what it still had to move at its last rate; negative if its end was rounded up.
  virtual void end_flow(FlowId, double /*rest*/, SimTime) {}
  virtual void hold_units(std::uint32_t /*gpu*/, std::int64_t /*more*/, SimTime) {}
  virtual void read_packet(std::uint32_t /*gpu*/, SimTime) {}                  ///< by an engine
  virtual void poll(std::uint32_t /*gpu*/, std::int64_t /*more*/, SimTime) {}  ///< change in the number of engines that
                                                                               ///< wait for signals
};

}  // namespace cortado::sim
