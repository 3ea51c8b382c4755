// Energies for tests of reports.
#pragma once

#include "cortado/timeline.hpp"

namespace cortado::report {

/// Eight GPUs in 75 us: 0.3 J, of which 0.12 xcd, 0.09 iod, 0.06 hbm, 0.03 rest; 0.3 / 75e-6 / 8 = 500 W each.
inline EnergyUse small_energy_use() {
  EnergyUse use{.energy = {}, .seconds = 75e-6, .gpus = 8};
  use.energy[EnergyPart::xcd_clock] = 0.05;
  use.energy[EnergyPart::xcd_products] = 0.07;
  use.energy[EnergyPart::iod_links] = 0.09;
  use.energy[EnergyPart::hbm_bytes] = 0.06;
  use.energy[EnergyPart::rest_loss] = 0.03;
  return use;
}

}  // namespace cortado::report
