// Joules, by what they were spent on. Every part belongs to one component, so that components are sums of parts and the
// whole is the sum of components.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cortado/machine/power.hpp"

namespace cortado {

enum class EnergyPart : std::uint8_t {
  xcd_idle,
  xcd_leakage,
  xcd_clock,
  xcd_units,     ///< compute units that kernels hold
  xcd_products,  ///< multiplications and additions of products
  xcd_bytes,     ///< in and out of L2
  iod_idle,
  iod_leakage,
  iod_clock,
  iod_cache,
  iod_links,
  iod_engines,
  iod_packets,
  iod_polling,
  hbm_idle,
  hbm_leakage,
  hbm_clock,
  hbm_bytes,
  rest_idle,
  rest_loss,  ///< of voltage regulators
};

struct EnergyPartInfo {
  std::string_view name;
  Component component;
};

inline constexpr std::array<EnergyPartInfo, 20> kEnergyParts{{
    {"xcd_idle", Component::xcd},    {"xcd_leakage", Component::xcd},  {"xcd_clock", Component::xcd},
    {"xcd_units", Component::xcd},   {"xcd_products", Component::xcd}, {"xcd_bytes", Component::xcd},
    {"iod_idle", Component::iod},    {"iod_leakage", Component::iod},  {"iod_clock", Component::iod},
    {"iod_cache", Component::iod},   {"iod_links", Component::iod},    {"iod_engines", Component::iod},
    {"iod_packets", Component::iod}, {"iod_polling", Component::iod},  {"hbm_idle", Component::hbm},
    {"hbm_leakage", Component::hbm}, {"hbm_clock", Component::hbm},    {"hbm_bytes", Component::hbm},
    {"rest_idle", Component::rest},  {"rest_loss", Component::rest},
}};

struct Energy {
  std::array<double, kEnergyParts.size()> joules{};

  double& operator[](EnergyPart part) { return joules[static_cast<std::size_t>(part)]; }
  double operator[](EnergyPart part) const { return joules[static_cast<std::size_t>(part)]; }

  double of(Component component) const {
    double sum = 0;
    for (std::size_t i = 0; i < joules.size(); ++i) {
      if (kEnergyParts[i].component == component) sum += joules[i];
    }
    return sum;
  }
  double total() const {
    double sum = 0;
    for (const Component component : kComponents) sum += of(component);
    return sum;
  }

  Energy& operator+=(const Energy& other) {
    for (std::size_t i = 0; i < joules.size(); ++i) joules[i] += other.joules[i];
    return *this;
  }
  Energy& operator-=(const Energy& other) {
    for (std::size_t i = 0; i < joules.size(); ++i) joules[i] -= other.joules[i];
    return *this;
  }
  friend Energy operator+(Energy one, const Energy& other) { return one += other; }
  friend Energy operator-(Energy one, const Energy& other) { return one -= other; }
  friend Energy operator*(Energy one, double factor) {
    for (double& joules : one.joules) joules *= factor;
    return one;
  }
};

/// Energy over a time on so many GPUs, as tables show it.
struct EnergyUse {
  Energy energy;       ///< of all GPUs
  double seconds = 0;  ///< that it was spent in
  std::uint32_t gpus = 1;

  double joules() const { return energy.total(); }
  /// Of one GPU, on average.
  double watts() const { return per_gpu(energy.total()); }
  double watts(Component component) const { return per_gpu(energy.of(component)); }
  double energy_delay() const { return joules() * seconds; }  ///< joule seconds

  /// One after the other on the same GPUs.
  EnergyUse& operator+=(const EnergyUse& other) {
    energy += other.energy;
    seconds += other.seconds;
    return *this;
  }

 private:
  double per_gpu(double joules) const { return seconds > 0 ? joules / seconds / gpus : 0; }
};

}  // namespace cortado
