// Buffers of a program that are in the caller's memory.
#pragma once

#include <span>

#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "device/executor/executor.hpp"
#include "device/executor/preparation.hpp"

namespace cortado::device {

/// The alignment that the packets and sums of the program require of its buffers.
Bytes needed_alignment(const Program& program, const Machine& machine);

/// Requires one binding for each buffer, with its size and alignment, none overlapping another (device.binding).
Status check_bindings(const Program& program, Bytes alignment, std::span<const Binding> bindings);

/// Moves a preparation to other memory; the same set of buffers must be bound as before.
Status rebind(Preparation& prepared, std::span<const Binding> bindings);

}  // namespace cortado::device
