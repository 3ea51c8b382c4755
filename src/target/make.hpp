// How targets are made.
#pragma once

#include <memory>

#include "cortado/target.hpp"

#include "device/driver/driver.hpp"

namespace cortado {

std::unique_ptr<Target> device_target(std::unique_ptr<device::Driver> driver);

/// Refuses machines without timing (sim.timing).
Result<std::unique_ptr<Target>> sim_target(const Machine& machine);

/// What follows from the program and its timeline.
Run run_of(const Program& program, Timeline timeline);

}  // namespace cortado
