#include "sim/gpu/transfers.hpp"

#include <algorithm>

namespace cortado::sim {
namespace {

/// What is longer by this is longer however either is rounded.
constexpr double kSurelyLonger = 1 + 1e-9;

}  // namespace

FlowId Transfers::begin(double amount, std::span<const ResourceUse> uses, std::span<const PlaceUse> places, Speed speed,
                        std::uint32_t owner, bool distinct) {
  const FlowId flow =
      fluid_.add_flow({.uses = uses, .weight = speed.weight, .cap = speed.cap, .priority = 0, .distinct = distinct});
  if (flow.value >= transfers_.size()) transfers_.resize(flow.value + std::size_t{1});
  transfers_[flow.value] = {
      .remaining = amount,
      .rate = 0,
      .since = events_.now(),
      .placed = SimTime::never(),
      .end = events_.schedule(SimTime::never(), EventClass::end, {EventKind::transfer_end, flow.value}),
      .owner = owner};
  listener_.begin_flow(flow, places, events_.now());
  request_settle();
  return flow;
}

void Transfers::set_cap(FlowId flow, double cap) {
  fluid_.set_cap(flow, cap);
  request_settle();
}

void Transfers::set_weight(FlowId flow, double weight) {
  fluid_.set_weight(flow, weight);
  request_settle();
}

double Transfers::remaining(FlowId flow) const {
  return std::max(0.0, signed_rest(transfers_[flow.value]));
}

FlowId Transfers::replace(FlowId flow, double scale, const UseList& uses, Speed speed) {
  const double rest = remaining(flow);
  listener_.end_flow(flow, signed_rest(transfers_[flow.value]) - rest, events_.now());
  events_.cancel(transfers_[flow.value].end);
  fluid_.remove_flow(flow);
  return begin(rest * scale, uses, speed, transfers_[flow.value].owner);
}

std::uint32_t Transfers::finish(FlowId flow) {
  listener_.end_flow(flow, signed_rest(transfers_[flow.value]), events_.now());
  fluid_.remove_flow(flow);
  request_settle();
  return transfers_[flow.value].owner;
}

void Transfers::settle() {
  settle_requested_ = false;
  const SimTime now = events_.now();
  const std::span<const RateChange> changes = fluid_.solve();
  for (const auto& [flow, rate] : changes) {
    Transfer& transfer = transfers_[flow.value];
    transfer.remaining = std::max(0.0, signed_rest(transfer));
    transfer.since = now;
    transfer.rate = rate;
    const bool longer = transfer.remaining > rate * to_seconds(transfer.placed - now) * kSurelyLonger;
    const SimTime end = longer ? transfer.placed : end_of(transfer);  // then it need not be known
    if (end < transfer.placed) {
      place(transfer, end);
    } else {
      events_.put_off(transfer.end);
    }
  }
  listener_.set_rates(changes, now);
}

/// The first time where its end is; then ahead of that, so that it may come sooner again and again without a move.
void Transfers::place(Transfer& transfer, SimTime end) {
  if (transfer.placed == SimTime::never()) {
    transfer.placed = end;
    events_.reschedule(transfer.end, end);
    return;
  }
  constexpr std::int64_t kAhead = 8;  // of what is left
  transfer.placed = end - SimTime{(end - events_.now()).picoseconds / kAhead};
  events_.expect(transfer.end, transfer.placed);
}

SimTime Transfers::time_of(const Event& event) {
  Transfer& transfer = transfers_[event.index];
  return transfer.placed = end_of(transfer);
}

void Transfers::request_settle() {
  if (settle_requested_) return;
  settle_requested_ = true;
  events_.post(events_.now(), EventClass::settle, {EventKind::settle, 0});
}

}  // namespace cortado::sim
