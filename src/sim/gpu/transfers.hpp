// Bytes on their way: each transfer is a flow of the fluid solver that ends when its last byte has moved.
//
// With rate r(t) of the solver, a transfer of B bytes that begins at t0 ends at the first t with integral of r from t0
// to t = B. Rates change only when transfers begin or end; all changes of one instant are settled together
// (EventClass::settle).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cortado/result.hpp"

#include "sim/fluid/fluid.hpp"
#include "sim/gpu/events.hpp"
#include "sim/gpu/use_list.hpp"
#include "sim/power/listener.hpp"

namespace cortado::sim {

class Transfers {
 public:
  /// The listener hears of every flow and rate.
  Transfers(Events& events, FluidSystem& fluid, Listener& listener)
      : events_(events), fluid_(fluid), listener_(listener) {}

  struct Speed {
    double cap = kUnlimited;
    double weight = 1;  ///< share of a full resource, against others
  };

  /// `owner` comes back from finish(). The amount, bytes or what else the work is counted in, is not zero.
  FlowId begin(double amount, const UseList& uses, Speed speed, std::uint32_t owner) {
    return begin(amount, uses.view(), uses.places(), speed, owner);
  }
  FlowId begin(double amount, std::span<const ResourceUse> uses, std::span<const PlaceUse> places, Speed speed,
               std::uint32_t owner);
  void set_cap(FlowId flow, double cap);
  void set_weight(FlowId flow, double weight);

  std::uint32_t owner(FlowId flow) const { return transfers_[flow.value].owner; }

  /// What has not moved yet.
  double remaining(FlowId flow) const;

  /// What has not moved yet goes on as another transfer of the same owner, as much larger or smaller as `scale` says,
  /// with other uses and speed.
  FlowId replace(FlowId flow, double scale, const UseList& uses, Speed speed);

  /// Takes the transfer out when its transfer_end event has come; returns the owner.
  std::uint32_t finish(FlowId flow);

  /// Shares the rates anew; on every settle event.
  void settle();
  /// Capacities have changed: rates are shared anew now.
  void request_settle();

 private:
  struct Transfer {
    double remaining = 0;  // as of `since`
    double rate = 0;       // per second
    SimTime since;
    EventHandle end;
    std::uint32_t owner = 0;
  };

  /// Of what it was to move at its last rate; below zero where its end was rounded up.
  double signed_rest(const Transfer& transfer) const {
    return transfer.remaining - transfer.rate * to_seconds(events_.now() - transfer.since);
  }

  Events& events_;
  FluidSystem& fluid_;
  Listener& listener_;
  std::vector<Transfer> transfers_;  // by FlowId
  bool settle_requested_ = false;
};

}  // namespace cortado::sim
