// A small GPU whose power can be worked out by hand.
#pragma once

#include "cortado/machine.hpp"

namespace cortado::sim {

inline Power small_power() {
  Power power;
  power.cap_w = 500;
  power.control_interval = {100'000};
  power.clock_step_ghz = 0.01;
  power.raise_ghz = 0.05;
  power.leakage_exponent = 3;
  power.rest_idle_w = 10;
  power.loss = 0.1;
  power.xcd = {.idle_w = 20,
               .leakage_w = 16,
               .clock_w = 40,
               .nominal_ghz = 2,
               .curve = {.ghz = {0.5, 1, 2}, .volts = {0.5, 0.5, 1}}};
  power.iod = {.idle_w = 30,
               .leakage_w = 8,
               .clock_w = 24,
               .nominal_ghz = 1.5,
               .curve = {.ghz = {0.75, 1.5, 1.8}, .volts = {0.5, 1, 1.2}}};
  power.hbm = {
      .idle_w = 5, .leakage_w = 2, .clock_w = 4, .nominal_ghz = 1, .curve = {.ghz = {0.5, 1}, .volts = {1, 1}}};
  power.unit_w = 0.5;
  power.polling_w = 3;
  return power;
}

}  // namespace cortado::sim
