// Energy of what a simulation does: a listener that feeds the power meter.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "cortado/machine.hpp"

#include "sim/power/listener.hpp"
#include "sim/power/meter.hpp"

namespace cortado::sim {

/// What one unit at a place draws, at nominal clocks, and which part it counts for.
struct PlaceEnergy {
  EnergyPart part;
  double joules;
};
using PlaceEnergies = std::array<PlaceEnergy, static_cast<std::size_t>(Place::nowhere) + 1>;

/// By place: the single table of what bytes and operations cost.
PlaceEnergies place_energies(const Power& power);

class EnergyListener : public Listener {
 public:
  /// Both must outlive this.
  EnergyListener(const Power& power, PowerMeter& meter)
      : meter_(meter), energies_(place_energies(power)), packet_joules_(power.packet) {}

  void begin_flow(FlowId flow, std::span<const PlaceUse> uses, SimTime now) override;
  void set_rates(std::span<const RateChange> changes, SimTime now) override {
    for (const auto& [flow, rate] : changes) meter_.set_rate(flow, rate, now);
  }
  void end_flow(FlowId flow, double rest, SimTime now) override { meter_.end_flow(flow, rest, now); }
  void hold_units(std::uint32_t gpu, std::int64_t more, SimTime now) override { meter_.hold_units(gpu, more, now); }
  void read_packet(std::uint32_t gpu, SimTime now) override {
    meter_.spend(gpu, EnergyPart::iod_packets, packet_joules_, now);
  }
  void poll(std::uint32_t gpu, std::int64_t more, SimTime now) override { meter_.poll(gpu, more, now); }

 private:
  PowerMeter& meter_;
  PlaceEnergies energies_;
  double packet_joules_;
  std::vector<Draw> draws_;  // scratch space of begin_flow
};

}  // namespace cortado::sim
