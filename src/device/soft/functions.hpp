// The functions of a Call (ir/functions.hpp) on the CPU, in f32 with f32 sums as GPUs have them.
#pragma once

#include "device/driver/compute.hpp"

namespace cortado::device::soft {

/// Operands and result have the shapes that verify.bounds demands.
void run_function(const CallLaunchOp& op);

}  // namespace cortado::device::soft
