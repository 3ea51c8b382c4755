// Bytes on their way: each transfer is a flow of the fluid solver that ends when its last byte has moved.
//
// With rate r(t) of the solver, a transfer of B bytes that begins at t0 ends at the first t with integral of r from t0
// to t = B. Rates change only when transfers begin or end; all changes of one instant are settled together
// (EventClass::settle).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cortado/base/units.hpp"
#include "cortado/sim/fluid.hpp"

#include "sim/gpu/events.hpp"

namespace cortado::sim {

class Transfers {
 public:
  Transfers(Events& events, FluidSystem& fluid) : events_(events), fluid_(fluid) {}

  /// `owner` comes back from finish(). The bytes are not zero.
  FlowId begin(Bytes bytes, std::span<const ResourceUse> uses, double cap, std::uint32_t owner);

  /// Takes the transfer out when its transfer_end event has come; returns the owner.
  std::uint32_t finish(FlowId flow);

  /// Shares the rates anew; on every settle event.
  void settle();

 private:
  struct Transfer {
    double remaining = 0;  // bytes, as of `since`
    double rate = 0;       // bytes per second
    SimTime since;
    EventHandle end;
    std::uint32_t owner = 0;
  };

  void request_settle();

  Events& events_;
  FluidSystem& fluid_;
  std::vector<Transfer> transfers_;  // by FlowId
  bool settle_requested_ = false;
};

}  // namespace cortado::sim
