// Bytes in transit: each transfer is a flow of the fluid solver that ends when its last byte has moved.
//
// With rate r(t) from the solver, a transfer of B bytes that begins at t0 ends at the first t where the integral of r
// from t0 to t is B. Rates change only when transfers begin or end; all changes of one instant are settled together
// (EventClass::settle).
//
// A transfer knows where its event stands in the queue. Most changes of its rate leave its end behind that: then the
// event is put off, and the end is not computed before the event comes to the front.
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

class Transfers : private Timetable<Event> {
 public:
  /// The listener is notified of every flow and rate. It is the timetable of the events.
  Transfers(Events& events, FluidSystem& fluid, Listener& listener)
      : events_(events), fluid_(fluid), listener_(listener) {
    events.set_timetable(*this);
  }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  struct Speed {
    double cap = kUnlimited;
    double weight = 1;  ///< share of a full resource, relative to others
  };

  /// `owner` is returned by finish(). The amount, in bytes or any other unit of work, must not be zero.
  FlowId begin(double amount, const UseList& uses, Speed speed, std::uint32_t owner) {
    return begin(amount, uses.view(), uses.places(), speed, owner, true);
  }
  FlowId begin(double amount, std::span<const ResourceUse> uses, std::span<const PlaceUse> places, Speed speed,
               std::uint32_t owner) {
    return begin(amount, uses, places, speed, owner, false);
  }
  void set_cap(FlowId flow, double cap);
  void set_weight(FlowId flow, double weight);

  std::uint32_t owner(FlowId flow) const { return transfers_[flow.value].owner; }

  /// What has not moved yet.
  double remaining(FlowId flow) const;

  /// What has not moved yet continues as another transfer of the same owner, scaled by `scale`, with other uses and
  /// speed.
  FlowId replace(FlowId flow, double scale, const UseList& uses, Speed speed);

  /// Removes the transfer after its transfer_end event; returns the owner.
  std::uint32_t finish(FlowId flow);

  /// Recomputes the rates; called on every settle event.
  void settle();
  /// Capacities have changed: rates are recomputed at this instant.
  void request_settle();

 private:
  struct Transfer {
    double remaining = 0;  // as of `since`
    double rate = 0;       // per second
    SimTime since;
    SimTime placed;  // where its event stands in the queue: not after its end
    EventHandle end;
    std::uint32_t owner = 0;
  };

  FlowId begin(double amount, std::span<const ResourceUse> uses, std::span<const PlaceUse> places, Speed speed,
               std::uint32_t owner, bool distinct);

  /// What is left at its last rate; negative if its end was rounded up.
  double signed_rest(const Transfer& transfer) const {
    return transfer.remaining - transfer.rate * to_seconds(events_.now() - transfer.since);
  }

  /// At its last rate.
  static SimTime end_of(const Transfer& transfer) {
    return transfer.since + sim_time_from_seconds(transfer.remaining / transfer.rate);
  }
  void place(Transfer& transfer, SimTime end);
  SimTime time_of(const Event& event) override;

  Events& events_;
  FluidSystem& fluid_;
  Listener& listener_;
  std::vector<Transfer> transfers_;  // by FlowId
  bool settle_requested_ = false;
};

}  // namespace cortado::sim
