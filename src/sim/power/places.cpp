#include "sim/power/places.hpp"

namespace cortado::sim {

PlaceEnergies place_energies(const Power& power) {
  PlaceEnergies energies{};
  const auto set = [&](Place place, EnergyPart part, double joules) {
    energies[static_cast<std::size_t>(place)] = {part, joules};
  };
  set(Place::engine, EnergyPart::iod_engines, power.engine_byte);
  set(Place::link, EnergyPart::iod_links, power.link_byte);
  set(Place::l2, EnergyPart::xcd_bytes, power.l2_byte);
  set(Place::cache, EnergyPart::iod_cache, power.cache_byte);
  set(Place::memory, EnergyPart::hbm_bytes, power.hbm_byte);
  set(Place::flops_f32, EnergyPart::xcd_products, power.f32_flop);
  set(Place::flops_f16, EnergyPart::xcd_products, power.f16_flop);
  set(Place::flops_bf16, EnergyPart::xcd_products, power.bf16_flop);
  set(Place::flops_f8, EnergyPart::xcd_products, power.f8_flop);
  set(Place::nowhere, EnergyPart::hbm_bytes, 0);  // keeps the GPU awake
  return energies;
}

void EnergyListener::begin_flow(FlowId flow, std::span<const PlaceUse> uses, SimTime now) {
  draws_.clear();
  for (const PlaceUse& use : uses) {
    const PlaceEnergy& energy = energies_[static_cast<std::size_t>(use.place)];
    draws_.push_back({use.gpu, energy.part, use.amount * energy.joules});
  }
  meter_.begin_flow(flow, draws_, now);
}

}  // namespace cortado::sim
