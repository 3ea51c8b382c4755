// The functions of a Call (ir/functions.hpp) on the CPU, in f32 with f32 sums, as on GPUs.
#pragma once

#include "device/driver/compute.hpp"

namespace cortado::device::soft {

/// Operands and result must have the shapes that verify.bounds requires.
void run_function(const CallLaunchOp& op);

}  // namespace cortado::device::soft
